"""Conditional random fields of chains and graphs: likelihood, curvature, steps, certificates."""
