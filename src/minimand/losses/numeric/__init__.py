"""Numerical methods for losses that are known by their formula alone."""
