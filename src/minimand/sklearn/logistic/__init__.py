"""Logistic regression of scikit-learn: the model, its candidates C, classes without a sample."""

from .regression import LogisticRegression

__all__ = ["LogisticRegression"]
