"""Penalties of one's own that are no sum over features: value and prox of a norm are enough."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import scale

import minimand as mm
from minimand.penalties import ConcavePenalty, Norm, Penalty

X, Y = load_diabetes(return_X_y=True)
X = scale(X)
FISTA = mm.solvers.Fista(restart=True)


class Groups(Penalty):
    """Σ ‖w_g‖₂ over groups of neighbouring columns; size 1 is the lasso."""

    def __init__(self, size=2, first=0):
        self.size = size
        self.first = first  # columns before this one are free

    def _rows(self, w):
        return np.reshape(np.asarray(w, float)[self.first :], (-1, self.size))

    def value(self, w):
        return float(np.linalg.norm(self._rows(w), axis=1).sum())

    def prox(self, w, step):
        rows, found = self._rows(w), np.array(w, float)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        shrunk = rows * np.maximum(1 - step / np.where(norms > 0, norms, 1.0), 0.0)
        found[self.first :] = shrunk.ravel()
        return found


class Largest(Penalty):
    """max |wⱼ|: w minus its projection on the l1 ball of radius step."""

    def value(self, w):
        return float(np.max(np.abs(w)))

    def prox(self, w, step):
        return w - mm.L1Ball(step).bind(w.size).project(w)


@pytest.mark.parametrize(
    "penalty", [Groups(), Groups(1), Groups(2, first=2), Largest(), 0.5 * Groups(4)], ids=repr
)
def test_all_laws_of_a_penalty_hold(penalty):
    mm.testing.check_penalty(penalty, n_features=8)


@pytest.mark.parametrize(
    "penalty",
    [
        Groups() + mm.L2(),
        mm.L2() + Groups(2, first=2),
        0.5 * (Largest() + 3 * mm.L2()),
        Groups() + mm.NoPenalty(),
    ],
    ids=repr,
)
def test_all_laws_hold_with_squares_beside_it(penalty):
    mm.testing.check_penalty(penalty, n_features=8)


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_groups_of_one_and_squares_are_the_elastic_net(loss):
    ours = mm.Regressor(loss, Groups(1) + 0.3 * mm.L2(), 0.5, solver=FISTA, tol=1e-8).fit(X, Y)
    net = mm.Regressor(loss, mm.L1() + 0.3 * mm.L2(), alpha=0.5, tol=1e-10).fit(X, Y)
    assert ours.certificate_.relative <= 1e-8
    assert ours.certificate_.dual <= net.certificate_.primal * (1 + 1e-12)
    assert ours.certificate_.primal == pytest.approx(net.certificate_.primal, rel=1e-6)


@pytest.mark.parametrize("other", [mm.L1(), mm.Box(-1, 1), mm.L2(np.arange(10.0)), mm.L2Ball(1)])
def test_what_does_not_add_to_a_norm_is_said(other):
    with pytest.raises(ValueError, match=r"L2\(\) without weights to a norm of your own"):
        mm.Regressor("squared", Groups() + other, solver=FISTA).fit(X, Y)


def test_dual_norms_are_those_of_the_formula():
    v = np.random.default_rng(0).standard_normal(8)
    pairs = np.linalg.norm(v.reshape(-1, 2), axis=1).max()
    for penalty, expected in ((Groups(), pairs), (Largest(), np.abs(v).sum())):
        bound = penalty.bind(8, 0.5)
        assert isinstance(bound, Norm)
        assert bound.dual_norm(v) == pytest.approx(expected / 0.5, rel=1e-12)


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_groups_of_one_are_the_lasso(loss):
    ours = mm.Regressor(loss, Groups(1), alpha=0.5, solver=FISTA).fit(X, Y)
    lasso = mm.Regressor(loss, "l1", alpha=0.5, tol=1e-10).fit(X, Y)
    assert ours.certificate_.relative <= 1e-6
    assert ours.certificate_.dual <= lasso.certificate_.primal * (1 + 1e-12)
    assert ours.certificate_.primal == pytest.approx(lasso.certificate_.primal, rel=1e-6)


def test_optimality_of_groups():
    """Groups at zero have a short slope; those that are not have one along w."""
    alpha = 10.0
    model = mm.Regressor("squared", Groups(), alpha=alpha, solver=FISTA, tol=1e-10).fit(X, Y)
    slope = X.T @ (Y - model.predict(X)) / len(Y)
    w, s = model.coef_.reshape(-1, 2), slope.reshape(-1, 2)
    zero = ~w.any(axis=1)
    assert 0 < zero.sum() < 5
    assert (np.linalg.norm(s[zero], axis=1) <= alpha).all()
    along = alpha * w[~zero] / np.linalg.norm(w[~zero], axis=1, keepdims=True)
    np.testing.assert_allclose(s[~zero], along, atol=1e-3)
    assert mm.certify(model, X, Y).relative <= 1e-9
    assert "10·Groups()(w)" in model.certificate_.objective


def test_columns_that_the_norm_does_not_see_are_free():
    model = mm.Regressor("squared", Groups(2, first=2), alpha=1e3, solver=FISTA, tol=1e-10).fit(
        X, Y
    )
    plain = mm.Regressor("squared", "no_penalty").fit(X[:, :2], Y)
    assert not model.coef_[2:].any()
    np.testing.assert_allclose(model.coef_[:2], plain.coef_, rtol=1e-3)


def test_paths_begin_where_all_coefficients_vanish():
    estimator = mm.Regressor("squared", Groups(), solver=FISTA)
    top = mm.alpha_max(estimator, X, Y)
    slope = np.linalg.norm((X.T @ (Y - Y.mean()) / len(Y)).reshape(-1, 2), axis=1)
    assert top == pytest.approx(slope.max())
    path = mm.path(estimator, X, Y, alphas=4)
    assert path.alphas[0] == top
    assert (path.n_nonzero[0], path.n_nonzero[-1]) == (0, 10)
    assert max(c.relative for c in path.certificates) <= 1e-6
    assert mm.alpha_max(mm.Regressor("squared", Groups(2, first=2)), X, Y) < top


def test_by_itself_no_solver_takes_it_but_the_sentence_names_some():
    for call in (
        mm.Regressor("squared", Groups()).fit,
        lambda X, y: mm.path(mm.Regressor("squared", Groups()), X, y),
    ):
        with pytest.raises(
            ValueError, match=r"name one of \['proximal_gradient', 'fista'\]"
        ) as caught:
            call(X, Y)
        assert "ball" not in str(caught.value)


class Squares(Penalty):
    def value(self, w):
        return 0.5 * float(np.sum(np.square(w)))

    def prox(self, w, step):
        return w / (1 + step)


class Differences(Penalty):
    """|w₁ − w₂| + |w₃ − w₄| + …: zero for equal pairs."""

    def value(self, w):
        return float(np.abs(w[::2] - w[1::2]).sum())

    def prox(self, w, step):
        mean, half = 0.5 * (w[::2] + w[1::2]), 0.5 * (w[::2] - w[1::2])
        half = np.sign(half) * np.maximum(np.abs(half) - step, 0.0)
        return np.stack([mean + half, mean - half], axis=1).ravel()


class TwiceTheStep(Groups):
    def prox(self, w, step):
        return super().prox(w, 2 * step)


class NoStep(Groups):
    def prox(self, w, step):
        return super().prox(w, 1.0)


class Half(Penalty):
    """√ of pairs: not convex."""

    def value(self, w):
        return float(np.sqrt(np.abs(w)).sum() ** 2)

    def prox(self, w, step):
        return Groups(1).prox(w, step)


class OnlyValue(Penalty):
    def value(self, w):
        return 0.0


REFUSED = {
    Squares: "Squares has value and prox alone, which is enough for a norm, but it is none .*: "
    r"write bind\(n_features, alpha\) that returns a Separable, or",
    Differences: "Differences is zero along a direction that is not a column",
    TwiceTheStep: "prox of TwiceTheStep is not the minimiser",
    NoStep: "prox of NoStep is not the minimiser",
    Half: "prox of Half is not the minimiser",
    OnlyValue: r"OnlyValue must define bind\(n_features, alpha\), or, if it is a norm, value",
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_norm_is_refused_in_a_sentence(kind):
    for call in (
        mm.Regressor("squared", kind(), solver="fista").fit,
        lambda X, y: mm.path(mm.Regressor("squared", kind()), X, y),
    ):
        with pytest.raises((ValueError, NotImplementedError), match=REFUSED[kind]) as caught:
            call(X, Y)
        assert "\n" not in str(caught.value)
        assert "ball" not in str(caught.value)


class Bare:
    """A bound form that is neither a sum, nor a norm, nor a ball."""

    def __init__(self, bound):
        self.bound = bound

    def __getattr__(self, name):
        return getattr(self.bound, name)


class Opaque(Penalty):
    def bind(self, n_features, alpha=1.0):
        return Bare(Groups().bind(n_features, alpha))


def test_a_path_of_another_form_asks_for_alphas():
    estimator = mm.Regressor("squared", Opaque(), solver=FISTA)
    with pytest.raises(
        ValueError, match=r"no sum over features and no norm.*: pass alphas of your"
    ):
        mm.path(estimator, X, Y)
    assert len(mm.path(estimator, X, Y, alphas=[30.0, 10.0])) == 2


class Logarithm(ConcavePenalty):
    def __init__(self, eps=1.0):
        self.eps = eps

    def curve(self, t, lam):
        return lam * np.log1p(t / self.eps)

    def slope(self, t, lam):
        return lam / (self.eps + t)


def test_a_concave_penalty_with_a_constructor_of_its_own():
    mm.testing.check_penalty(Logarithm(2.0))
    mm.testing.check_penalty(Logarithm(0.5) + 0.1 * mm.L2())
    model = mm.Regressor("squared", Logarithm(2.0), alpha=5.0).fit(X, Y)
    assert model.certificate_.kind == "stationary"
    assert model.certificate_.relative <= 1e-6
    assert "5·Logarithm(eps=2.0)(w)" in model.certificate_.objective
    assert model.get_params()["penalty__eps"] == 2.0
    assert mm.path(mm.Regressor("squared", Logarithm()), X, Y, alphas=3).n_nonzero[0] == 0


class Bowl(ConcavePenalty):
    """t²: convex where it should be concave."""

    def curve(self, t, lam):
        return lam * t * t

    def slope(self, t, lam):
        return 2 * lam * t


class OthersSlope(Logarithm):
    """The slope of half the curve."""

    def slope(self, t, lam):
        return 0.5 * super().slope(t, lam)


class Falling(ConcavePenalty):
    def curve(self, t, lam):
        return -lam * t

    def slope(self, t, lam):
        return -lam * np.ones_like(t)


@pytest.mark.parametrize(
    ("penalty", "words"),
    [(Bowl(), "not concave"), (OthersSlope(), "not the derivative"), (Falling(), "slopes ≥ 0")],
    ids=repr,
)
def test_a_curve_that_is_not_concave_is_refused_at_once(penalty, words):
    with pytest.raises(ValueError, match=words):
        mm.Regressor("squared", penalty, alpha=1.0).fit(X, Y)


@pytest.mark.parametrize("penalty", [mm.MCP(1.5), mm.SCAD(2.1), mm.Lq(0.1), mm.Lq(0.9)], ids=repr)
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_proved_curves_stand_the_probe(penalty, size):
    from minimand.penalties.concave import check_concave

    check_concave(penalty, size * np.array([0.0, 1.0, 3.0]))
