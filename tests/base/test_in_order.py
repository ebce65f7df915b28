"""Results of work on threads come in the order of the items, and errors stop it."""

import time

import pytest

from minimand._base.in_order import in_order


@pytest.mark.parametrize("jobs", [1, 3])
def test_results_are_in_the_order_of_the_items(jobs):
    def work(i):
        time.sleep(0.002 * (i % 3 == 0))  # the first of every three ends last
        return i * i

    assert list(in_order(work, range(40), jobs)) == [i * i for i in range(40)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_ends_the_work(jobs):
    begun = []

    def work(i):
        begun.append(i)
        if i == 3:
            raise ArithmeticError("of item 3")
        return i

    with pytest.raises(ArithmeticError, match="of item 3"):
        list(in_order(work, range(1000), jobs))
    assert len(begun) < 100
