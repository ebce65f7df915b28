"""From graphs and labels to the problem that trainers minimise over."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ...._base.typing import AnyArray, Array, ArrayLike, BoolArray
from ...._base.wording import brief
from ....outputs.graph import Topology
from ....solvers.structured.graph_problem import GraphProblem, hamming
from ....solvers.structured.max_margin.training import refuse_none
from ....solvers.structured.problem import Allowed
from ...inputs import data
from ..edge_features import gathered
from ..labels import (
    distinct_labels,
    encode,
    first_classes,
    label_lists,
    refuse_other_classes,
    refuse_single,
    refuse_unknown,
)
from ..settings import (
    LOSSES,
    Choices,
    check_common_choices,
    check_flag,
    penalty_parts,
    refuse_observed,
)
from ..structure import Masks, cost_table, edge_width, masks_of, observed_on_edges
from ..tokens import GRAPH, learn, read, refuse_empty
from .inputs import Given, given_graphs


class GraphWeights(NamedTuple):
    """Weights of nodes (k, d), of pairs of labels (k, k), and of features of edges (e, k, k)."""

    coef: Array
    pairs: Array
    edge: Array | None


@dataclass(frozen=True, eq=False)
class GraphPosed:
    """A problem, and what its solution means."""

    problem: GraphProblem
    classes: AnyArray
    features: Any
    choices: Choices
    alpha: float
    masks: Masks

    def weights(self, w: Array) -> GraphWeights:
        """The vector of all weights as the estimator stores them."""
        k = self.problem.n_labels
        coef, links = self.problem.split(w)
        tables = links.T.reshape(-1, k, k)
        if self.problem.symmetric:
            tables = 0.5 * (tables + np.swapaxes(tables, 1, 2))
        edge = None if self.problem.edge_features is None else tables[1:].copy()
        pairs, legal = tables[0].copy(), self.problem.allowed_pairs
        if legal is not None:
            pairs[~legal] = -np.inf
        return GraphWeights(coef.copy(), pairs, edge)

    def vector(self, labeler: Any) -> Array:
        """The weights of a fitted labeler as a vector of this problem."""
        k = self.problem.n_labels
        tables = np.where(np.isfinite(labeler.pairs_), labeler.pairs_, 0.0)[None]
        if getattr(labeler, "edge_coef_", None) is not None:
            tables = np.concatenate([tables, labeler.edge_coef_])
        coef = labeler.coef_
        if self.problem.present is not None:
            coef = coef * self.problem.present
        for mask in (self.problem.present_pairs, self.problem.allowed_pairs):
            tables = tables if mask is None else tables * mask
        return np.concatenate([coef.ravel(), tables.reshape(-1, k * k).T.ravel()])


def check_graph_choices(labeler: Any) -> Choices:
    """Validate the constructor's arguments; each bad one gets one sentence."""
    if not isinstance(labeler.loss, str) or labeler.loss not in LOSSES:
        raise ValueError(
            f"loss of GraphLabeler must be one of {list(LOSSES)}, not {brief(labeler.loss)}."
        )
    penalty, alpha = check_common_choices(labeler)
    l1, l2 = penalty_parts(penalty, 1.0)
    check_flag("directed", labeler.directed)
    if labeler.edge_features is not None and not callable(labeler.edge_features):
        raise TypeError(
            "edge_features must be None or a function of the rows and edges of a graph, not "
            f"{brief(labeler.edge_features)}."
        )
    if labeler.loss == "max_margin":
        refuse_none(*((0.0, 0.0) if alpha == 0 else (l1, l2)))
    return Choices(labeler.loss, penalty, alpha)


def pose_graphs(
    labeler: Any, choices: Choices, X: Any, y: Any, edges: Any, sample_weight: ArrayLike
) -> GraphPosed:
    """Check the data of a fit and write its problem."""
    given, labels, weights = _kept(X, y, edges, sample_weight)
    classes = distinct_labels(labels)
    nodes, features = learn(given.nodes, labeler)
    refuse_single(classes)
    if nodes.matrix.shape[1] == 0:
        raise ValueError("X has 0 features: give nodes at least one, such as a column of ones.")
    codes = encode(labels, classes)
    return _posed(
        labeler, choices, (nodes.matrix, given.topology, codes), weights, classes, features
    )


def pose_graphs_again(
    labeler: Any, X: Any, y: Any, edges: Any, sample_weight: ArrayLike
) -> GraphPosed:
    """The problem that a fitted labeler has on these data, by what its fit has stored."""
    given, labels, weights = _kept(X, y, edges, sample_weight)
    classes, features, asked = labeler.classes_, labeler.features_, labeler._asked
    nodes = read(given.nodes, labeler)
    codes = encode(labels, classes)
    refuse_unknown(labels, codes, classes)
    choices = Choices(asked["loss"], asked["penalty"], labeler.alpha_)
    parts = nodes.matrix, given.topology, codes
    known = SimpleNamespace(**asked)
    return _posed(known, choices, parts, weights, classes, features, edge_width(labeler))


