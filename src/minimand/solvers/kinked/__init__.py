"""Solvers for losses with kinks: dual ascent and interior points."""
