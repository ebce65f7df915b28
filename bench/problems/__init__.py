"""The problems of the benchmark, by name, and the data that they are made of."""
