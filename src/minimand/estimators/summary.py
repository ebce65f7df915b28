"""The repr of fitted models, in text and HTML: solver, gap and nonzeros."""

from __future__ import annotations

from contextlib import suppress
from html import escape
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr


class Summarised(BaseEstimator):
    """Estimators whose repr adds facts once they are fitted; before, it is scikit-learn's."""

    def _facts(self) -> dict[str, str]:
        """Facts of the fitted model, by name; empty before a fit."""
        return facts_of(self)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        _let_lines_break()
        text = super().__repr__(N_CHAR_MAX)
        facts = self._facts()
        if not facts:
            return text
        words = ", ".join(f"{name} {value}" for name, value in facts.items())
        return f"{text}\n# fitted: {words}"

    def _html_repr(self) -> str:
        """scikit-learn's diagram, and a table of the same facts below it."""
        facts = self._facts()
        rows = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>"
            for name, value in facts.items()
        )
        table = f'<table class="minimand-facts">{rows}</table>' if facts else ""
        return str(estimator_html_repr(self)) + table


def facts_of(model: Any) -> dict[str, str]:
    """Solver, relative gap and nonzeros of a model, those that it has."""
    known = vars(model)
    if "coef_" not in known:
        return {}
    facts = {}
    if "solver_" in known:
        facts["solver"] = str(known["solver_"])
    certificate = known.get("certificate_")
    if certificate is None:
        facts["gap"] = "unknown"
    else:
        kind = "" if certificate.kind == "global" else f" ({certificate.kind})"
        facts["relative gap"] = f"{certificate.relative:.1e}{kind}"
    coef = np.asarray(known["coef_"])
    facts["nonzeros"] = f"{np.count_nonzero(coef)} of {coef.size}"
    return facts


def _let_lines_break() -> None:
    """Make scikit-learn's printer break the lines of these estimators too.

    It breaks the lines of classes whose ``__repr__`` it knows, and prints others on one line.
    """
    with suppress(ImportError, AttributeError, KeyError):
        from sklearn.utils._pprint import _EstimatorPrettyPrinter

        how = _EstimatorPrettyPrinter._dispatch
        how.setdefault(Summarised.__repr__, how[BaseEstimator.__repr__])
