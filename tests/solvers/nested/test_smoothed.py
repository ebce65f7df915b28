"""Kinks with norms of groups: cone programs, laws of the rounded losses, certificates."""

import clarabel
import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

import minimand as mm
from minimand.certificate import judge
from minimand.design import as_design
from minimand.problem.objective import Objective
from minimand.solvers import Control, solve

GROUPS = np.array([0, 0, 1, 1, 2, 2])
LOSSES = [mm.Absolute(), mm.Quantile(0.8), mm.EpsilonInsensitive(0.4), mm.Hinge()]


COST = np.array([[0, 1, 4, 1], [2, 0, 1, 1], [1, 3, 0, 1], [1, 1, 1, 0.0]])
MARGINS = [
    mm.CrammerSinger(COST), mm.Ranking(COST), mm.TopK(2), mm.WeightedRanking(cost=COST),
    mm.WeightedRanking([2.0, 2.0, 0.5]),
]  # fmt: skip


class Pointed(mm.Distance):
    """|r| + ½r²."""

    pieces = mm.Pieces(knots=[0.0], slopes=[-1.0, 1.0], curvatures=[1.0, 1.0])


@pytest.mark.parametrize("loss", [*LOSSES, Pointed()], ids=repr)
@pytest.mark.parametrize("width", [1e-6, 0.1, 3.0])
def test_rounded_losses_are_envelopes(loss, width):
    """Their value is that of the proximal point, their slope a slope of the loss there."""
    rng = np.random.default_rng(0)
    z = 3 * rng.standard_normal(200)
    y = np.sign(rng.standard_normal(200))
    smooth = loss.smoothed(width)
    assert smooth.smooth
    assert smooth.smoothness == pytest.approx(1 / width, rel=1e-6)
    near = loss.prox(z, y, width)
    value = loss.value(near, y) + (z - near) ** 2 / (2 * width)
    assert smooth.value(z, y) == pytest.approx(value, rel=1e-9, abs=1e-9)
    slope = smooth.gradient(z, y)
    assert slope == pytest.approx((z - near) / width, abs=1e-6)
    assert (smooth.value(z, y) <= loss.value(z, y) + 1e-12).all()
    assert (loss.fenchel_young(near, loss.into_domain(slope, y), y) <= 1e-6).all()
    mm.testing.check_loss(smooth)


@pytest.mark.parametrize("loss", MARGINS, ids=repr)
def test_rounded_margins_are_envelopes(loss):
    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(4.0), 30)
    z = 2 * rng.standard_normal((120, 4))
    for width in (0.1, 2.0):
        smooth = loss.smoothed(width)
        value, slope, curvature = smooth.terms(z, y)
        near = z - width * slope  # ℓ has this slope there
        assert (loss.fenchel_young(near, slope, y) <= 1e-12).all()
        assert value == pytest.approx(loss.value(near, y) + 0.5 * width * (slope**2).sum(axis=1))
        t = rng.standard_normal(z.shape)
        moved = (smooth.gradient(z + 1e-7 * t, y) - smooth.gradient(z - 1e-7 * t, y)) / 2e-7
        same = np.isclose(moved, curvature.times(t), atol=1e-5).all(axis=1)
        assert same.mean() > 0.99  # but for rows at the edge of a face
        mm.testing.check_loss(smooth, y[::20], n_scores=4)


def group_value(objective, X, form):
    """The optimum by Clarabel: pieces as maxima of lines, norms as cones."""
    from scipy import sparse

    n, d = X.shape
    size = 2 * n + d + 1 + form.size  # slack above and below, w, b, norms
    cost = np.zeros(size)
    plq = objective.loss.plq(objective.y)
    rows, right, cones = [], [], []
    w, b, norm = 2 * n, 2 * n + d, 2 * n + d + 1
    for i in range(n):
        cost[i] = objective.mass[i]
        lines = zip(plq.pieces.slopes, [plq.pieces.knots[0], *plq.pieces.knots])
        for slope, knot in lines:
            at = float(plq.pieces.value(np.array([knot]))[0])
            row = np.zeros(size)  # slope·(sign·z − shift − knot) + at ≤ slack
            row[w : w + d], row[b], row[i] = (slope * plq.sign[i]) * X[i], slope * plq.sign[i], -1.0
            rows.append(row)
            right.append(slope * (plq.shift[i] + knot) - at)
    cones.append(clarabel.NonnegativeConeT(len(rows)))
    for place, factor in enumerate(form):
        cost[norm + place] = factor
        members = np.flatnonzero(place == GROUPS)
        for column in [norm + place, *(w + members)]:
            row = np.zeros(size)
            row[column] = -1.0
            rows.append(row)
            right.append(0.0)
        cones.append(clarabel.SecondOrderConeT(1 + members.size))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    empty = sparse.csc_array((size, size))
    solver = clarabel.DefaultSolver(
        empty, cost, sparse.csc_array(np.array(rows)), np.array(right), cones, settings
    )
    return solver.solve().obj_val


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("uneven", [False, True])
def test_groups_equal_their_cone_program(loss, uneven):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((40, 6)) * (10.0 ** rng.uniform(-2, 2, 6) if uneven else 1.0)
    y = X @ (rng.standard_normal(6) / X.std(axis=0)) + rng.standard_t(2, 40)
    y = np.sign(y) if isinstance(loss, mm.Hinge) else y
    objective = Objective(
        loss=loss, penalty=mm.GroupL2(GROUPS).bind(6, 0.05), design=as_design(X), y=y,
        mass=loss.masses(rng.uniform(0.2, 2.0, 40)),
    )  # fmt: skip
    found = solve(objective, "auto", Control(tol=1e-7))
    assert found.converged
    assert found.solver == "smoothed"
    best = group_value(objective, X, 0.05 * np.sqrt([2.0, 2.0, 2.0]))
    assert found.certificate.primal == pytest.approx(best, abs=1e-6 * objective.scale)
    assert found.certificate.dual <= best + 1e-6 * objective.scale
    point = objective.point(found.w + 0.1 * rng.standard_normal(6), found.b)
    judged = judge(objective, point, [rng.standard_normal(40)], thorough=True)
    assert judged.primal - judged.gap <= best + 1e-6 * objective.scale


