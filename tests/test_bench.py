"""The benchmark's own judge and clock: what they certify must be true for everybody."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

import minimand as mm

pytest.importorskip("bench", reason="run from the root of the checkout")

from bench import peers, readme
from bench.measures import joint, losses, stochastic
from bench.measures.judge import Model, dual, judge_of, primal, scale
from bench.measures.timing import Lap, OverCap, best_of, climb, clock
from bench.pages import report
from bench.problems import kinks, paths, tuning
from bench.problems.base import Problem

PARAMETERS = {
    "quantile": 0.75,
    "epsilon_insensitive": 0.2,
    "squared_epsilon_insensitive": 0.2,
}
PENALTIES = ("l1", "l2", "elastic_net")
JOINT = [name for name in losses.NAMES if losses.loss_of(name, 0.5).joint]
SINGLE = [name for name in losses.NAMES if name not in JOINT]
CASES = list(product(SINGLE, PENALTIES, (0, 1)))


def targets(loss: str, z: Any) -> Any:
    labels = losses.loss_of(loss, PARAMETERS.get(loss)).labels
    return np.where(z > 0, 1.0, -1.0) if labels else z


def small_path(loss: str, penalty: str, intercept: bool, count: int = 4) -> Problem:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 12))
    z = X[:, :3].sum(axis=1) + 0.3 + rng.standard_normal(40)
    alphas = np.geomspace(0.3, 0.01, count)
    return Problem(
        "small",
        X,
        targets(loss, z),
        loss,
        penalty,
        alphas[-1],
        intercept,
        (),
        alphas=alphas,
        parameter=PARAMETERS.get(loss),
    )


@pytest.mark.parametrize("name", SINGLE)
def test_conjugates_are_suprema_over_the_legal_slopes(name):
    loss = losses.loss_of(name, PARAMETERS.get(name))
    grid = np.linspace(-20.0, 20.0, 40001)[:, None]  # holds every kink
    y = targets(name, np.array([-1.0, 0.6, 2.0]))
    for theta in (-3.0, -1.0, -0.4, 0.0, 0.1, 0.25, 0.9, 4.0):
        legal = loss.legal(np.full(3, theta), y)
        assert loss.legal(legal, y) == pytest.approx(legal)
        supremum = (legal * grid - loss.value(grid, y)).max(axis=0)
        assert loss.conjugate(legal, y) == pytest.approx(supremum, abs=1e-6)
        # Beyond the legal slopes the supremum is infinite: it grows with the grid.
        beyond = np.abs(theta - legal)
        reached = (theta * grid - loss.value(grid, y)).max(axis=0)
        assert (reached >= 15 * beyond - 20).all()


@pytest.mark.parametrize("name", SINGLE)
def test_the_null_model_has_the_best_constant(name):
    loss = losses.loss_of(name, PARAMETERS.get(name))
    y = targets(name, np.random.default_rng(1).standard_normal(101) + 0.3)
    best = loss.value(np.full_like(y, loss.constant(y)), y).mean()
    tried = [loss.value(np.full_like(y, b), y).mean() for b in np.linspace(-3, 3, 3001)]
    assert best <= min(tried) + 1e-12
    assert best == pytest.approx(min(tried), rel=2e-3)
    problem = Problem("null", np.zeros((101, 1)), y, name, "l2", 1.0, True, ())
    problem.parameter = PARAMETERS.get(name)
    assert scale(problem) == pytest.approx(best)
    problem.intercept = False
    assert scale(problem) == pytest.approx(loss.value(np.zeros_like(y), y).mean())


@pytest.mark.parametrize(  # problems of Crammer-Singer have no intercept in the benchmark
    ("name", "intercept"), [("multinomial", 0), ("multinomial", 1), ("crammer_singer", 0)]
)
def test_any_dual_point_of_several_scores_bounds_every_model(name, intercept):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 4))
    y = np.argmax(X[:, :3] + rng.standard_normal((60, 3)), axis=1).astype(float)
    problem = Problem("joint", X, y, name, "l2", 0.05, bool(intercept), ())
    judge = judge_of(problem)
    assert -1e-13 <= judge.slack <= 1e-7
    best = joint.primal(problem, judge.model.w, judge.model.b)
    for size in (1e-3, 0.1, 0.3):
        theta = size * rng.standard_normal((3, 60))
        assert joint.dual(problem, theta) <= best + 1e-12
        w = judge.model.w + size * rng.standard_normal((3, 4))
        assert joint.primal(problem, w, judge.model.b) >= best - 1e-6
    null = joint.primal(problem, np.zeros((3, 4)), np.zeros(3))
    assert scale(problem) <= null + 1e-12


def test_a_loss_of_a_family_needs_its_parameter():
    with pytest.raises(ValueError, match="needs a parameter"):
        losses.loss_of("quantile", None)


@pytest.mark.parametrize("name", kinks.SYNTHETIC)
def test_peers_of_losses_with_kinks_minimise_our_objective(name):
    """With a tight tol every peer comes down to our bound, and none falls below it."""
    whole = kinks.SYNTHETIC[name](True)
    n = 300
    X = whole.X[:n, :10].toarray() if whole.is_sparse else whole.X[:n, :10]
    alpha = 0.1 if whole.penalty == "l2" else 0.02  # LIBLINEAR gives up where C is large
    small = replace(whole, X=X + 0.01, y=whole.y[:n], alpha=alpha, forms={})
    judge = judge_of(small)
    assert -1e-13 <= judge.slack <= 1e-7
    assert judge.model.nonzeros(small) > 0
    found = peers.load(("liblinear", "rehline", "sklearn_kinks"))[0]
    for peer in (found[peer] for peer in small.peers if peer in found):
        gap = judge.relative(peer.fit(small, 1e-9 if len(peer.ladder) > 1 else peer.ladder[0]))
        assert -1e-12 <= gap <= 1e-6, peer.name


@pytest.mark.parametrize(("loss", "penalty", "intercept"), CASES)
def test_any_dual_point_bounds_every_alpha(loss, penalty, intercept):
    problem = small_path(loss, penalty, bool(intercept))
    judge = judge_of(problem)
    assert -1e-14 <= judge.slack <= 1e-8
    rng = np.random.default_rng(0)
    shape = (len(problem.strengths), problem.n_samples)
    for size in (1e-3, 0.1, 1.0, 10.0):
        theta = size * rng.standard_normal(shape)
        signs = np.broadcast_to(problem.y, shape)
        assert (dual(problem, signs, theta) <= judge.reference + 1e-12).all()
        w, b = size * rng.standard_normal((shape[0], 12)), np.zeros(shape[0])
        assert (primal(problem, Model(w, b)) >= judge.dual - 1e-12).all()


def test_a_path_is_judged_at_its_worst_alpha():
    problem = small_path("squared", "l1", True)
    judge = judge_of(problem)
    single = [judge_of(problem.at(alpha)) for alpha in problem.strengths]
    assert judge.dual == pytest.approx([s.dual[0] for s in single], rel=1e-8)
    w = judge.model.w.copy()
    w[1] += 0.1
    spoilt = single[1].relative(Model(w[1:2], judge.model.b[1:2]))
    assert spoilt > 1e-4
    assert judge.relative(Model(w, judge.model.b)) == pytest.approx(spoilt, rel=1e-6)
    w[2] = np.nan
    assert judge.relative(Model(w, judge.model.b)) == np.inf


def test_elastic_net_path_begins_with_an_empty_model():
    problem = paths.SYNTHETIC["path_enet_dense"](True)
    judge = judge_of(replace(problem, alphas=problem.alphas[:2]))
    assert judge.model.nonzeros(judge.problem) > 0
    assert not judge.model.w[0].any()


def test_a_call_over_the_cap_is_stopped_and_the_climb_goes_on():
    def fit(tol: float) -> float:
        while tol > 0.5:  # stalls at the loosest tolerance only
            pass
        return tol

    with pytest.raises(OverCap):
        clock(lambda: fit(1.0), 0.05)
    ladder = (1.0, 0.1, 0.01)
    forgiving = climb(fit, lambda gap: gap, ladder, 0.01, 0.3)
    assert forgiving.met is not None
    assert forgiving.met.gap <= 0.01
    strict = climb(fit, lambda gap: gap, ladder, 0.01, 0.3, forgiven=0)
    assert strict.capped
    assert strict.met is None
    assert strict.closest.result is None


def test_nobody_is_repeated_after_the_cap_and_only_results_that_meet_the_gap_count():
    calls = {"slow": lambda: 0.0, "unmet": lambda: 1.0, "quick": lambda: 0.0}
    known = {"slow": Lap(9.0, 9.0), "unmet": Lap(0.5, 0.5)}
    best = best_of(calls, lambda gap: gap == 0.0, known, 3, 1.0)
    assert best["slow"] == known["slow"]
    assert best["unmet"] == known["unmet"]
    assert "quick" in best


def test_lasso_cv_is_judged_by_the_models_of_its_folds():
    from bench.peers.sklearn import CV

    problem = tuning.cv_lasso("cv", True, wide=False)
    problem = replace(problem, alphas=problem.alphas[::6], folds=problem.folds)
    judge = tuning.tuning_judge_of(problem)
    assert judge.slack <= 1e-8
    tight = CV(problem, 1e-12)
    assert len(tight.calls) == len(problem.folds)
    assert -1e-12 <= judge.relative(tight) <= 1e-9
    assert judge.off(tight) <= 1e-5
    y, coefs = tight.calls[2]
    spoilt = coefs.copy()
    spoilt[0, -1] += 0.05
    calls = [*tight.calls[:2], (y, spoilt), *tight.calls[3:]]
    assert judge.relative(replace(tight, calls=calls)) > 1e-4
    # Without them, held-out errors have to do.
    assert judge.relative(replace(tight, calls=[])) <= 1e-9
    assert judge.relative(replace(tight, calls=[], errors=1.01 * tight.errors)) == np.inf
    with pytest.raises(ValueError, match="no training part"):
        judge.relative(replace(tight, calls=[(y + 1.0, coefs)]))


def test_epochs_of_stochastic_training_are_compared_with_scikit_learns():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    rows = stochastic.measure("small", stochastic.Case(X, y, (X, y)), 1, lambda line: None)
    assert [row.solver for row in rows] == list(stochastic.MAKERS)
    assert all(row.epoch >= 0 and row.fit > 0 and row.accuracy > 0.8 for row in rows)
    rows.append(report.Epochs("untested", "somebody", 0.1))
    rows += [report.Epochs("made", stochastic.SKLEARN, 0.2), report.Epochs("made", "last", 0.4)]
    text = report.markdown(report.Results(epochs=rows))
    assert text.count("| small |") == len(stochastic.MAKERS)
    assert "| untested | somebody | 0.1 |  |  |  |  |" in text
    assert "| made | last | 0.4 | 2.00 |  |  |  |" in text
    assert "nan" not in text


def test_the_readme_has_the_current_times():
    _, written, _ = readme.divided(readme.README.read_text(encoding="utf-8"))
    assert written == readme.table(), "run python -m bench.readme"
    assert written.count("\n") >= 10


def test_times_count_where_the_gap_was_met():
    section = "\n".join(
        [
            "| solver | seconds | gap met | remark |",
            "|---|---|---|---|",
            "| minimand | 0.3 | yes |  |",
            "| sklearn cd | 2.5 | yes |  |",
            "| sklearn lars | 1.5 | yes |  |",
            "| celer | 0.1 | no | never reached the gap (over 3 s) |",
            "| skglm | 0.2 | no | never reached the gap (no tighter tol helped) |",
        ]
    )
    assert readme.seconds(section) == {"minimand": 0.3, "sklearn": 1.5}
    assert readme.stopped(section) == {"celer": 3.0}


def test_a_limit_holds_where_compiled_code_wraps_what_interrupts_it():
    def compiled():
        try:
            time.sleep(5)
        except BaseException as interruption:
            raise SystemError("returned a result with an exception set") from interruption

    with pytest.raises(OverCap):
        clock(compiled, 0.05)


def test_everyday_sizes_are_compared_at_defaults(monkeypatch):
    """Every model has a cell for every size, and the drawn size is that of the seed."""
    from bench.everyday import cells, data, drop_ins, table

    some_models = [each for each in drop_ins.MODELS if each[0] in ("Ridge", "Lasso", "LinearSVC")]
    monkeypatch.setattr(drop_ins, "MODELS", some_models)
    some = list(data.problems(np.random.default_rng(7), quick=True))
    again = list(data.problems(np.random.default_rng(7), quick=True))
    assert [each.name for each in some] == [each.name for each in again]
    found = list(drop_ins.cells(some[0], cells.Turns(repeats=1)))
    assert len({cell.row for cell in found}) == len(found) == len(some_models)
    assert all(cell.ours > 0 and cell.theirs > 0 for cell in found)
    text = table.markdown({"drop-ins": found}, seed=7)
    assert text.count("\n| ") == len(some_models) + 1
    assert "seed 7" in text


def test_everyday_sizes_have_every_drop_in():
    from bench.everyday import drop_ins

    from minimand import sklearn as ours

    names = {name for name, _, _ in drop_ins.MODELS}
    assert names == set(ours.__all__)
    assert all(drop_ins.theirs(name).__name__ == name for name in names)


def test_everyday_sizes_have_every_loss():
    from bench.everyday import natives

    names = {type(mm.losses.REGISTRY.get(loss)).__name__ for loss, _ in natives.LOSSES.values()}
    known = set(mm.losses.REGISTRY.classes.values())
    assert known - {"ZeroOne"} <= names  # counting mistakes cannot be minimised


def test_pages_of_scripts_are_written_row_by_row(monkeypatch, tmp_path, capsys):
    from bench.pages.page import Page

    out = tmp_path / "page.md"
    monkeypatch.setattr("sys.argv", ["bench", "--quick", "--repeats", "2", "--out", str(out)])
    page = Page("kmeans", "k-means", "A first line.\n\nHow it is\nmeasured.", ("what", "seconds"))
    calls = []
    lap, value = page.best({"one": lambda: calls.append(0) or 7.0})["one"]
    assert (len(calls), value) == (2, 7.0)
    assert lap.wall >= 0
    page.row(["one", "0.1"])
    lines = out.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# k-means"
    assert lines[2].endswith("not the real benchmark. How it is measured.")
    assert lines[-3:] == ["| what | seconds |", "|---|---|", "| one | 0.1 |"]
    assert "| one | 0.1 |" in capsys.readouterr().out


def test_quick_runs_leave_the_stored_pages_alone(monkeypatch, tmp_path):
    from bench.pages import page

    monkeypatch.setattr(page, "HERE", tmp_path)
    (tmp_path / "results").mkdir()
    stored = tmp_path / "results" / "cuts.md"
    for options, written in ((["--quick"], False), ([], True)):
        monkeypatch.setattr("sys.argv", ["bench", *options])
        page.Page("cuts", "Cuts", "A line.", ("what",)).row(["one"])
        assert stored.exists() == written


def test_models_of_the_same_objective_have_a_small_gap():
    """scikit-learn's model of every native objective is near the bound of ours."""
    from bench.everyday import data, natives

    made = data.made(120, 3, np.random.default_rng(0))
    for (name, penalty), twin in natives.TWINS.items():
        loss, kind = natives.LOSSES[name]
        make = mm.Classifier if kind.startswith("class") else mm.Regressor
        alpha = 0.0 if penalty == "no_penalty" else 0.02
        model = make(loss, penalty, alpha, intercept=twin.intercept)
        y = made.targets[kind]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            peer = twin.make(alpha, len(y)).fit(made.X, y)
            gap = natives.gap_of(peer, model, made.X, y)
        assert -1e-9 < gap < 1e-2, (name, penalty)
