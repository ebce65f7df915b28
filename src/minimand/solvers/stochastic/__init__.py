"""Training row by row, for large or endless data."""
