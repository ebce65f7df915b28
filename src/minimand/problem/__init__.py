"""The problem that a solver sees: the mean loss, the weights, alpha, the penalty."""
