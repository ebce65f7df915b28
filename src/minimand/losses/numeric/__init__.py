"""Numerical methods for losses of which only the formula is known."""
