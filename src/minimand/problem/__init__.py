"""The problem that a solver minimises: the mean loss, the weights, alpha and the penalty."""
