"""Labelled graphs.

A labelling c of a graph has the score Σ unary[v, c_v] + Σ pair[c_u, c_v] over nodes v and edges
(u, v). All results are exact: forests take O(nodes·k²) in the compiled core, graphs with cycles are
eliminated where they are narrow, and refused where they are not.
"""

from .inference import (
    Graphs,
    best,
    entropy,
    expected_pairs,
    k_best,
    labelling_scores,
    log_partition,
    loss_augmented,
    marginals,
    pairwise_marginals,
    sample,
)
from .topology import WIDEST, Topology

__all__ = [
    "WIDEST",
    "Graphs",
    "Topology",
    "best",
    "entropy",
    "expected_pairs",
    "k_best",
    "labelling_scores",
    "log_partition",
    "loss_augmented",
    "marginals",
    "pairwise_marginals",
    "sample",
]
