"""Certificates of models without y, against the optimum of problems small enough to know it."""

import pytest
from small_clusterings import check


@pytest.mark.parametrize("part", range(4))
def test_no_bound_is_above_the_optimum_and_no_proof_is_false(part):
    for seed in range(6 * part, 6 * part + 6):
        check(seed)


@pytest.mark.conformance
@pytest.mark.parametrize("part", range(20))
def test_the_same_of_a_thousand_problems(part):
    for seed in range(50 * part, 50 * part + 50):
        check(seed)
