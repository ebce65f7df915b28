"""Largest eigenvalues and their sums, bounded from above: what relaxations can attain."""
