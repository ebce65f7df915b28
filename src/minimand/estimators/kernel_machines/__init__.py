"""Kernel machines: models by samples, from a factor of the kernel matrix or from rows of it."""
