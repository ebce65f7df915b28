"""`SequenceLabeler`: a label for each token of a sequence; neighbours depend on each other."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from typing import Any, ClassVar, Self

import numpy as np

from ..._base.available import available_if
from ..._base.parameters import store_arguments
from ..._base.typing import AnyArray, Array, ArrayLike
from ...certificate import Certificate
from ...outputs.chain import k_best, log_partition, marginals, path_scores, viterbi
from ...penalties import Penalty
from ...solvers.history import History
from ...solvers.structured.course import Trained
from ...solvers.structured.perceptron import TrainedPerceptron
from ...solvers.structured.problem import ChainWeights
from ..callbacks import with_callbacks
from ..inputs import data
from .base import Labeler, Labelling, has_probabilities, labellings_wanted
from .inspection import Inspected, Neighbours
from .labels import encode, label_lists, refuse_unknown, split, warn_of_unknown
from .sequences.posing import Posed, pose, pose_again
from .sequences.scoring import Scored, scored
from .sequences.stream import learn_batch
from .settings import check_choices, for_crfsuite

_TRAINERS = {  # the module of a trainer, which is loaded when it is needed, and its name
    "crf": ("crf.chains", "train_crf"),
    "max_margin": ("max_margin.training", "train_max_margin"),
    "perceptron": ("perceptron", "train_perceptron"),
}
_OF_THE_PROBLEM = "transitions", "ends", "weights", "edge_features", "cost"


def _trainer(loss: str) -> Callable[..., Trained]:
    module, name = _TRAINERS[loss]
    found: Callable[..., Trained] = getattr(
        import_module(f"minimand.solvers.structured.{module}"), name
    )
    return found


class SequenceLabeler(Inspected, Labeler):
    r"""Label the tokens of sequences, with a score for every pair of neighbouring labels.

    The score of labels c = (c₁, …, c_l) for a sequence of tokens x₁, …, x_l is

    .. math:: z(c) = s_{c_1} + \sum_j w_{c_j}^T x_j + \sum_j T_{c_j c_{j+1}} + e_{c_l}

    with a weight vector for each label, transitions T, start scores s and stop scores e. `predict`
    gives the labels of the largest score, in O(l·k²) for k labels. Training minimises the mean loss
    of the sequences plus alpha·penalty, over all of these weights:

    - "crf": log Σ_c exp z(c) − z(y), the conditional random field, which gives probabilities;
    - "max_margin": max_c [Δ(y, c) + z(c)] − z(y), the structured support vector machine;
    - "perceptron": no objective; an update w += φ(x, y) − φ(x, c) on every sequence that is
      labelled wrong, and the mean of the weights over all steps.

    Parameters
    ----------
    loss : {"crf", "max_margin", "perceptron"}, default="crf"
    penalty : {"l2", "l1", "elastic_net", "no_penalty"} or Penalty, default="l2"
        "elastic_net" is ½·L1() + ½·L2(). All weights are penalised alike.
    alpha : float, optional
        The factor of the penalty; by default one divided by the number of sequences, or by the sum
        of their weights. CRFsuite's c2 is ``alpha * n_sequences / 2``.
    features : None, "hash" or transformer, optional
        How tokens become rows of numbers. None takes matrices as they are and indexes dicts with
        scikit-learn's DictVectorizer; "hash" hashes dicts (FeatureHasher). A transformer gets the
        rows of all tokens in one matrix, or their dicts in one list.
    transitions : {"full", "observed"}, table or pairs of labels, default="full"
        Which labels may follow each other: all, those that do in the training data (and begin or
        end sequences there), a (k, k) table of booleans in the order of ``classes_``, or a list of
        pairs (from, to). No prediction has a transition that is not allowed.
    ends : bool, default=True
        Whether there are start and stop scores.
    weights : {"all", "observed"}, default="all"
        "observed" keeps weights of pairs (feature, label) and (label, label) at 0 unless they
        occur in the training data, as CRFsuite does by default.
    edge_features : {None, "later", "both"} or function, optional
        Features of steps between neighbours, with a weight for each pair of labels: the row of the
        later token, the rows of both, or a function of a sequence's (length, d) rows that returns a
        (length − 1, e) matrix.
    cost : array-like of shape (k, k), optional
        Δ of "max_margin": what it costs to label a token of label r as c, summed over tokens, in
        the order of ``classes_``. By default 1 for each wrong token (Hamming).
    tol : float, default=1e-4
        The largest ``certificate_.relative``.
    max_iter, max_seconds, warm_start, random_state, verbose, callbacks
        As in `Regressor`; for "perceptron", max_iter is the number of passes.

    Attributes
    ----------
    classes_ : ndarray of shape (k,)
    coef_ : ndarray of shape (k, n_features)
    transitions_ : ndarray of shape (k, k)
        From the row's label to the column's; −inf where not allowed.
    start_, stop_ : ndarray of shape (k,)
    edge_coef_ : ndarray of shape (e, k, k)
        With ``edge_features`` only.
    features_ : transformer or None
    feature_names_in_ : ndarray of str
        Of data frames only.
    alpha_ : float
    certificate_ : Certificate
        For "perceptron": of the share of training sequences that are labelled wrong.
    history_ : History
    n_iter_ : int
    solver_ : str
    mistakes_, bound_ : int, float
        Of "perceptron": sequences labelled wrong in all passes, and, if the last pass had none, the
        bound R²‖u‖²/γ² on them, where u are the weights of that pass, γ their margin and R the
        length of the longest update; infinite otherwise.

    Examples
    --------
    >>> import minimand as mm
    >>> words = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "barks"]]
    >>> X = [[{"word": word, "first": place == 0} for place, word in enumerate(s)] for s in words]
    >>> y = [["D", "N", "V"], ["D", "N", "V"], ["D", "N", "V"]]
    >>> model = mm.SequenceLabeler("crf", alpha=0.01).fit(X, y)
    >>> model.certificate_.relative <= 1e-4
    True
    >>> model.predict([[{"word": "a", "first": True}, {"word": "bird"}]])
    [['D', 'N']]
    """

    classes_: AnyArray
    coef_: Array
    transitions_: Array
    start_: Array
    stop_: Array
    certificate_: Certificate
    history_: History
    _elsewhere: ClassVar[dict[str, str]] = for_crfsuite("sequences")

    def __init__(
        self,
        loss: str = "crf",
        penalty: str | Penalty = "l2",
        alpha: float | None = None,
        *,
        features: Any = None,
        transitions: Any = "full",
        ends: bool = True,
        weights: str = "all",
        edge_features: Any = None,
        cost: ArrayLike = None,
        tol: float = 1e-4,
        max_iter: int | None = None,
        max_seconds: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: bool = False,
        callbacks: Any = None,
    ) -> None:
        store_arguments(self, locals())

    # Fitting -----------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike = None) -> Self:
        """Fit the weights.

        Parameters
        ----------
        X : list of sequences
            Each a (length, n_features) array, sparse matrix or data frame, or a list of tokens,
            each a dict of features: texts, numbers, booleans, lists of texts, or dicts of these.
        y : list of sequences of labels
            A label for each token: texts, numbers or any hashable values.
        sample_weight : array-like of shape (n_sequences,), optional
            A sequence of weight k counts like k copies of it; for "perceptron" it is the length
            of the sequence's steps.

        Raises
        ------
        Interrupted
            After Ctrl-C; its ``result`` is this estimator with the model found so far.
        """
        begun = time.perf_counter()
        posed = pose(self, check_choices(self), X, y, sample_weight)
        start = self._start(posed) if self.warm_start else None
        train = _trainer(self.loss)
        return self._fitted(posed, lambda c: train(posed.problem, c, start), X, y, begun)

    def _start(self, posed: Posed) -> ChainWeights | None:
        """The weights of the last fit, if they belong to the same features and labels."""
        if getattr(self, "coef_", None) is None or not posed.continues(self):
            return None
        return self._weights

    @property
    def _weights(self) -> ChainWeights:
        """The fitted weights as trainers have them; those of what is not allowed are 0."""
        tables = (self.transitions_, self.start_, self.stop_)
        transitions, start, stop = (np.where(np.isfinite(table), table, 0.0) for table in tables)
        coef = np.ascontiguousarray(self.coef_.T)
        return ChainWeights(coef, transitions, start, stop, getattr(self, "edge_coef_", None))

    def _attributes(self, posed: Posed, found: ChainWeights) -> dict[str, Any]:
        """What prediction needs, at some weights."""
        transitions, start, stop = posed.problem.shared_scores(found)
        attributes = {
            "classes_": posed.classes,
            "features_": posed.features,
            "coef_": found.coef.T,
            "transitions_": transitions,
            "start_": start,
            "stop_": stop,
            "loss_": posed.choices.loss,
            "_edges": posed.edges,
            "_asked": self._asked_for(posed, _OF_THE_PROBLEM),
        }
        if found.edge is not None:
            attributes["edge_coef_"] = found.edge
        if posed.features is None:
            attributes["n_features_in_"] = found.coef.shape[0]
        return attributes

    def _posed_again(self, X: Any, y: Any, sample_weight: ArrayLike = None) -> Posed:
        """The problem of the fit on these data, for `certify`."""
        return pose_again(self, X, y, sample_weight)

    def _store(self, posed: Posed, trained: Trained) -> None:
        for name in ("edge_coef_", "mistakes_", "bound_", "n_features_in_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self.__dict__.update(self._attributes(posed, trained.weights))
        self.alpha_ = posed.alpha
        self.solver_, self.history_ = trained.solver, trained.history
        self.n_iter_ = trained.certificate.iterations
        if isinstance(trained, TrainedPerceptron):
            self.mistakes_, self.bound_ = trained.mistakes, trained.bound
        self.certificate_ = trained.certificate

    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike = None, sample_weight: ArrayLike = None
    ) -> Self:
        """Learn from one pass over a batch of sequences, starting from the current weights.

        The perceptron goes on with its steps; the other losses take stochastic gradient steps of
        length 1/(L + alpha·t) with an L2 penalty, after t sequences, where L is the size of the
        first batch's curvature. The features of dicts are those of the first batch unless they are
        hashed. There is no certificate, as the batches before are gone.

        Parameters
        ----------
        X, y : lists of sequences
            As in `fit`.
        classes : array-like of shape (k,), optional
            All labels that there will be; needed in the first call if the batch lacks some.
        sample_weight : array-like of shape (n_sequences,), optional
        """
        learn_batch(self, check_choices(self), X, y, classes, sample_weight)
        return self

    # Prediction --------------------------------------------------------------------------------

    def predict(self, X: Any) -> list[list[Any]]:
        """The labels of the largest score, a list for each sequence."""
        found = scored(self, X)
        return self._named(viterbi(found.chains)[0], found) if found.chains else found.nothing()

    @available_if(has_probabilities)
    def predict_marginals(self, X: Any) -> list[Array]:
        """The probability of each label at each token, a (length, k) array for each sequence."""
        found = scored(self, X)
        if not found.chains:
            return [np.zeros((0, self.classes_.size)) for _ in found.nothing()]
        return split(marginals(found.chains), found.offsets)

    @available_if(has_probabilities)
    def predict_proba(self, X: Any, y: Any = None) -> Array:
        """The probability of the whole sequence of labels y; by default of those of `predict`."""
        if y is not None:
            return np.exp(self.log_likelihood(X, y))
        found = scored(self, X)
        if not found.chains:
            return np.ones(len(found.offsets) - 1)
        return found.by_sequence(
            np.exp(viterbi(found.chains)[1] - log_partition(found.chains)), 1.0
        )

    @available_if(has_probabilities)
    def log_likelihood(self, X: Any, y: Any) -> Array:
        """log p(y | x) = z(y) − log Σ_c exp z(c), one number for each sequence."""
        found = scored(self, X)
        labels, codes = self._coded(found, y)
        refuse_unknown(labels, codes, self.classes_)
        if not found.chains:
            return np.zeros(len(found.offsets) - 1)
        own = path_scores(found.chains, codes)
        return found.by_sequence(own - log_partition(found.chains), 0.0)

    def decode(self, X: Any, k: int = 5) -> list[list[Labelling]]:
        """The k best labellings of each sequence, the best first; fewer where there are not k.

        Each has ``labels``, ``score`` and, for a CRF, ``probability``.
        """
        found = scored(self, X)
        count = labellings_wanted(k, self.classes_.size, np.diff(found.offsets))
        if not found.chains:
            sure = 1.0 if self.loss_ == "crf" else None
            return [[Labelling([], 0.0, sure)] for _ in found.nothing()]
        labels, values = k_best(found.chains, count)
        norms = log_partition(found.chains) if self.loss_ == "crf" else None
        named = [self._named(row, found) for row in labels]
        return found.labellings(named, values, norms, Labelling)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike = None) -> float:
        """Token accuracy: the share of tokens whose label is right."""
        found = scored(self, X)
        labels, codes = self._coded(found, y)
        warn_of_unknown(labels, codes)
        if not found.chains:
            raise ValueError("X has no token, so that there is nothing to score.")
        weights = data.check_weights(sample_weight, len(labels))
        right = viterbi(found.chains)[0] == codes
        each = None if weights is None else np.repeat(weights, np.diff(found.offsets))
        return float(np.average(right, weights=each))

    def _neighbours(self) -> Neighbours:
        return Neighbours(self.transitions_, self.start_, self.stop_)

    def _coded(self, found: Scored, y: Any) -> tuple[list[list[Any]], AnyArray]:
        labels = label_lists(y, np.diff(found.offsets))
        return labels, encode(labels, self.classes_)

    def _named(self, codes: Any, found: Scored) -> list[list[Any]]:
        """Labels in place of their numbers, a list for each sequence."""
        names = self.classes_.tolist()
        return split([names[code] if code >= 0 else None for code in codes.tolist()], found.offsets)
