"""The demonstration shows what it claims."""

import io
import itertools
import math
from pathlib import Path

import pytest

from minimand import demo
from minimand.demo.table import cells


@pytest.fixture(scope="module")
def rows():
    return list(demo.rows())


def test_every_problem_has_our_row_and_theirs_if_there_is_one(rows):
    expected = []
    for problem in demo.PROBLEMS:
        expected.append((problem.name, "minimand"))
        if problem.theirs is not None:
            expected.append((problem.name, "scikit-learn"))
    assert [(row.problem, row.library) for row in rows] == expected


def test_ours_meet_their_tolerance_without_a_warning(rows):
    ours = [row for row in rows if row.library == "minimand"]
    assert all(row.relative_gap <= 1e-6 and not row.convergence_warning for row in ours)


def test_both_rows_of_a_problem_share_the_objective_and_the_optimum(rows):
    for ours, theirs in itertools.pairwise(rows):
        if ours.problem == theirs.problem:
            assert ours.objective == theirs.objective
            # Neither can be below the optimum, which is within our gap of our value.
            scale = ours.value
            assert theirs.value >= ours.value - 1e-5 * scale
            assert theirs.value - ours.value <= 1e-5 * scale or theirs.relative_gap > 1e-6


def test_the_readme_shows_what_comes_out(rows):
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    shown = {row.problem for row in rows if f"| {cells(row)[2]} | {row.value:.7g} |" in text}
    assert shown == {"lasso", "poisson", "L1 logistic", "SVM", "own loss"}


def test_unscaled_logistic_regression_makes_scikit_learn_warn(rows):
    warned = {row.problem for row in rows if row.convergence_warning}
    assert {"L1 logistic", "L2 logistic"} <= warned


def test_numbers_are_numbers(rows):
    for row in rows:
        assert math.isfinite(row.value)
        assert 0 <= row.relative_gap < 1
        assert row.seconds > 0
        assert 0 < row.nonzeros <= row.features
        assert -1 < row.test_score <= 1


def test_support_vectors_are_counted_for_the_svm_alone(rows):
    counted = [row for row in rows if row.support_vectors is not None]
    assert [(row.problem, row.library) for row in counted] == [
        ("SVM", "minimand"),
        ("SVM", "scikit-learn"),
    ]
    ours, theirs = (row.support_vectors for row in counted)
    assert 0 < ours < 100
    assert abs(ours - theirs) <= 5  # libsvm's tolerance leaves it a few more or fewer


def test_the_outlier_drags_lines_by_how_steeply_their_losses_grow(tmp_path):
    found = demo.lines()
    slopes = [line.slope for line in found]
    assert [line.name.split(":")[0] for line in found] == ["L∞", "L2", "L1", "robust"]
    assert slopes == sorted(slopes, reverse=True)
    assert slopes[0] > 1 > 0.1 > slopes[-1] > -0.1  # 25 at x = 10, against a true slope of 0
    assert all(line.relative_gap <= 1e-6 for line in found)
    file = tmp_path / demo.OUTLIER_FIGURE
    assert str(file) in demo.draw_outlier(file)
    assert file.read_bytes().startswith(b"\x89PNG")


def test_plain_table_names_each_problem_once(rows):
    lines = demo.plain(rows).splitlines()
    assert len(lines) == len(rows) + 2
    assert [line.split("  ")[0] for line in lines[2:] if not line.startswith(" ")] == [
        problem.name for problem in demo.PROBLEMS
    ]


def test_show_explains_the_gap(rows):
    out = io.StringIO()
    demo.show(rows, out)
    text = " ".join(out.getvalue().split())
    assert all(" ".join(note.split()) in text for note in demo.NOTES)
    assert "!" in text


def test_show_without_rich(rows, without):
    without("rich")
    out = io.StringIO()
    demo.show(rows, out)
    assert demo.plain(rows) in out.getvalue()


def test_a_perfect_gap_is_not_printed_as_zero(rows):
    ridge = next(row for row in rows if row.problem == "ridge" and row.library == "minimand")
    assert cells(ridge)[4].strip() == "< 1e-15"


def test_both_libraries_choose_about_the_same_alpha_and_the_path_is_drawn(tmp_path, capsys):
    found = demo.choices()
    for ours, theirs, tuned in found:
        assert (ours.library, theirs.library) == ("minimand", "scikit-learn")
        assert ours.problem == theirs.problem
        assert abs(ours.test_score - theirs.test_score) < 0.1
        assert tuned.certificate_.relative <= 1e-6
    # The same folds, grid and scores; scikit-learn's own tolerance may move it by a grid point.
    assert found[0][0].alpha == pytest.approx(found[0][1].alpha, rel=0.2)
    demo.show_choices([(ours, theirs) for ours, theirs, _ in found])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 + 2 * len(demo.TASKS)
    assert lines[2].startswith("lasso, 5 folds")
    file = tmp_path / demo.FIGURE
    assert str(file) in demo.draw(found[0][2], file)
    assert file.read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_the_demo_says_so(tmp_path, without):
    without("matplotlib")
    assert "needs matplotlib" in demo.draw(None, tmp_path / demo.FIGURE)
    assert "needs matplotlib" in demo.draw_outlier(tmp_path / demo.OUTLIER_FIGURE)
    assert not list(tmp_path.iterdir())
