"""Trees of clusters: merged, or divided."""
