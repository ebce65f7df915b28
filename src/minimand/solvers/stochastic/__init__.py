"""Training row by row, for data that are large or never end."""
