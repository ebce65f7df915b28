"""Models of other libraries, read as the objective that they minimise."""
