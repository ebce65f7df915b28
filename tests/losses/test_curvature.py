"""The second derivative of a softmax as a sum over pairs of scores."""

import numpy as np
import pytest

from minimand.design import as_design
from minimand.losses.curvature import Curvature, Simplex
from minimand.losses.within_sets import WithinSets


@pytest.mark.parametrize("share", [1.0, 0.7, None])
def test_grams_are_those_of_the_products(share):
    rng = np.random.default_rng(0)
    design, scale = as_design(rng.standard_normal((30, 3))), rng.uniform(0.1, 3.0, 30)
    if share is None:
        found = WithinSets(rng.integers(-1, 3, (30, 4)), scale)
    else:
        found = Simplex(share * rng.dirichlet(np.ones(4), 30), scale)
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


def test_differences_within_sets():
    rng = np.random.default_rng(1)
    sets, scale, t = (
        np.array([[0, 1, 0, -1, 1, 0]] * 2),
        np.array([2.0, 0.5]),
        rng.normal(size=(2, 6)),
    )
    found = WithinSets(sets, scale).weighted(np.array([3.0, 1.0]))
    for row, factor in enumerate((6.0, 0.5)):
        image = found.times(t)[row]
        for members in ([0, 2, 5], [1, 4]):
            want = factor * (t[row, members] - t[row, members].mean())
            assert image[members] == pytest.approx(want)
        assert image[3] == 0.0
    bound = np.diag(found.bound[0]) - np.array(
        [found.times(e * np.ones((2, 1)))[0] for e in np.eye(6)]
    )
    assert np.linalg.eigvalsh(bound).min() >= -1e-12
    assert found.any
    assert not WithinSets(np.array([[0, 1, -1]]), np.ones(1)).any
