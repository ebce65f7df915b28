"""Wide dense data: sweeps find the columns whose Gram is formed, with the same minimum."""

import numpy as np
import pytest

import minimand as mm
from minimand.solvers.sparse import support_newton


def data(order):
    rng = np.random.default_rng(7)
    X = rng.standard_normal((60, 400)) + 0.5 * rng.standard_normal((60, 1))
    score = X[:, :20] @ rng.standard_normal(20)
    return np.asarray(X, order=order), score + score.std() * rng.standard_normal(60)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("penalty", [mm.L1(), 0.7 * mm.L1() + 0.3 * mm.L2()])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "huber", "poisson"])
def test_sweeps_before_a_gram_do_not_change_the_minimum(
    monkeypatch, loss, penalty, intercept, order
):
    X, number = data(order)
    y = {"logistic": number > 0, "squared_hinge": number > 0, "poisson": number > 0}.get(
        loss, number / number.std()
    )
    kind = mm.Classifier if loss in ("logistic", "squared_hinge") else mm.Regressor
    primals = []
    for few in (0, 10**6):  # columns, up to which the Gram of all is formed at once
        monkeypatch.setattr(support_newton, "_FEW_COLUMNS", few)
        target = y.astype(float) if kind is mm.Regressor else y
        model = kind(
            loss, penalty, alpha=0.02, intercept=intercept, tol=1e-8, solver="working_set"
        ).fit(X, target)
        assert model.certificate_.relative <= 1e-8
        primals.append(model.certificate_)
    close = sum(one.gap for one in primals) + 1e-12
    assert abs(primals[0].primal - primals[1].primal) <= close
