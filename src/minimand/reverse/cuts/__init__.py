"""Clusters through a kernel or a graph: kernel k-means, normalised cuts, labels that spread."""
