"""The proximal step of log(1 + e^−t) by bisection."""

import numpy as np
from scipy.special import expit


def softplus_slope(t, v, step):
    """ψ'(s) at the root s of (s − t) + step·(ψ'(s) − v) = 0."""
    low, high = t + step * v, t + step * (1 + v)  # where ψ' is 0 and −1
    for _ in range(200):
        middle = 0.5 * (low + high)
        below = (middle - t) - step * (expit(-middle) + v) < 0
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return -expit(-0.5 * (low + high))
