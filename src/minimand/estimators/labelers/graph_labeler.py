"""`GraphLabeler`: one label for each node of a graph, where neighbours depend on each other."""

from __future__ import annotations

import time
import warnings
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..._base.available import available_if
from ..._base.parameters import store_arguments
from ..._base.typing import AnyArray, Array, ArrayLike
from ...certificate import Certificate
from ...outputs.graph import k_best, labelling_scores, log_partition, marginals
from ...penalties import Penalty
from ...solvers.history import History
from ...solvers.structured.course import Trained
from ..callbacks import with_callbacks
from ..inputs import data
from .base import Labeler, Labelling, has_probabilities, labellings_wanted
from .graphs.posing import (
    GraphPosed,
    GraphWeights,
    check_graph_choices,
    pose_graphs,
    pose_graphs_again,
    posed_batch,
)
from .graphs.scoring import Decoded, best_of, scored_graphs
from .graphs.training import Stream, TrainedSteps, learn_graph_batch, train_graphs
from .inspection import Inspected, Neighbours
from .labels import encode, label_lists, refuse_unknown, split, warn_of_unknown
from .settings import for_crfsuite
from .tokens import GRAPH

_OF_THE_PROBLEM = "transitions", "weights", "directed", "edge_features", "cost"


class Optimality(NamedTuple):
    """The score of a predicted labelling, and the bound that no labelling exceeds."""

    score: float
    bound: float
    proved: bool


