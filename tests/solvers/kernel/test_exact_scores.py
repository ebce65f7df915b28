"""Exact scores where they matter: the gap is that of exact scores everywhere."""

import numpy as np
import pytest

import minimand as mm
from minimand.design import KernelDesign, PartDesign
from minimand.sklearn import SVC
from minimand.solvers import Control
from minimand.solvers.kernel import tasks
from minimand.solvers.kernel.box_point import BoxPoint
from minimand.solvers.kernel.machines import solve_one
from minimand.solvers.kernel.sources import source_of


def design_of(kernel, X):
    return KernelDesign(kernel, kernel.prepared(kernel.rows(X, training=True)))


@pytest.mark.parametrize("kernel", [mm.RBF(3.0), mm.Polynomial(3)], ids=repr)
def test_the_gap_is_that_of_exact_scores_everywhere(kernel, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    y = np.sign(X[:, 0] + 0.5 * X[:, 1] ** 2 - 0.5 + 0.1 * rng.normal(size=1500))
    design, asked = design_of(kernel, X), []
    whole = KernelDesign.row_scores

    def count(self, rows, used, a):
        asked.append(rows.size)
        return whole(self, rows, used, a)

    monkeypatch.setattr(KernelDesign, "row_scores", count)
    task = tasks.classes(y, np.full(1500, 2.0))
    found = solve_one(design, task, Control(tol=1e-4))
    assert found.converged
    assert 0 < max(asked) < 1500  # most samples are far beyond the margin
    f = design.row_product(found.a)
    exact = task.box.gap(found.a, f, found.levels)
    assert found.certificate.gap == pytest.approx(exact, rel=1e-9, abs=1e-12 * found.scale)


def test_samples_in_doubt_are_looked_at_again():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), np.where(np.arange(200) % 2, 1.0, -1.0)
    design, task = design_of(mm.RBF(1.0), X), tasks.classes(y, np.ones(200))
    a = 0.3 * y * (rng.random(200) < 0.3)
    a = task.box.with_sums(a)
    exact = BoxPoint.of(task.box, a, design)
    for size in (0.0, 0.3, 10.0):
        f = exact.f + size * rng.uniform(-1, 1, 200)
        near = BoxPoint.near(task.box, a, f, np.full(200, size + 1e-12), design)
        assert near.gap == pytest.approx(exact.gap, rel=1e-12)
        assert near.primal(task.box) == pytest.approx(exact.primal(task.box), rel=1e-12)


def test_a_tight_tolerance_after_rows_in_single_precision(monkeypatch):
    monkeypatch.setattr("minimand.sklearn.kernel_svm.machine.FEW", 0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 4))
    y = X[:, 0] * X[:, 1] > 0.1 * rng.normal(size=700)
    model = SVC(C=30.0, tol=1e-9).fit(X, y)
    assert model.certificate_.relative <= 1e-9
    assert mm.certify(model, X, y).relative <= 2e-9


@pytest.mark.parametrize("kernel", [mm.RBF(2.0), mm.Linear(), mm.Callable(lambda x, z: x @ z.T)])
def test_a_part_of_a_design_is_the_design_of_the_part(kernel):
    X = np.random.default_rng(1).normal(size=(50, 3))
    whole, some = design_of(kernel, X), np.r_[5:20, 30:45]
    part, a = PartDesign(whole, some), np.linspace(-1, 1, 30)
    expected = whole.row_gram()[np.ix_(some, some)]
    np.testing.assert_allclose(part.row_product(a), expected @ a, atol=1e-12)
    np.testing.assert_allclose(part.row_lengths, np.diag(expected), atol=1e-12)
    few = np.array([3, 20])
    np.testing.assert_allclose(part.row_scores(few, few, a[few]), expected[few][:, few] @ a[few])
    np.testing.assert_allclose(part.rows(few).row_gram(), expected[np.ix_(few, few)], atol=1e-12)
    for dtype in ("float64", "float32"):
        rows = np.empty((2, 30), dtype)
        source_of(part, dtype).fill(20, 22, rows)
        np.testing.assert_allclose(rows, expected[20:22], rtol=2e-6, atol=2e-6)
