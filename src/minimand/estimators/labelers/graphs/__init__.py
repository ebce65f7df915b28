"""Graphs of labels: reading, posing, scoring and training."""
