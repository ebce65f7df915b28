"""Run a few lines in a new Python process and read one JSON value back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def fresh(arguments: list[str]) -> Any:
    """The JSON value on the last line of a new Python's output.

    Bytecode is kept, as pip does for every package it installs: one library must not be compiled
    in every process because it is a checkout.
    """
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise RuntimeError(f"a fresh process failed: {last[0]}")
    return json.loads(done.stdout.strip().splitlines()[-1])
