"""Solvers for penalties that set coefficients to zero."""
