"""Scores of predictions: classes, spans, rankings, numbers and clusterings.

Arguments are (true, predicted), as in scikit-learn.
"""

from __future__ import annotations

from .clusterings import (
    cluster_mapping,
    completeness,
    greedy_accuracy,
    homogeneity,
    optimal_accuracy,
    optimistic_accuracy,
    v_measure,
)
from .comparison import compare_clusterings
from .labels import accuracy, f_score, precision, recall
from .rankings import mean_average_precision, ndcg, top_k_accuracy
from .rankings import rows_of_queries as rows_of_queries
from .regressions import regression_errors, train_test_errors
from .silhouettes import silhouette, silhouette_samples
from .spans import Span, span_f1, span_precision, span_recall, span_report, spans
from .table import Table

__all__ = [
    "Span",
    "Table",
    "accuracy",
    "cluster_mapping",
    "compare_clusterings",
    "completeness",
    "f_score",
    "greedy_accuracy",
    "homogeneity",
    "mean_average_precision",
    "ndcg",
    "optimal_accuracy",
    "optimistic_accuracy",
    "precision",
    "recall",
    "regression_errors",
    "silhouette",
    "silhouette_samples",
    "span_f1",
    "span_precision",
    "span_recall",
    "span_report",
    "spans",
    "top_k_accuracy",
    "train_test_errors",
    "v_measure",
]