def test_groups_of_one_are_the_weighted_l1():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 5))
    y = X[:, 0] + rng.standard_t(2, 80)
    one = mm.Regressor("absolute", mm.GroupL2(np.arange(5)), alpha=0.1).fit(X, y)
    l1 = mm.Regressor("absolute", "l1", alpha=0.1).fit(X, y)
    assert one.certificate_.primal == pytest.approx(l1.certificate_.primal, rel=2e-6)
    assert np.array_equal(one.coef_ != 0, l1.coef_ != 0)


@pytest.mark.parametrize("penalty", [mm.L21(), mm.L21(by="output"), mm.SparseGroup(GROUPS[:4])])
def test_other_norms_and_many_outputs(penalty):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((30, 4))
    Y = np.column_stack([X[:, 0], -X[:, 0], 0 * X[:, 0]]) + 0.3 * rng.standard_t(2, (30, 3))
    y = Y[:, 0] if isinstance(penalty, mm.SparseGroup) else Y
    model = mm.Regressor("absolute", penalty, alpha=0.1).fit(X, y)
    assert model.certificate_.relative <= 1e-6
    assert mm.certify(model, X, y).relative <= 2e-6
    if y.ndim > 1:
        loss = mm.OverScores(mm.Absolute(), weights=[3.0, 1.0, 0.5])
        weighted = mm.Regressor(loss, penalty, alpha=0.1, tol=1e-4).fit(X, y)
        assert weighted.certificate_.relative <= 1e-4


def test_classes_with_norms_of_rows():
    X, y = load_wine(return_X_y=True)
    X, y = scale(X)[::5, :6], y[::5]
    rest = mm.Classifier("hinge", mm.L21(), alpha=0.1).fit(X, y)
    assert rest.certificate_.relative <= 1e-6
    assert (rest.coef_.any(axis=0) == rest.coef_.all(axis=0)).all()
    margins = mm.Classifier(mm.CrammerSinger(), mm.L21(), alpha=0.2, tol=1e-4).fit(X, y)
    assert margins.certificate_.relative <= 1e-4
    assert 0 < margins.coef_.any(axis=0).sum() < 6


def test_half_a_squared_norm_is_the_norm_at_its_level():
    """½N(W)² has the solutions of N(W)·N, with N(W) that of the optimum."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 4)), np.arange(12) % 3
    square = mm.Classifier("crammer_singer", mm.L21(squared=True), alpha=0.05).fit(X, y)
    norm = np.linalg.norm(square.coef_, axis=0).sum()
    plain = mm.Classifier("crammer_singer", mm.L21(), alpha=0.05 * norm).fit(X, y)
    assert square.certificate_.relative <= 1e-6
    assert plain.certificate_.relative <= 1e-6
    half = plain.certificate_.primal - 0.5 * 0.05 * norm**2
    assert half <= square.certificate_.primal + 1e-6
    assert half == pytest.approx(square.certificate_.primal, abs=3e-6)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("loss", [mm.Absolute(), mm.Quantile(0.3), mm.Hinge()], ids=repr)
def test_a_group_of_weight_zero_is_free(loss, squared):
    """No bound is known at the start: its gap, infinite, once passed for what a step may leave."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((23, 7))
    y = X[:, 0] + rng.standard_normal(23)
    penalty = mm.GroupL2([0, 0, 1, 1, 2, 2, 2], weights=[0.0, 0.5, 2.0], squared=squared)
    kind, y = (mm.Classifier, y > 0) if isinstance(loss, mm.Hinge) else (mm.Regressor, y)
    model = kind(loss, penalty, alpha=0.1).fit(X, y)
    assert model.certificate_.relative <= 1e-6
    assert np.ravel(model.coef_)[:2].all()
