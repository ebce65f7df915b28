"""What ``features=`` of an estimator means: a kernel, or columns of features."""

from __future__ import annotations

from typing import Any

from . import REGISTRY
from .base import Kernel


def kernel_of(features: Any) -> Kernel | None:
    """The kernel that ``features=`` stands for, by itself or by its short name.

    None if a fit takes columns of features instead: of a map, or of a kernel that is ``explicit``.

    Examples
    --------
    >>> from minimand.kernels import RBF, Spectrum, kernel_of
    >>> kernel_of("rbf"), kernel_of(RBF(2.0)), kernel_of(Spectrum(2)), kernel_of(None)
    (RBF(), RBF(tau=2.0), None, None)
    """
    if not isinstance(features, str | Kernel):
        return None
    kernel = REGISTRY.get(features, "features")
    return None if kernel.explicit else kernel
