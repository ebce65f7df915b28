"""Solvers that lectures begin with, run by name only."""
