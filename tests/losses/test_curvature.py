"""The second derivative of a softmax as a sum over pairs of scores."""

import numpy as np
import pytest

from minimand.design import as_design
from minimand.losses.curvature import Curvature, Simplex


@pytest.mark.parametrize("share", [1.0, 0.7])
def test_grams_are_those_of_the_products(share):
    rng = np.random.default_rng(0)
    p = share * rng.dirichlet(np.ones(4), 30)
    found, design = Simplex(p, rng.uniform(0.1, 3.0, 30)), as_design(rng.standard_normal((30, 3)))
    columns = np.array([0, 2])
    assert found.gram(design) == pytest.approx(Curvature.gram(found, design))
    assert found.gram(design, columns) == pytest.approx(Curvature.gram(found, design, columns))
    assert found.over_scores() == pytest.approx(Curvature.over_scores(found))
    assert found.bordered_gram(design) == pytest.approx(Curvature.bordered_gram(found, design))


def test_small_curvatures_are_accurate_beside_a_class_that_is_all_but_certain():
    # scale·p_c·p_e = 1e-8 for the pair (0, 1), although scale·p₀ = 1e18.
    p, scale = np.array([[1.0, 1e-26, 0.0]]), np.array([1e18])
    assert Simplex(p, scale).over_scores() == pytest.approx(
        1e-8 * np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]), rel=1e-12, abs=0.0
    )
