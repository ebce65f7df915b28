"""Solvers for coefficient matrices whose penalty couples the scores."""
