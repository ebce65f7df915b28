"""Solvers for smooth losses with quadratic penalties or none."""
