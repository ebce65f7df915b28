"""The output protocol: encode what a fit was given, decode what a model scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minimand as mm
from minimand.outputs import ClassOutput, Output, ScalarOutput

LABELS = st.one_of(
    st.lists(st.integers(-3, 3), min_size=2, max_size=12),
    st.lists(st.booleans(), min_size=2, max_size=12),
    st.lists(st.sampled_from(["", "a", "bb", "ccc"]), min_size=2, max_size=12),
    st.lists(st.sampled_from([0.0, 1.0, 2.5]), min_size=2, max_size=12),
)


@settings(deadline=None)
@given(LABELS, st.booleans())
def test_labels_come_back(labels: list, unit: bool) -> None:
    y = np.array(labels)
    loss = mm.CrossEntropy() if unit else mm.Logistic()
    if np.unique(y).size < 2:
        with pytest.raises(ValueError, match="one class only"):
            ClassOutput.of(y, loss)
        return
    output = ClassOutput.of(y, loss)
    coded = output.encode(y)
    assert coded.shape == ((len(y),) if output.scores == 1 else (len(y), output.scores))
    assert set(np.unique(coded)) == {0.0 if unit else -1.0, 1.0}
    scores = coded - 0.5 if unit else coded  # the code of a class is a perfect score of it
    np.testing.assert_array_equal(output.decode(scores), y)
    p = output.probabilities(scores)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(output.classes[p.argmax(axis=1)], y)


@pytest.mark.parametrize("y", [[1.5, -2.0, 0.0], [1, 2, 3], [True, False, True]])
def test_numbers_come_back(y: list) -> None:
    output = ScalarOutput(mm.Squared())
    assert output.scores == 1
    np.testing.assert_array_equal(output.decode(output.encode(np.array(y))), np.array(y, float))


def test_numbers_outside_the_domain_are_refused() -> None:
    with pytest.raises(ValueError, match="outside the domain"):
        ScalarOutput(mm.Poisson()).encode(np.array([1.0, -1.0]))


def test_another_loss_has_its_own_code() -> None:
    output = ClassOutput.of(np.array([3, 5]), mm.Logistic())
    np.testing.assert_array_equal(output.encode(np.array([5, 3])), [1.0, -1.0])
    other = output.under(mm.CrossEntropy())
    np.testing.assert_array_equal(other.encode(np.array([5, 3])), [1.0, 0.0])
    assert other.classes is output.classes


def test_a_space_of_ones_own() -> None:
    """What vectors will be: only the columns of z, the code and its inverse have to be said."""

    class Pairs(Output):
        @property
        def scores(self) -> int:
            return 2

        def encode(self, y):
            return np.asfortranarray(np.array([[v.real, v.imag] for v in y]))

        def decode(self, z):
            return self.loss.transform(z) @ np.array([1, 1j])

    y = np.array([1 + 2j, -3j])
    output = Pairs(mm.Squared())
    np.testing.assert_array_equal(output.decode(output.encode(y)), y)
    with pytest.raises(TypeError):
        Output(mm.Squared())
