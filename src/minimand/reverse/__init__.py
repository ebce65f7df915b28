"""Outputs unknown, the reverse form: clusters, components, cuts, neighbours."""
