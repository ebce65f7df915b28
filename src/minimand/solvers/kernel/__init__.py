"""Solvers for designs without columns: kernels of pairs of rows."""
