"""Solvers that solve a sequence of simpler problems with the other solvers."""
