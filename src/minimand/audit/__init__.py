"""Audits of any model on any data: its gap, the solvers that could fit it, its dual."""
