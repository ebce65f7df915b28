"""Scores of the models of a path on held-out data; greater is better."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer
from sklearn.metrics._scorer import _BaseScorer

from .._base.typing import Array
from ..design import Design, as_design
from ..estimators.prepare import measured_by
from ..losses import Loss
from ..metrics import mean_average_precision, ndcg
from .path import Path
from .samples import Samples

Scorer = Callable[..., float]
_RANKINGS = {"ndcg": ndcg, "mean_average_precision": mean_average_precision}
_BATCH = 1 << 23  # scores held at a time, 64 MB; safeguard


def scorer_for(estimator: Any, scoring: Any) -> Scorer | None:
    """The scorer of an estimator's models; that of rankings takes y with the query of each item."""
    return _of_rankings(scoring) if estimator.in_queries else check_scoring(scoring)


def _of_rankings(scoring: Any) -> Scorer | None:
    """A metric of rankings by its name, a callable (model, X, y, groups), or None."""
    if scoring is None:
        return None
    if isinstance(scoring, str) and scoring in _RANKINGS:
        metric = _RANKINGS[scoring]
        return lambda model, X, y: metric(y[:, 0], model.predict(X), y[:, 1])
    if not callable(scoring):
        raise ValueError(
            f"scoring of a Ranker must be 'ndcg', 'mean_average_precision', None or a callable "
            f"(model, X, y, groups), not {scoring!r}."
        )
    return lambda model, X, y: scoring(model, X, y[:, 0], y[:, 1])


def check_scoring(scoring: Any) -> Scorer | None:
    """A scorer by its name, a callable (model, X, y), or None: the loss of the model itself."""
    if scoring is None:
        return None
    if isinstance(scoring, str):
        try:
            return get_scorer(scoring)
        except ValueError as error:
            raise ValueError(
                f"scoring={scoring!r} is not known: pass a name from "
                "sklearn.metrics.get_scorer_names(), a callable (model, X, y), or None."
            ) from error
    if not callable(scoring) or isinstance(scoring, type):
        raise ValueError(
            f"scoring must be one scorer, by its name or as a callable (model, X, y), "
            f"not {scoring!r}."
        )
    if not isinstance(scoring, _BaseScorer) and not _takes_three(scoring):
        raise ValueError(
            f"scoring={scoring!r} must take (model, X, y): make a scorer of a metric (y, "
            "predicted) by sklearn.metrics.make_scorer."
        )
    return scoring


def _takes_three(scoring: Callable[..., Any]) -> bool:
    """Whether a callable takes three positional arguments; True if its signature is unknown."""
    try:
        inspect.signature(scoring).bind(None, None, None)
    except TypeError:
        return False
    except ValueError:  # compiled functions may have no signature
        return True
    return True


def check_weights_are_heard(scorer: Scorer | None, weighted: bool) -> None:
    """Refuse weights with a scorer that does not take them: it would silently ignore them."""
    if not weighted or scorer is None or isinstance(scorer, _BaseScorer):
        return
    names = inspect.signature(scorer).parameters.values()
    if not any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in names):
        raise ValueError(
            "scoring takes no sample_weight, so the weights would be ignored: give it an argument "
            "of that name."
        )


def path_scores(
    path: Path, model: Any, test: Samples, scorer: Scorer | None, measure: Loss | None = None
) -> Array:
    """One score per alpha: minus the mean loss, or the scorer's."""
    if scorer is None:
        return -held_out_losses(path, model, test, measure)
    found = []
    for i in range(len(path)):
        fitted = with_offset(path.model(i), test.offset)
        weights = {} if test.weight is None else {"sample_weight": test.weight}
        found.append(_number(scorer(fitted, test.X, test.y, **weights)))
    return np.array(found)


def held_out_losses(path: Path, model: Any, test: Samples, measure: Loss | None = None) -> Array:
    """The mean loss of every model of a path, summed over scores; one product for all alphas.

    By ``measure``, or by the loss of the models themselves.
    """
    design = as_design(model._map_features(test.X))
    coefs = path.coefs.reshape(len(path), -1, design.shape[1])
    intercepts = path.intercepts.reshape(len(path), -1)
    total = np.zeros(len(path))
    for loss, target, columns, mass, rows in measured_by(model, test.y, test.weight, measure):
        offset = test.offset
        if offset is not None and offset.ndim > 1:
            offset = offset[:, columns]
        models = coefs[:, columns], intercepts[:, columns]
        for i, z in _scores_of(design, *models, offset):
            with np.errstate(over="ignore", invalid="ignore"):
                total[i] += mass @ loss.value(z[rows], target)
    return total


def _scores_of(
    design: Design, coefs: Array, intercepts: Array, offset: Array | None
) -> Iterator[tuple[int, Array]]:
    """The number of every model and its scores, (n,) or (n, k); one product for many models."""
    scores = coefs.shape[1] if coefs.ndim == 3 else 1
    size = max(1, _BATCH // (design.shape[0] * scores))
    for start in range(0, len(coefs), size):
        some, shifts = coefs[start : start + size], intercepts[start : start + size]
        products = _products(design, some.reshape(-1, design.shape[1]))
        for i, shift in enumerate(shifts):
            rows = products[i * scores : (i + 1) * scores]
            z = rows[0] + shift if coefs.ndim == 2 else np.ascontiguousarray(rows.T) + shift
            if offset is not None:
                z += offset if offset.ndim == z.ndim else offset[:, None]
            yield start + i, z


def _products(design: Design, coefs: Array) -> Array:
    """Coefs Xᵀ, one contiguous row per model, from the columns that some model uses."""
    used = np.flatnonzero(coefs.any(axis=0))
    if 2 * used.size < design.shape[1]:
        if not used.size:
            return np.zeros((len(coefs), design.shape[0]))
        design, coefs = design.columns(used), coefs[:, used]
    return design.scores_of(coefs)


def with_offset(model: Any, offset: Array | None) -> Any:
    """A model whose predictions contain this offset, since a scorer passes X alone."""
    if offset is None:
        return model
    for name in ("decision_function", "predict", "predict_proba", "predict_log_proba"):
        if hasattr(model, name):
            setattr(model, name, _shifted(getattr(model, name), offset))
    return model


def _shifted(method: Callable[..., Any], shift: Array) -> Callable[..., Any]:
    @wraps(method)  # scikit-learn asks for its name
    def shifted(X: Any, offset: Any = None) -> Any:
        return method(X, shift if offset is None else offset)

    return shifted


def _number(score: Any) -> float:
    if not isinstance(score, int | float | np.number):
        raise ValueError(f"scoring must give one number, not {score!r}.")
    return float(score)
