"""Parts that several solvers are made of: line searches, Krylov methods."""
