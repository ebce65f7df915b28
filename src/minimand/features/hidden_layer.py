"""One hidden layer of units beside the inputs; estimators learn it with the output weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from .._base.parameters import check_count, check_number
from .._base.typing import Array
from .activations import ACTIVATIONS
from .base import Features


class HiddenLayer(Features):
    r"""Hidden units beside the inputs, learnt along with the output weights.

    .. math:: \varphi(x) = \bigl(x,\; \sigma(\tilde x A + c)\bigr), \qquad
              \tilde x_j = (x_j - \bar x_j)/s_j

    An estimator with ``features=HiddenLayer(…)`` lowers, over A, c and the output weights w, b,

    .. math:: \frac{\sum_i s_i\,\ell(z_i, y_i)}{\sum_i s_i} + \alpha\,\Omega(w)
              + \tfrac{1}{2}\,\mathrm{decay}\cdot\mathrm{scale}\cdot\|A\|^2

    where scale = P(null) − mean infimum of the loss, so that decay has no unit. For fixed A and c
    the best w and b solve a convex problem, which is solved to a certified gap; L-BFGS minimises
    the value of that problem over A and c (variable projection). So any convex loss and penalty can
    be used, also with kinks. Since φ(x) contains the inputs, the linear model is a special case
    (A = 0): the training objective is never worse than that of the linear model, which is returned
    if no start leads to a lower value.

    The certificate of such a fit is of kind "stationary": its gap is that of the output weights
    given the units, and `stationarity_` is the largest slope in A and c. Other local minima
    may be lower; more ``restarts`` look for them.

    Parameters
    ----------
    width : int, default=10
        The number of units.
    activation : {"tanh", "sigmoid", "relu", "softplus"}, default="tanh"
        The function σ. With "relu" the search may stop early, at a kink.
    decay : float, default=1e-4
        Factor of the penalty on A.
    restarts : int, default=3
        The number of random starts; the lowest result is taken.
    max_iter : int, default=500
        The largest number of iterations of L-BFGS, per start.
    tol : float, default=1e-4
        A start is done when no slope in A and c exceeds tol × scale.
    random_state : int or RandomState, optional
        Seed of the starts.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features, width)
        A, for standardised inputs.
    biases_ : ndarray of shape (width,)
        c.
    centre_, scale_ : ndarray of shape (n_features,)
        Mean and standard deviation that standardise the inputs.
    stationarity_ : float
        The largest slope in A and c, divided by scale. After an estimator's fit.
    value_ : float
        The objective, with the penalty on A. After an estimator's fit.
    alpha_ : float
        The estimator's ``alpha_`` at that fit. After an estimator's fit.
    n_iter_ : int
        Iterations of the start that was taken; 1 if the units were only drawn.

    Notes
    -----
    Fitted by itself or in a pipeline, a HiddenLayer has no loss to learn from: its units then keep
    the random values with which an estimator's search would start.

    If loss and penalty are both piecewise linear (a quantile loss with L1), the value of the inner
    problem has kinks in A and c too, and the search may stop at one. It warns then.

    `minimand.path` and `minimand.Tuned` learn the units at the estimator's own alpha, and then vary
    the alpha of the output weights. The search for the units may take half of the estimator's
    ``max_seconds``; callbacks are called for the fit of the output weights only.

    Examples
    --------
    >>> import numpy as np
    >>> import minimand as mm
    >>> X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), [0, 1, 1, 0]
    >>> layer = mm.HiddenLayer(4, random_state=0)
    >>> model = mm.Classifier(alpha=1e-3, features=layer).fit(X, y)
    >>> model.predict(X), model.certificate_.kind
    (array([0, 1, 1, 0]), 'stationary')
    """

    takes_sparse = True
    learnt = True
    weights_: Array
    biases_: Array
    centre_: Array
    scale_: Array
    stationarity_: float
    value_: float
    alpha_: float
    n_iter_: int

    def __init__(
        self,
        width: int = 10,
        activation: str = "tanh",
        *,
        decay: float = 1e-4,
        restarts: int = 3,
        max_iter: int = 500,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.width = width
        self.activation = activation
        self.decay = decay
        self.restarts = restarts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def check_parameters(self) -> None:
        """Counts ≥ 1, decay ≥ 0, tol > 0, a known activation."""
        for name in ("width", "restarts", "max_iter"):
            check_count(self, name)
        check_number(self, "decay", "a number ≥ 0", lambda decay: decay >= 0)
        check_number(self, "tol", "a positive number", lambda tol: tol > 0)
        if not isinstance(self.activation, str) or self.activation not in ACTIVATIONS:
            raise ValueError(
                f"activation of HiddenLayer must be one of {sorted(ACTIVATIONS)}, "
                f"not {self.activation!r}."
            )

    def learn(self, X: Any) -> None:
        """Draw random units."""
        self.standardise(X, np.full(X.shape[0], 1.0 / X.shape[0]))
        self.draw(check_random_state(self.random_state))
        self.n_iter_ = 1

    def standardise(self, X: Any, mass: Array) -> None:
        """Mean and deviation of the inputs, by weights that add up to one."""
        self.centre_ = np.asarray(X.T @ mass, dtype=float).ravel()
        if sparse.issparse(X):
            second = np.asarray(X.multiply(X).T @ mass, dtype=float).ravel()
            spread = np.maximum(second - self.centre_**2, 0.0)
            spread[spread <= 1e-14 * second] = 0.0  # share; safeguard: a constant column
        else:
            spread = ((X - self.centre_) ** 2).T @ mass
            spread[spread <= 1e-28 * self.centre_**2] = 0.0  # share; safeguard: a constant column
        self.scale_ = np.where(spread > 0, np.sqrt(spread), 1.0)

    def draw(self, random: Any) -> None:
        """Draw units whose inputs x̃ A + c are of order 1."""
        size = 1.5 / np.sqrt(self.centre_.size)  # 1.5: standard deviation of x̃ A; safeguard
        self.weights_ = size * random.standard_normal((self.centre_.size, int(self.width)))
        self.biases_ = 0.5 * random.standard_normal(int(self.width))

    def inputs(self, X: Any) -> Array:
        """The inputs x̃ A + c of the units; sparse rows stay sparse, their centring goes into c."""
        if sparse.issparse(X):
            scaled = self.weights_ / self.scale_[:, None]
            return np.asarray(X @ scaled) + (self.biases_ - self.centre_ @ scaled)
        return ((X - self.centre_) / self.scale_) @ self.weights_ + self.biases_

    def beside(self, X: Any, units: Array) -> Any:
        """The inputs and the units, side by side."""
        if sparse.issparse(X):
            return sparse.hstack([X, sparse.csr_matrix(units)], format="csr")
        return np.hstack([X, units])

    def columns(self, X: Any) -> Any:
        """The inputs and σ(x̃ A + c), side by side."""
        return self.beside(X, ACTIVATIONS[self.activation].value(self.inputs(X)))

    def names(self, inputs: list[str]) -> Iterator[str]:
        """The inputs' own, then unit0, unit1, …."""
        yield from inputs
        yield from (f"unit{j}" for j in range(self.weights_.shape[1]))