class GraphLabeler(Inspected, Labeler):
    r"""Label the nodes of trees and graphs, with a score for the labels of every edge.

    The score of labels c for a graph with feature vectors x_v of its nodes is

    .. math:: z(c) = \sum_v w_{c_v}^T x_v + \sum_{(u, v)} T_{c_u c_v}

    over nodes v and edges (u, v). `predict` gives the labels of the largest score: exactly, in
    O(nodes·k²), for trees and forests, exactly by a junction tree for graphs with narrow cycles,
    and by the linear relaxation for others, whose bound `optimality` reports. Training minimises
    the mean loss of the graphs plus alpha·penalty over all weights: "crf", log Σ_c exp z(c) − z(y);
    "max_margin", max_c [Δ(y, c) + z(c)] − z(y), where the maximum includes the cost; "perceptron",
    updates on mistakes and the mean of the weights.

    Parameters
    ----------
    loss : {"crf", "max_margin", "perceptron"}, default="crf"
        "crf" needs trees or graphs with narrow cycles; "max_margin" and "perceptron" take the
        linear relaxation for graphs that are too wide.
    penalty : {"l2", "l1", "elastic_net", "no_penalty"} or Penalty, default="l2"
        As in `SequenceLabeler`: all weights are penalised alike.
    alpha : float, optional
        The factor of the penalty; by default one divided by the number of graphs, or by the sum of
        their weights.
    features : None, "hash" or transformer, optional
        How nodes become rows of numbers, as in `SequenceLabeler`.
    transitions : {"full", "observed"}, table or pairs of labels, default="full"
        Which labels the ends (u, v) of an edge may have: all, those that edges have in the training
        data, a (k, k) table of booleans in the order of ``classes_``, or a list of pairs (of u, of
        v). No prediction has a pair that is not allowed. Training needs graphs with narrow cycles
        or none then.
    weights : {"all", "observed"}, default="all"
        "observed" keeps weights of pairs (feature, label) and (label, label) at 0 unless they
        occur in the training data.
    directed : bool, default=True
        Whether an edge (u, v) has other scores than (v, u). Without directions T is symmetric.
    edge_features : function, optional
        A function of the rows and the (m, 2) edges of a graph that gives an (m, e) matrix: features
        of edges, with a weight for each pair of labels.
    cost : array-like of shape (k, k), optional
        Δ of "max_margin": what it costs to label a node of label r as c, in the order of
        ``classes_``. By default 1 for each wrong node (Hamming).
    tol : float, default=1e-4
        The largest ``certificate_.relative``.
    max_iter, max_seconds, random_state, verbose, callbacks
        As in `Regressor`; for "perceptron", max_iter is the number of passes, 30 by default.

    Attributes
    ----------
    classes_ : ndarray of shape (k,)
    coef_ : ndarray of shape (k, n_features)
    pairs_ : ndarray of shape (k, k)
        T: scores of the labels of the first and the second end of an edge; −inf where not allowed.
    edge_coef_ : ndarray of shape (e, k, k)
        With ``edge_features`` only.
    features_ : transformer or None
    feature_names_in_ : ndarray of str
        Of data frames only.
    alpha_ : float
    certificate_ : Certificate
        For "perceptron": of the share of training graphs that are labelled wrong. Where a graph is
        too wide, the objective is that of the relaxation, and "relaxed" stands in its words.
    history_ : History
    n_iter_ : int
    solver_ : str

    Examples
    --------
    Two trees; leaves look like noise and have the label of their root.

    >>> import numpy as np, minimand as mm
    >>> X = [np.array([[2.0], [0.1], [-0.1]]), np.array([[-2.0], [0.1], [0.0]])]
    >>> edges = [[(0, 1), (0, 2)], [(0, 1), (0, 2)]]
    >>> y = [["up", "up", "up"], ["down", "down", "down"]]
    >>> model = mm.GraphLabeler("max_margin", alpha=0.01).fit(X, y, edges)
    >>> model.certificate_.relative <= 1e-4
    True
    >>> model.predict([np.array([[1.5], [-0.2]])], [[(0, 1)]])
    [['up', 'up']]
    """

    classes_: AnyArray
    coef_: Array
    pairs_: Array
    certificate_: Certificate
    history_: History
    _elsewhere: ClassVar[dict[str, str]] = for_crfsuite("graphs")

    def __init__(
        self,
        loss: str = "crf",
        penalty: str | Penalty = "l2",
        alpha: float | None = None,
        *,
        features: Any = None,
        transitions: Any = "full",
        weights: str = "all",
        directed: bool = True,
        edge_features: Any = None,
        cost: ArrayLike = None,
        tol: float = 1e-4,
        max_iter: int | None = None,
        max_seconds: float | None = None,
        random_state: Any = None,
        verbose: bool = False,
        callbacks: Any = None,
    ) -> None:
        store_arguments(self, locals())

    # Fitting -----------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any, edges: Any = None, sample_weight: ArrayLike = None) -> Self:
        """Fit the weights.

        Parameters
        ----------
        X : list of graphs
            Each a (nodes, n_features) array, sparse matrix or data frame, or a list with a dict of
            features for each node. If ``edges`` is None, each is a pair (nodes, edges).
        y : list of sequences of labels
            A label for each node: texts, numbers or any hashable values.
        edges : list of array-likes of shape (m, 2)
            Pairs of nodes of each graph, counted from 0.
        sample_weight : array-like of shape (n_graphs,), optional
            A graph of weight k counts like k copies of it.

        Raises
        ------
        Interrupted
            After Ctrl-C; its ``result`` is this estimator with the model found so far.
        """
        begun = time.perf_counter()
        posed = pose_graphs(self, check_graph_choices(self), X, y, edges, sample_weight)
        return self._fitted(posed, lambda c: train_graphs(posed, c), X, y, begun)

    def _attributes(self, posed: GraphPosed, found: GraphWeights) -> dict[str, Any]:
        """What prediction needs, at some weights."""
        attributes = {
            "classes_": posed.classes,
            "features_": posed.features,
            "coef_": found.coef,
            "pairs_": found.pairs,
            "loss_": posed.choices.loss,
            "_edges": self.edge_features,
            "_asked": self._asked_for(posed, _OF_THE_PROBLEM),
        }
        if found.edge is not None:
            attributes["edge_coef_"] = found.edge
        if posed.features is None:
            attributes["n_features_in_"] = found.coef.shape[1]
        return attributes

    def _posed_again(self, X: Any, y: Any, edges: Any, sample_weight: ArrayLike) -> GraphPosed:
        """The problem of the fit on these data, for `certify`."""
        return pose_graphs_again(self, X, y, edges, sample_weight)

    def _store(self, posed: GraphPosed, trained: Trained) -> None:
        for name in ("edge_coef_", "mistakes_", "n_features_in_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self.__dict__.update(self._attributes(posed, posed.weights(trained.weights)))
        self.alpha_, self._n_graphs = posed.alpha, posed.problem.topology.n_graphs
        self.solver_, self.history_ = trained.solver, trained.history
        self.n_iter_ = trained.certificate.iterations
        if isinstance(trained, TrainedSteps):
            self.mistakes_ = trained.mistakes
        self.certificate_ = trained.certificate

    def partial_fit(
        self,
        X: Any,
        y: Any,
        edges: Any = None,
        classes: ArrayLike = None,
        sample_weight: ArrayLike = None,
    ) -> Self:
        """Learn from one pass over a batch of graphs, starting from the current weights.

        One step per graph; the model is the mean of the weights over all steps. There is no
        certificate, as the batches before are gone.

        Parameters
        ----------
        X, y, edges, sample_weight
            As in `fit`.
        classes : array-like of shape (k,), optional
            All labels that there will be; needed in the first call if the batch lacks some.
        """
        choices = check_graph_choices(self)
        posed = posed_batch(self, choices, X, y, edges, classes, sample_weight)
        state = Stream.of(posed, self)
        weights = learn_graph_batch(posed, state)
        self.__dict__.update(self._attributes(posed, weights))
        for name in ("certificate_", "history_", "mistakes_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self.alpha_ = 1.0 / state.steps.count if choices.alpha is None else posed.alpha
        self._stream = state
        self.n_iter_ = state.batches
        return self

    # Prediction --------------------------------------------------------------------------------

    def predict(self, X: Any, edges: Any = None) -> list[list[Any]]:
        """The labels of the largest score, a list for each graph.

        For a graph that is too wide, the relaxation's labelling; if that is not proved to be the
        best, a warning says so, and `optimality` gives its bound.
        """
        found = self._decoded(X, edges)
        open_ = [g for g, one in found.relaxed.items() if not one.integral]
        if open_:
            worst = max(found.relaxed[g].bound - found.relaxed[g].value for g in open_)
            warnings.warn(
                f"GraphLabeler: the labellings of {len(open_)} of {len(found.values)} graphs, such "
                f"as X[{open_[0]}], are not proved to be the best: another may score up to "
                f"{worst:.3g} more. See optimality(X, edges).",
                UserWarning,
                stacklevel=2,
            )
        return self._named(found.labels, found)

    def optimality(self, X: Any, edges: Any = None) -> list[Optimality]:
        """Of every labelling that `predict` gives: its score, a bound of all scores, and the proof.

        The two are equal, and ``proved`` is True, for every graph with narrow cycles or none.
        """
        found = self._decoded(X, edges)
        proved = np.ones(found.values.size, dtype=bool)
        bounds = found.values.copy()
        for g, one in found.relaxed.items():
            proved[g], bounds[g] = one.integral, one.bound
        return [
            Optimality(float(value), float(bound), bool(sure))
            for value, bound, sure in zip(found.values, bounds, proved)
        ]

    @available_if(has_probabilities)
    def predict_marginals(self, X: Any, edges: Any = None) -> list[Array]:
        """The probability of each label at each node, a (nodes, k) array for each graph."""
        graphs = scored_graphs(self, X, edges)
        return split(marginals(graphs), graphs.topology.offsets)

    @available_if(has_probabilities)
    def predict_proba(self, X: Any, y: Any = None, edges: Any = None) -> Array:
        """The probability of the whole labelling y; by default of that of `predict`."""
        if y is not None:
            return np.exp(self.log_likelihood(X, y, edges))
        graphs = scored_graphs(self, X, edges)
        return np.exp(best_of(graphs).values - log_partition(graphs))

    @available_if(has_probabilities)
    def log_likelihood(self, X: Any, y: Any, edges: Any = None) -> Array:
        """log p(y | x) = z(y) − log Σ_c exp z(c), one number for each graph."""
        graphs = scored_graphs(self, X, edges)
        labels = label_lists(y, np.diff(graphs.topology.offsets), GRAPH)
        codes = encode(labels, self.classes_)
        refuse_unknown(labels, codes, self.classes_)
        return labelling_scores(graphs, codes) - log_partition(graphs)

    def decode(self, X: Any, edges: Any = None, k: int = 5) -> list[list[Labelling]]:
        """The k best labellings of each graph, the best first; fewer where there are not k.

        Each has ``labels``, ``score`` and, for a CRF, ``probability``.
        """
        graphs = scored_graphs(self, X, edges)
        count = labellings_wanted(k, self.classes_.size, np.diff(graphs.topology.offsets))
        rows, values = k_best(graphs, count)
        norms = log_partition(graphs) if self.loss_ == "crf" else None
        names = self.classes_.tolist()
        found = []
        for g in range(graphs.topology.n_graphs):
            own = []
            for labels, value in zip(rows[:, graphs.topology.nodes_of(g)], values[g]):
                if np.isfinite(value):
                    share = None if norms is None else float(np.exp(value - norms[g]))
                    own.append(Labelling([names[c] for c in labels], float(value), share))
            found.append(own)
        return found

    def score(self, X: Any, y: Any, edges: Any = None, sample_weight: ArrayLike = None) -> float:
        """The share of nodes whose label is right."""
        found = self._decoded(X, edges)
        labels = label_lists(y, np.diff(found.offsets), GRAPH)
        codes = encode(labels, self.classes_)
        warn_of_unknown(labels, codes)
        weights = data.check_weights(sample_weight, len(labels))
        each = None if weights is None else np.repeat(weights, np.diff(found.offsets))
        return float(np.average(found.labels == codes, weights=each))

    def _neighbours(self) -> Neighbours:
        return Neighbours(self.pairs_)

    def _decoded(self, X: Any, edges: Any) -> Decoded:
        return best_of(scored_graphs(self, X, edges))

    def _named(self, codes: AnyArray, found: Decoded) -> list[list[Any]]:
        names = self.classes_.tolist()
        return split([names[code] for code in codes.tolist()], found.offsets)
