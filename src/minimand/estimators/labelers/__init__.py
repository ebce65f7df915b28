"""Labels for the tokens of sequences, or the nodes of graphs, that depend on each other."""
