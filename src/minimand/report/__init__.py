"""Figures of what was fitted; matplotlib is the extra ``[plot]``."""

from __future__ import annotations
