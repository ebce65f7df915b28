"""Conformance suites for your own losses, penalties, designs and solvers."""

from __future__ import annotations
