"""Sequences of labels: posing, scoring, features of steps, learning from batches."""
