"""Linear and quadratic programs, and the solvers that write a problem as one."""
