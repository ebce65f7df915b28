"""The base class of feature maps, and sums of maps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.pipeline import FeatureUnion
from sklearn.utils.validation import check_is_fitted, validate_data

from .._base.registry import snake_case
from .._base.typing import AnyArray, Array, ArrayLike


class Features(TransformerMixin, BaseEstimator):
    """A map φ of rows to rows, for ``features=`` or as a scikit-learn transformer.

    Arguments are stored unchanged. ``fit`` is scikit-learn's and returns the fitted object itself;
    `bind` does not change the object and returns a fitted copy, which estimators keep as
    ``features_``. A subclass defines ``learn(X)``, which sets attributes that end in an underscore,
    ``columns(X)``, the matrix φ(X), and ``names(inputs)``, a name for each column.
    """

    takes_sparse: ClassVar[bool] = False
    fixed: bool = False  # whether φ is the same whatever rows it is fitted on
    learnt: ClassVar[bool] = False  # whether the estimator learns φ along with the output weights

    # What a subclass writes ------------------------------------------------------------------

    def check_parameters(self) -> None:
        """Raise ValueError, in one sentence, for a parameter outside its range."""

    def learn(self, X: Any) -> None:
        """Set what the map needs of the data, in attributes that end in an underscore."""

    def columns(self, X: Any) -> Any:
        """φ(X), dense or sparse."""
        raise NotImplementedError

    def names(self, inputs: list[str]) -> Iterable[str]:
        """A name for every column, from those of the inputs."""
        raise NotImplementedError

    # What follows from it --------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike = None) -> Self:
        """Learn from X what the map needs; y is ignored."""
        self.check_parameters()
        self.learn(self._checked(X, reset=True))
        return self

    def bind(self, X: ArrayLike, y: ArrayLike = None) -> Self:
        """A fitted copy; the object itself stays as it is."""
        bound: Self = clone(self).fit(X, y)
        return bound

    def transform(self, X: ArrayLike) -> Any:
        """φ(X), one row per sample."""
        check_is_fitted(self, "n_features_in_")
        return self.columns(self.checked(X))

    def fitted_rows(self, X: Any, y: Any, weights: Array | None, memory: float) -> Any:
        """φ(X) of a map that is fitted here, as estimators take it.

        A matrix, or a `minimand.design.Design` if ``memory``, in bytes, has no room for it.
        ``weights`` are those of the rows; a map that does not hear them takes all rows alike.
        """
        return self.fit_transform(X, y)

    def mapped_rows(self, X: Any, memory: float) -> Any:
        """φ(X) of a fitted map, likewise."""
        return self.transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Names of the columns of φ(X)."""
        check_is_fitted(self, "n_features_in_")
        return np.asarray(list(self.names(self._input_names(input_features))), dtype=object)

    def __add__(self, other: Any) -> Joined:
        return joined(self, other) if isinstance(other, Features | FeatureUnion) else NotImplemented

    def __sklearn_tags__(self) -> Any:
        """Whether sparse input is accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.takes_sparse
        return tags

    def checked(self, X: Any) -> Any:
        """X as a finite float matrix with the columns that the map was fitted on."""
        return self._checked(X, reset=False)

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """X as a finite float matrix."""
        formats = ("csr", "csc") if self.takes_sparse else False
        kinds = [np.float64, np.float32]
        return validate_data(self, X, reset=reset, accept_sparse=formats, dtype=kinds)

    def _input_names(self, given: Any) -> list[str]:
        known = getattr(self, "feature_names_in_", None)
        if given is None:
            given = [f"x{j}" for j in range(self.n_features_in_)] if known is None else known
        names = [str(name) for name in given]
        if known is not None and names != list(known):
            raise ValueError("input_features is not equal to feature_names_in_.")
        if len(names) != self.n_features_in_:
            raise ValueError(
                "input_features should have length equal to number of features "
                f"({self.n_features_in_}), but it has {len(names)}."
            )
        return names


class Joined(FeatureUnion):
    """Several maps side by side: ``Monomials(2) + Centers(n=20)``.

    A scikit-learn FeatureUnion whose parts are named after their classes, so that a search
    reaches ``features__centers__tau``.

    Examples
    --------
    >>> import minimand as mm
    >>> both = mm.Monomials(2) + mm.Neighbors(1)
    >>> both.fit_transform([[1.0], [2.0]]).toarray()
    array([[1., 1., 1., 0.],
           [2., 4., 0., 1.]])
    >>> list(both.get_feature_names_out())
    ['monomials__x0', 'monomials__x0²', 'neighbors__near0', 'neighbors__near1']
    """

    def __add__(self, other: Any) -> Joined:
        return joined(self, other) if isinstance(other, Features | FeatureUnion) else NotImplemented

    def __str__(self) -> str:
        """The sum as written, if that shows all parameters; else scikit-learn's repr."""
        parts = [part for _, part in self.transformer_list]
        changed = self.get_params(deep=False) != Joined(self.transformer_list).get_params(
            deep=False
        )
        if changed or not all(isinstance(part, Features) for part in parts):
            return repr(self)
        return " + ".join(map(str, parts))

    def check_parameters(self) -> None:
        """Check the parameters of all parts; none of these may be learnt with the model."""
        for _, part in self.transformer_list:
            if getattr(part, "learnt", False):
                raise TypeError(
                    f"{part!r} is learnt along with the output weights, so it cannot be added to "
                    "other maps: pass it as features= alone; it keeps the inputs beside its units."
                )
            if hasattr(part, "check_parameters"):
                part.check_parameters()


def joined(*maps: Any) -> Joined:
    """Maps, and sums of maps, as one sum."""
    named: dict[str, Any] = {}
    for name, part in _parts(maps):
        named[name if name not in named else f"{name}{len(named) + 1}"] = part
    union = Joined(list(named.items()))
    union.check_parameters()
    return union


def _parts(maps: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    for each in maps:
        # A union with weights, or one of scikit-learn's own, stays whole.
        if isinstance(each, Joined) and not each.transformer_weights:
            yield from each.transformer_list
        else:
            yield snake_case(type(each).__name__), each
