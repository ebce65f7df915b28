"""Parameters of drop-ins: their names and checks are scikit-learn's, read once for each class."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

from sklearn.utils._param_validation import validate_parameter_constraints

from .._base.parameters import KnowsParameters


class ReadsParameters(KnowsParameters):
    """Mixin in front of a scikit-learn class, which checks all parameters at every fit."""

    def _validate_params(self: Any) -> None:
        """Refuse bad parameters in scikit-learn's words; a legal default needs no new check."""
        own: Any = type(self)
        legal = _legal_defaults(own)
        given = self.get_params(deep=False).items()
        changed = {name: x for name, x in given if name not in legal or x is not legal[name]}
        if changed:
            rules = self._parameter_constraints
            validate_parameter_constraints(rules, changed, caller_name=own.__name__)


@cache
def _legal_defaults(cls: Any) -> dict[str, Any]:
    """The defaults of the constructor's parameters that satisfy the class's own rules."""
    found = {}
    for name, parameter in inspect.signature(cls.__init__).parameters.items():
        try:
            given = {name: parameter.default}
            validate_parameter_constraints(cls._parameter_constraints, given, cls.__name__)
        except ValueError:
            continue
        found[name] = parameter.default
    return found
