"""Nyström features: a kernel of low rank, from some rows as landmarks."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from .._base.parameters import check_count
from .._base.typing import Array, IntArray
from ..kernels import REGISTRY
from ..kernels.rows import count
from ..kernels.vectors import VectorKernel
from .low_rank import MEMORY, LowRank
from .pivoted_cholesky import Greedy, Random, factorise

_METHODS = ("rpcholesky", "uniform", "kmeans")
_CANDIDATES = 20  # rows per landmark, among which landmarks are chosen; safeguard


class Nystrom(LowRank):
    r"""A kernel of low rank, from some rows as landmarks, for large n.

    .. math:: \hat k(x, z) = k(x, P)\,k(P, P)^{-1}\,k(P, z)

    `minimand.certify` with ``against="exact"`` bounds what a model on these features loses against
    the kernel itself.

    The features of all rows are formed if ``memory`` of the estimator (2 GB by default) has room
    for them. Else they are computed in blocks of rows, whenever a solver makes a pass over them;
    the objective and its certificate are the same.

    Parameters
    ----------
    kernel : Kernel or str, default="rbf"
    rank : int, default=100
        The most landmarks; fewer, if these leave nothing but rounding.
    method : {"rpcholesky", "uniform", "kmeans"}, default="rpcholesky"
        Rows drawn in proportion to what the ones before them leave out (randomly pivoted
        Cholesky), rows drawn evenly, or centres of clusters. The first chooses among 20 rows per
        landmark, drawn evenly; so do the others where 2 GB do not hold the features of all rows,
        and `left_out` then takes the place of the attribute ``remainder_``.
    random_state : int or RandomState, optional
        Seed of the choice.

    Examples
    --------
    >>> import numpy as np
    >>> import minimand as mm
    >>> x = np.random.default_rng(0).normal(size=(300, 2))
    >>> map = mm.Nystrom(mm.RBF(2.0), rank=40, random_state=0).fit(x)
    >>> float(map.remainder_.max()) < 0.01
    True
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        rank: int = 100,
        method: str = "rpcholesky",
        *,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.rank = rank
        self.method = method
        self.random_state = random_state

    def check_parameters(self) -> None:
        """A kernel, a rank and a known method."""
        super().check_parameters()
        check_count(self, "rank")
        if self.method not in _METHODS:
            raise ValueError(
                f"method of Nystrom must be one of {list(_METHODS)}, not {self.method!r}."
            )
        if self.method == "kmeans" and not isinstance(REGISTRY.get(self.kernel), VectorKernel):
            raise ValueError(
                f"method='kmeans' of Nystrom takes centres of vectors, which {self.kernel!r} does "
                "not compare: take 'rpcholesky' or 'uniform'."
            )

    def fitted_rows(self, X: Any, y: Any, weights: Array | None, memory: float) -> Any:
        """φ̂(X) of a map that is fitted here; computed on demand if memory has no room for it."""
        x = self._bound_rows(X, weights)
        found = self._learnt(x, memory)
        if found is None or found.nbytes > memory:
            return self.on_demand(x, memory)
        return found

    def _learnt(self, x: Any, memory: float = MEMORY) -> Array | None:
        """The landmarks, from all rows or from some, and the features if memory has room.

        Which rows are the landmarks does not depend on the memory.
        """
        n, rng = count(x), check_random_state(self.random_state)
        rank = min(n, int(self.rank))
        formed = 8.0 * n * rank <= MEMORY
        candidates = max(rank, min(_CANDIDATES * rank, int(MEMORY / (8 * rank))))
        if n <= candidates or (formed and self.method != "rpcholesky"):
            return self._of_pool(x, rank, rng)
        some: IntArray = np.sort(rng.permutation(n)[:candidates])
        self._of_pool(x[some], rank, rng)
        if self.pivots_ is not None:
            self.pivots_ = some[self.pivots_]
        for name in ("remainder_", "sizes_"):  # those of some rows
            self.__dict__.pop(name, None)
        return self._formed(x) if formed and 8.0 * n * self.rank_ <= memory else None

    def _of_pool(self, pool: Any, rank: int, rng: np.random.RandomState) -> Array:
        """Landmarks from these rows, and the features of the rows."""
        if self.method == "rpcholesky":
            factor = factorise(self.kernel_, pool, rank, Random(rng))
            self.remainder_, self.sizes_ = factor.remainder, factor.sizes
            return self._keep(pool, factor)
        chosen: IntArray | None = None
        if self.method == "uniform":
            chosen = np.sort(rng.permutation(count(pool))[:rank])
            marks = pool[chosen]
        else:
            marks = KMeans(rank, n_init=1, random_state=rng).fit(pool).cluster_centers_
        factor = factorise(self.kernel_, marks, rank, Greedy())
        self._keep(marks, factor)
        self.pivots_ = None if chosen is None else chosen[self.pivots_]
        return self._formed(pool)
