"""What reviewers broke once: streams, perceptrons, interior points, paths with kinks."""

import numpy as np
import pytest

import minimand as mm


def test_interior_point_does_not_go_round_in_circles():
    rng = np.random.default_rng(558)
    X = rng.standard_normal((2, int(rng.integers(2, 25))))
    model = mm.Classifier("hinge", mm.L1() + 0.1 * mm.L2(), alpha=0.00056, intercept=False)
    assert model.fit(X, [0, 1]).certificate_.relative <= 1e-6


@pytest.mark.parametrize("unit", [1e-155, 1.0, 1e155])
@pytest.mark.filterwarnings("ignore:overflow")
def test_bound_of_a_perceptron_has_no_units(unit):
    X = np.random.default_rng(0).standard_normal((40, 3))
    model = mm.Perceptron(bound=True, intercept=False).fit(X * unit, X[:, 0] > 0)
    same = mm.Perceptron(bound=True, intercept=False).fit(X, X[:, 0] > 0)
    assert model.bound_ == pytest.approx(same.bound_, rel=1e-5)
    assert model.mistakes_ <= model.bound_


def test_unknown_bound_does_not_undo_the_training():
    X = [[1e7, 10000000.001], [1e7, 10000000.002]]
    model = mm.Perceptron(bound=True, max_epochs=50)
    with pytest.warns(RuntimeWarning, match="bound_ are unknown"):
        model.fit(X, [0, 1])
    assert np.isnan(model.bound_)
    assert model.coef_.shape == (1, 2)


def test_batches_that_weigh_nothing_are_as_if_they_were_not_there():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 3))
    y = (X[:, 0] > 0).astype(int)
    model = mm.Classifier("logistic", alpha=0.1).fit(X[:20], y[:20])
    cut = [(X[:20], y[:20], np.ones(20)), (X[20:], y[20:], np.zeros(40))]
    assert mm.certify(model, batches=cut).gap == mm.certify(model, batches=cut[:1]).gap
    streamed = mm.fit_stream(mm.Classifier("logistic", alpha=0.1), cut, classes=[0, 1])
    alone = mm.fit_stream(mm.Classifier("logistic", alpha=0.1), cut[:1], classes=[0, 1])
    np.testing.assert_array_equal(streamed.coef_, alone.coef_)


def test_path_of_a_hinge_takes_the_solver_that_each_alpha_wants():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    y[rng.random(300) < 0.05] *= -1
    F = mm.Monomials(2).fit_transform(X)
    path = mm.path(mm.Classifier("hinge", "l2"), F, y, alphas=np.logspace(0, -8, 9))
    assert all(certificate.relative <= 1e-6 for certificate in path.certificates)
    # 530; 7900 when the choice of the first alpha held for all of them.
    assert sum(certificate.passes for certificate in path.certificates) < 2000
