"""Threads of the core: their errors reach the caller, and they are as many as work deserves."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMPILER = next(filter(None, map(shutil.which, (os.environ.get("CXX", ""), "c++", "g++"))), None)


@pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")
def test_what_kernels_build_on(tmp_path):
    program = tmp_path / "check"
    sources = [ROOT / "tests/core/parallel_check.cpp", ROOT / "core/common/parallel.cpp"]
    command = [COMPILER, "-std=c++20", "-pthread", "-I", ROOT / "core", *sources, "-o", program]
    subprocess.run(command, check=True)
    done = subprocess.run([program], capture_output=True, text=True, timeout=60, env={})
    assert done.stdout == ""
    assert done.returncode == 0
