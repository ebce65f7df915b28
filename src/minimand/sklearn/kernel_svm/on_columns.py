"""Coefficients of a machine with the linear kernel, from a fit on the columns of X."""

from __future__ import annotations

from dataclasses import replace

from ..._base.typing import Array
from ...design import KernelDesign, as_design
from ...kernels import Linear
from ...losses import Loss
from ...penalties import L2
from ...problem.objective import Objective
from ...solvers import Control, solve
from ...solvers.kernel.tasks import BoxTask
from ...solvers.kinked.clear_multipliers import settled

_EASY = 100.0  # C‖x‖² up to which steps of pairs are quick; measured at 1300×3 to 1300×60: above it
# columns took a fifteenth or less of the time in seven of eight fits; at 30 they took twice as long
_TIGHTER = 1e-3  # of tol; measured: interior points reach it in a step or two, multipliers need it


def start_on_columns(
    loss: Loss, design: KernelDesign, y: Array, task: BoxTask, control: Control
) -> Array | None:
    """Coefficients near the optimum of ½‖w‖² + Σ boundsᵢ·loss(w·xᵢ + b, yᵢ).

    None unless the kernel is linear, X has fewer columns than rows, and steps of pairs may be slow:
    where C‖x‖² is large the bounds of coefficients do not help against a kernel matrix that is
    nearly singular. The solvers on columns do not suffer from that.
    """
    bounds = task.bounds
    if not isinstance(design.kernel, Linear) or design.inputs.shape[1] >= design.shape[0]:
        return None
    assert bounds is not None
    if float(bounds.max()) * float(design.row_lengths.mean()) <= _EASY:
        return None
    total = float(bounds.sum())
    objective = Objective(
        loss=loss,
        penalty=L2().bind(design.inputs.shape[1], 1.0 / total),
        design=as_design(design.inputs),
        y=y,
        mass=bounds / total,
    )
    limits = replace(control, tol=_TIGHTER * control.tol, callbacks=())
    found = settled(objective, solve(objective, "auto", limits), limits.tol)
    theta = found.certificate.dual_point
    return None if theta is None else -bounds * theta
