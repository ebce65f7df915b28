"""`Perceptron`: lazy updates, one sample at a time, with its trace and its mistake bound."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._base.typing import AnyArray, Array, ArrayLike
from .._base.watch import stoppable
from ..design import Design, as_design
from ..features import PivotedCholesky
from ..kernels import REGISTRY as KERNELS
from ..kernels import Kernel
from ..losses import PerceptronLoss
from ..outputs import ClassOutput
from ..solvers.textbook.kernel_perceptron import KernelMachine
from ..solvers.textbook.perceptron import Machine, train
from .inputs import data
from .inputs.stream_classes import stream_classes
from .outcome import Part, combined
from .perceptron_proof import Proved, mistake_bounds, proved, shortfall
from .settings import check_seed, check_whole
from .summary import Summarised

_ORDERS = ("fixed", "random")
_TRACED = 100  # steps recorded by default; convention
_TRACED_NUMBERS = 1_000_000  # numbers recorded by default, 8 MB; safeguard


class Perceptron(ClassifierMixin, Summarised):
    r"""The perceptron: visit one sample after the other, and update on mistakes only.

    With the labels y = −1 for the first class and 1 for the second, and the score
    :math:`z = x^T w + b`, which predicts the second class where it is positive:

    .. math:: \text{if } y_i z_i \le 0 \text{ (a mistake):} \quad w \leftarrow w + y_i x_i,
        \quad b \leftarrow b + y_i

    Training starts from w = 0, b = 0 and repeats passes over all samples until a pass has no
    mistake: then the plane z = 0 separates the two classes. There is no alpha and no step size to
    tune. An update raises y·z of its sample by ‖x‖² + 1. A score of exactly 0 predicts the first
    class, and counts as a mistake for both classes.

    *If some plane separates the classes*, the fit ends: after at most C²/γ² mistakes in all, where
    C is the largest norm of a sample padded with a 1 (which stands for the intercept) and γ the
    widest margin of the padded samples. The plane it finds depends on the order of the samples;
    `HardMargin` finds the one with the widest margin.

    *If none does*, every pass has mistakes. The fit then stops at ``max_epochs``, or as soon as the
    weights after a pass equal those after an earlier pass, since training would cycle from there:
    it warns, and the mistakes of the cycle prove that no plane separates the classes. (In a fixed
    order, samples of whole numbers always lead to a cycle; others need not.) For such data use
    ``Classifier(Hinge())``, which has a soft margin.

    With k > 2 classes there is one perceptron per class, against all others; the largest score
    decides.

    Parameters
    ----------
    intercept : bool, default=True
        Whether to fit b.
    order : {"fixed", "random"}, default="fixed"
        Visit samples in the given order, or in a new random order in every pass.
    max_epochs : int, default=1000
        Most passes over the data.
    trace : int, optional
        How many steps ``trace_`` records, each with its w. By default the first 100, or fewer if
        they would hold more than a million numbers.
    bound : bool, default=False
        Whether to compute ``bound_``, which costs a hard-margin problem per class.
    random_state : int, RandomState or None
        For ``order="random"``.
    features : Kernel or str, optional
        A kernel k or its short name: the kernel perceptron, which learns f = Σ aᵢ·k(xᵢ, x) + b and
        on a mistake adds yᵢ to aᵢ. What is said of planes and of ‖x‖ holds for its features φ(x).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        With a kernel in the coordinates of ``features_``.
    intercept_ : ndarray of shape (1,) or (n_classes,)
    support_, dual_coef_ : ndarray of shape (n_support,) and (n_classes or 1, n_support)
        With a kernel only: f(x) = Σ dual_coef·k(xᵢ, x) + intercept over the samples ``support_``,
        those with a mistake; the sum of \|dual_coef\| is the number of mistakes.
    n_iter_ : int
        Passes; the last one has no mistake if ``converged_``.
    converged_ : bool
        Whether the last pass had no mistake, for every class.
    cycling_ : bool
        Whether the fit stopped because the weights of an earlier pass came back.
    mistakes_ : int, or ndarray of shape (n_classes,)
        Mistakes in all passes.
    mistakes_per_pass_ : ndarray of shape (n_iter_,), or a list of one per class
    counts_ : ndarray of shape (n_samples,) or (n_classes, n_samples)
        Mistakes on every sample: w = Σ counts·y·x, b = Σ counts·y.
    trace_ : Trace, or a list of one per class
        ``index``, ``score``, ``mistake``, ``w`` and ``b`` of the first steps; it can be printed.
    margin_ : float, or ndarray of shape (n_classes,)
        Distance of the nearest sample to the plane; 0 if the plane does not separate the classes.
    witness_ : ndarray of shape (n_samples,) or None, or a list of one per class
        Weights that prove that no plane separates the classes, as in `separable`; None unless
        ``cycling_``.
    radius_, gamma_, bound_ : float, or ndarray of shape (n_classes,)
        C, γ and C²/γ², if ``bound=True``. If no plane separates the classes, γ is 0 and the bound
        infinite; if rounding hides whether one does, both are nan, with a warning.
    certificate_ : Certificate
        Of the share of samples with y·z ≤ 0. Its bound is 0, or 1/n where no plane separates the
        classes: a gap of 0 proves that no plane makes fewer mistakes.

    Examples
    --------
    >>> import minimand as mm
    >>> words = ["and", "viagra", "the", "of", "nigeria"]
    >>> X = [[1, 1, 0, 1, 1], [0, 0, 1, 1, 0], [0, 1, 1, 0, 0],
    ...      [1, 0, 0, 1, 0], [1, 0, 1, 0, 1], [1, 0, 1, 1, 0]]
    >>> y = ["spam", "mail", "spam", "mail", "spam", "mail"]
    >>> model = mm.Perceptron(trace=6, bound=True).fit(X, [label == "spam" for label in y])
    >>> print(model.trace_)
    w = [0, 0, 0, 0, 0], b = 0: score of sample 0 is 0, predicts −, mistake
    w = [1, 1, 0, 1, 1], b = 1: score of sample 1 is 2, predicts +, mistake
    w = [1, 1, -1, 0, 1], b = 0: score of sample 2 is 0, predicts −, mistake
    w = [1, 2, 0, 0, 1], b = 1: score of sample 3 is 2, predicts +, mistake
    w = [0, 2, 0, -1, 1], b = 0: score of sample 4 is 1, predicts +, no mistake
    w = [0, 2, 0, -1, 1], b = 0: score of sample 5 is -1, predicts −, no mistake
    >>> model.mistakes_per_pass_, model.mistakes_ <= model.bound_
    (array([4, 0]), True)
    """

    def __init__(
        self,
        *,
        intercept: bool = True,
        order: str = "fixed",
        max_epochs: int = 1000,
        trace: int | None = None,
        bound: bool = False,
        random_state: Any = None,
        features: Any = None,
    ) -> None:
        self.intercept = intercept
        self.order = order
        self.max_epochs = max_epochs
        self.trace = trace
        self.bound = bound
        self.random_state = random_state
        self.features = features

    # Fitting ---------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn until a pass has no mistake.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of any kind; at least two classes.
        """
        self._check_parameters()
        X, y = data.check_xy(self, X, y)
        data.check_labels(y)
        output = ClassOutput.of(y, PerceptronLoss())
        signs = output.columns(y)
        self.__dict__.pop("features_", None)
        if self.features is not None:
            rows, X = X, self._fit_features(X)
        design = as_design(X)
        w, b = np.zeros((output.scores, X.shape[1])), np.zeros(output.scores)
        with stoppable(self) as watch:
            if self.features is None:
                scores = self._train(design, signs, w, b, int(self.max_epochs))
            else:
                scores = self._train_on_kernel(rows, design, signs)
            self.classes_ = output.classes
            self._store(scores)
            self.mistakes_ = _each([int(s.run.mistakes.sum()) for s in scores])
            self.n_iter_ = max(s.run.mistakes.size for s in scores)
            if self.bound and not watch.interrupted:
                try:
                    self._store_bounds(X, signs, scores)
                except KeyboardInterrupt:  # the model is kept, without its bound
                    watch.interrupt()
        self._warn_if_short(scores)
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike = None) -> Self:
        """Learn from one pass over a batch, starting from the current weights.

        The first call must name all classes, as a batch may lack some; after it, or after `fit`,
        ``classes`` may be left out. ``mistakes_`` and ``n_iter_`` add up over batches; the other
        attributes, except the weights, describe the last batch.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels, all of them among the classes.
        classes : array-like of shape (n_classes,), optional
            All labels that there will be, in any order; needed in the first call.

        Examples
        --------
        >>> import minimand as mm
        >>> model = mm.Perceptron().partial_fit([[2.0], [3.0]], ["high", "high"], ["low", "high"])
        >>> model.partial_fit([[-1.0]], ["low"]).predict([[2.5], [-2.0]]).tolist()
        ['high', 'low']
        """
        self._check_parameters()
        if self.features is not None:
            raise ValueError(
                f"features={self.features!r} is a kernel, whose functions are sums over all rows, "
                "and partial_fit never has these at once: call fit."
            )
        first = not hasattr(self, "classes_")
        X, y = data.check_xy(self, X, y, fitted=not first)
        data.check_labels(y)
        output = ClassOutput(
            PerceptronLoss(), stream_classes(self, classes, y, from_first_batch=False)
        )
        signs = output.columns(y)
        if first:
            shape = (output.scores, X.shape[1])
            start, mistakes, passes = (np.zeros(shape), np.zeros(shape[0])), np.zeros(shape[0]), 0
        else:
            start = (self.coef_, self.intercept_)
            mistakes, passes = np.atleast_1d(self.mistakes_), self.n_iter_
        scores = self._train(as_design(X), signs, *start, 1)
        self.classes_ = output.classes
        self._store(scores)
        self.mistakes_ = _each([int(m + s.run.mistakes.sum()) for m, s in zip(mistakes, scores)])
        self.n_iter_ = passes + 1
        return self

    def _train(
        self, design: Design, signs: list[Array], w: Array, b: Array, most: int
    ) -> list[Proved]:
        """Train one perceptron per score, from given weights."""
        traced = self.trace
        if traced is None:
            traced = min(_TRACED, _TRACED_NUMBERS // (design.shape[1] + 1))
        orders = self._orders(design.shape[0])
        found = []
        for score, own in enumerate(signs):
            begun = time.perf_counter()
            machine = Machine(design, own, w[score], float(b[score]), bool(self.intercept))
            run = train(machine, orders, most, int(traced))
            found.append(proved(design, own, run, bool(self.intercept), begun))
        return found

    def _fit_features(self, X: Any) -> Array:
        """X in coordinates whose inner products are the kernel; sets ``features_``."""
        self.features_ = PivotedCholesky(clone(KERNELS.get(self.features)))
        return self.features_.fit_transform(X)

    def _train_on_kernel(self, X: Any, design: Design, signs: list[Array]) -> list[Proved]:
        """Train one perceptron per score on the values of the kernel."""
        x, most, found, coefs = self.features_.training_rows(X), int(self.max_epochs), [], []
        traced = self.trace
        if traced is None:
            traced = min(_TRACED, _TRACED_NUMBERS // (design.shape[0] + 1))
        orders = self._orders(design.shape[0])
        for own in signs:
            begun = time.perf_counter()
            machine = KernelMachine(self.features_.kernel_, x, own, bool(self.intercept))
            run = train(machine, orders, most, int(traced))
            coefs.append(machine.coefficients)
            run = run._replace(w=design.rmatvec(coefs[-1]))
            found.append(proved(design, own, run, bool(self.intercept), begun))
        table = np.array(coefs)
        self.support_ = np.flatnonzero(table.any(axis=0))
        self.dual_coef_ = table[:, self.support_]
        self._vectors = x[self.support_]
        return found

    def _orders(self, n: int) -> Iterator[AnyArray]:
        random = check_random_state(self.random_state)
        samples = np.arange(n, dtype=np.uint32)
        while True:
            yield samples if self.order == "fixed" else random.permutation(samples)

    # Attributes ------------------------------------------------------------------------------

    def _store(self, scores: list[Proved]) -> None:
        runs = [s.run for s in scores]
        self.coef_ = np.stack([r.w for r in runs])
        self.intercept_ = np.array([r.b for r in runs])
        self.converged_ = all(r.converged for r in runs)
        self.cycling_ = any(r.cycle is not None for r in runs)
        self.mistakes_per_pass_ = _one_or_all([r.mistakes for r in runs])
        self.counts_ = _each([r.counts for r in runs])
        self.trace_ = _one_or_all([r.trace for r in runs])
        self.witness_ = _one_or_all([s.witness for s in scores])
        self.margin_ = _each([s.margin for s in scores])
        found = combined([s.certificate for s in scores], [Part(1.0)] * len(scores))
        self.certificate_ = replace(found, kind="relaxation" if found.gap > 0 else "global")
        for name in ("radius_", "gamma_", "bound_"):  # of an earlier fit
            self.__dict__.pop(name, None)

    def _store_bounds(self, X: Any, signs: list[Array], scores: list[Proved]) -> None:
        """C, γ and C²/γ² of every score."""
        radius, margins, bounds = mistake_bounds(X, signs, scores, bool(self.intercept))
        self.radius_ = _each([radius] * len(scores))
        self.gamma_ = _each(margins)
        self.bound_ = _each(bounds)

    def _warn_if_short(self, scores: list[Proved]) -> None:
        for score in scores:
            if not score.run.converged:
                text = f"Perceptron: {shortfall(score, self.max_epochs)}."
                warnings.warn(text, ConvergenceWarning, stacklevel=3)
                return

    def _check_parameters(self) -> None:
        """Refuse parameters outside their range, each in one sentence."""
        for name in ("intercept", "bound"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"{name} must be True or False, not {getattr(self, name)!r}.")
        if not isinstance(self.order, str) or self.order not in _ORDERS:
            raise ValueError(f"order must be 'fixed' or 'random', not {self.order!r}.")
        check_whole("max_epochs", self.max_epochs)
        if self.trace is not None:
            check_whole("trace", self.trace, low=0)
        check_seed(self.random_state)
        if self.features is not None:
            KERNELS.get(self.features, "features").check_parameters()

    # Prediction ------------------------------------------------------------------------------

    def decision_function(self, X: ArrayLike) -> Array:
        """The scores z = X w + b: one per sample for two classes, else one per class."""
        check_is_fitted(self)
        X = data.check_x(self, X)
        mapped = self.__dict__.get("features_")
        if mapped is None:
            z = as_design(X).scores_of(self.coef_).T + self.intercept_
        else:
            rows = mapped.rows_of(X)
            z = mapped.kernel_.times(rows, self._vectors, self.dual_coef_.T) + self.intercept_
        return z[:, 0] if self.classes_.size == 2 else z

    def predict(self, X: ArrayLike) -> AnyArray:
        """The class of the largest score; of two, the second if its score is positive."""
        z = self.decision_function(X)
        return ClassOutput(PerceptronLoss(), self.classes_).decode(z)

    def __sklearn_tags__(self) -> Any:
        """Sparse input is accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        if isinstance(self.features, Kernel):
            tags.input_tags.sparse = self.features.takes_sparse
            tags.input_tags.pairwise = self.features.pairwise
        return tags


def _each(values: list[Any]) -> Any:
    """The value of the only score, or an array of all."""
    return values[0] if len(values) == 1 else np.array(values)


def _one_or_all(values: list[Any]) -> Any:
    """The value of the only score, or the list of all."""
    return values[0] if len(values) == 1 else values
