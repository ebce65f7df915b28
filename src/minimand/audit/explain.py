"""`explain`: which solvers accept a problem, which do not, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from .._base.typing import ArrayLike
from ..solvers import Verdict, choose_solver, verdicts


@dataclass(frozen=True)
class Explanation:
    """The objective in words, every solver's verdict, and the solver that would run.

    ``chosen`` is empty if no solver accepts the problem, or if the one that the estimator names
    refuses it. ``heir`` is the solver that continues if the chosen one hands over, which is rare.
    """

    objective: str
    verdicts: dict[str, Verdict]
    chosen: str
    heir: str = ""

    def __str__(self) -> str:
        lines = [f"minimise {self.objective}"]
        width = max(len(name) for name in self.verdicts)
        for name, verdict in self.verdicts.items():
            mark = self._mark(name, verdict)
            cost = f" (about {verdict.cost:.1e} operations)" if verdict.ok else ""
            lines.append(f"  {mark} {name:<{width}}  {verdict.reason}{cost}")
        if self.heir:
            lines.append(f"  (↳ continues where {self.chosen} hands over)")
        return "\n".join(lines)

    def _mark(self, name: str, verdict: Verdict) -> str:
        """→ runs, ↳ continues if that one hands over, ✓ accepts, ✗ refuses."""
        if name == self.chosen:
            return "→"
        if name == self.heir:
            return "↳"
        return "✓" if verdict.ok else "✗"

    __repr__ = __str__


def explain(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike = None,
    sample_weight: ArrayLike = None,
    offset: ArrayLike = None,
    *,
    groups: ArrayLike = None,
) -> Explanation:
    """Explain which solvers accept this problem, and which one would run.

    Parameters
    ----------
    estimator : Regressor, Classifier, Ranker or Tuned
        Of a `Tuned`, its estimator is explained: at the best alpha if it was fitted.
    X, y, sample_weight, offset
        As in ``fit``.
    groups : array-like of shape (n_samples,), optional
        The query of every item, for a `Ranker`.

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> mm.explain(mm.Regressor("squared", "l1", alpha=0.5), X, y).chosen
    'working_set'
    """
    from ..estimators.prepare import copy_of, posed
    from ..selection import Tuned

    if isinstance(estimator, Tuned):
        found_best = getattr(estimator, "best_params_", {})
        estimator = copy_of(estimator.estimator).set_params(**found_best)
    y = copy_of(estimator)._with_groups(y, groups)
    probe = copy_of(estimator)
    objective = posed(probe, X, y, sample_weight, offset, learn=False, rows=True).objectives[0]
    if not objective.has_columns and probe.features is not None:
        note = "; on rows of the kernel matrix, without a factor of it"
        objective = replace(objective, words=objective.words + note)
    control = estimator._control([])
    asked = estimator.solver
    found = verdicts(objective, control, asked)
    try:
        chosen = choose_solver(objective, control, asked)
    except ValueError:  # if all refuse, the table says why
        return Explanation(objective.words, found, "")
    heir = next((name for name in chosen.heirs if found[name].ok), "")
    return Explanation(objective.words, found, chosen.name, heir)