def posed_batch(
    labeler: Any,
    choices: Choices,
    X: Any,
    y: Any,
    edges: Any,
    classes: ArrayLike,
    sample_weight: ArrayLike,
) -> GraphPosed:
    """The problem of one batch; labels and features are those of the first one."""
    refuse_observed(labeler)
    given, labels, weights = _kept(X, y, edges, sample_weight)
    known: AnyArray | None = getattr(labeler, "classes_", None)
    width: int | None = None
    if known is None:
        known = first_classes(labels, classes)
        nodes, features = learn(given.nodes, labeler)
    else:
        refuse_other_classes(classes, known)
        features = labeler.features_
        nodes = read(given.nodes, labeler)
        width = edge_width(labeler)
    codes = encode(labels, known)
    refuse_unknown(labels, codes, known)
    parts = nodes.matrix, given.topology, codes
    return _posed(labeler, choices, parts, weights, known, features, width)


def _kept(
    X: Any, y: Any, edges: Any, sample_weight: ArrayLike
) -> tuple[Given, list[list[Any]], Array | None]:
    """Graphs, labels and weights, checked; without graphs of weight 0."""
    given = given_graphs(X, edges)
    labels = label_lists(y, given.sizes, GRAPH)
    refuse_empty(given.nodes, GRAPH)
    weights = data.check_weights(sample_weight, len(given.nodes))
    if weights is None or weights.all():
        return given, labels, weights
    places = np.flatnonzero(weights)
    return given.kept(places), [labels[i] for i in places], weights[places]


def _posed(
    labeler: Any,
    choices: Choices,
    parts: tuple[Any, Topology, AnyArray],
    weights: Array | None,
    classes: AnyArray,
    features: Any,
    width: int | None = None,
) -> GraphPosed:
    """The problem of checked graphs; ``width`` is how many features edges have, if known."""
    matrix, topology, codes = parts
    k = classes.size
    weights = np.ones(topology.n_graphs) if weights is None else weights
    total = float(weights.sum())
    table = cost_table(labeler.cost, k)
    alpha = 1.0 / total if choices.alpha is None else choices.alpha
    l1, l2 = penalty_parts(choices.penalty, alpha)
    formula = choices.penalty.words(alpha)
    words = f"mean {choices.loss} loss of a graph" + (f" + {formula}" if formula != "0" else "")
    rows = edge_rows_of(labeler.edge_features, matrix, topology, width)
    if rows is not None:
        one = np.ones((rows.shape[0], 1))
        stack = sparse.hstack if sparse.issparse(rows) else np.hstack
        rows = stack([one, rows])
        rows = sparse.csr_array(rows) if sparse.issparse(rows) else np.ascontiguousarray(rows)
    seen = observed_on_edges(codes, topology.edges, k, directed=bool(labeler.directed))
    masks = masks_of(labeler, matrix, codes, classes, seen)
    legal = masks.allowed
    problem = GraphProblem(
        matrix,
        topology,
        codes,
        k,
        weights / total,
        l2,
        hamming(codes, k) if table is None else np.ascontiguousarray(table[codes]),
        edge_features=rows,
        allowed_pairs=None if legal is None else _legal_pairs(legal, labeler.directed),
        present_pairs=masks.present_pairs,
        present=None if masks.present is None else masks.present.T,
        symmetric=not labeler.directed,
        l1=l1,
        words=words,
    )
    if choices.loss == "crf":
        topology.check_width(k)
    elif problem.wide and legal is not None:
        raise ValueError(
            f"graph {problem.wide[0]} is too wide for exact inference, and the linear relaxation "
            "takes no forbidden pairs: use transitions='full'."
        )
    elif problem.wide:
        words = f"{words}, relaxed for {len(problem.wide)} graphs"
        object.__setattr__(problem, "words", words)
    return GraphPosed(problem, classes, features, choices, alpha, masks)


def _legal_pairs(legal: Allowed, directed: bool) -> BoolArray:
    """The pairs of labels that an edge may have; refused if they depend on its direction."""
    table = legal.transitions
    if not directed and (table != table.T).any():
        raise ValueError(
            "transitions must allow (a, b) wherever it allows (b, a), as directed=False."
        )
    return table


def edge_rows_of(function: Any, matrix: Any, topology: Topology, width: int | None = None) -> Any:
    """The features that a user's function gives to edges; None without a function."""
    if function is None:
        return None
    counts = np.bincount(topology.graph_of_edge, minlength=topology.n_graphs)
    return gathered(
        lambda g: function(matrix[topology.nodes_of(g)], topology.local_edges(g)),
        counts,
        GRAPH,
        width,
    )
