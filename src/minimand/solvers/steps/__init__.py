"""Parts that several solvers share: line searches, Krylov methods."""
