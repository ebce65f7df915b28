"""Conformance checks for your own losses, penalties, feature maps, kernels, designs and solvers.

Each function raises AssertionError with one sentence that says which law is broken and where; a
ValueError says that the object refuses its own parameters. minimand's own tests use them too.

Examples
--------
>>> import minimand as mm
>>> mm.testing.check_loss(mm.Huber(delta=2.0))
>>> mm.testing.check_penalty(mm.L1() + 0.5 * mm.L2())
"""

from .designs import check_design
from .features import check_features
from .kernels import check_kernel
from .losses import check_loss
from .penalties import check_penalty
from .solvers import check_solver

__all__ = [
    "check_design",
    "check_features",
    "check_kernel",
    "check_loss",
    "check_penalty",
    "check_solver",
]
