"""Models of other libraries: the objectives that they minimise, on our scale."""
