"""The command line: quick to answer, and honest about what it does."""

import json
import subprocess
import sys

import pytest

from minimand import __version__
from minimand.cli import main


def _python(*arguments):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, encoding="utf-8", timeout=120
    )


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"minimand {__version__}\n"


def test_help_names_the_commands(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    assert "demo" in capsys.readouterr().out


def test_drop_ins_need_no_import_of_their_own_and_load_when_asked_for():
    code = """
import sys, minimand as mm
assert not {"numpy", "minimand.sklearn"} & set(sys.modules)
assert mm.sklearn.Lasso.__module__.startswith("minimand.sklearn")
assert "sklearn" in dir(mm)
"""
    done = _python("-c", code)
    assert done.returncode == 0, done.stderr


def test_without_a_command_it_shows_help_and_fails(capsys):
    assert main([]) == 2
    assert "usage: minimand" in capsys.readouterr().out


def test_an_unknown_command_is_refused(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["nonsense"])
    assert stop.value.code == 2
    assert "invalid choice: 'nonsense'" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--help", "--version"])
def test_answers_without_numpy(flag):
    program = (
        "import sys\nfrom minimand.cli import main\n"
        f"try: main(['{flag}'])\nexcept SystemExit: pass\n"
        "print([m for m in ('numpy', 'scipy', 'sklearn') if m in sys.modules])"
    )
    done = _python("-c", program)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_json_has_every_column(capsys, monkeypatch):
    from minimand import demo

    first = demo.PROBLEMS[0]
    monkeypatch.setattr(demo, "rows", lambda: demo.compare(first))
    assert main(["demo", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["library"] for row in rows] == ["minimand", "scikit-learn"]
    assert set(rows[0]) == set(demo.Row.__dataclass_fields__)


def test_module_runs_as_a_program():
    done = _python("-m", "minimand", "demo")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "certified gap" in done.stdout
