"""Solvers that lectures begin with; they run only when asked for by name."""
