"""Value objects and short names."""

import inspect
import pickle
from functools import partial
from typing import get_args

import numpy as np
import pytest
from sklearn.base import clone

import minimand as mm
from minimand._base import typing as _typing
from minimand._base.parameters import Parameterized, merge_nested
from minimand._base.registry import Registry, snake_case

OBJECTS = [
    mm.Squared(),
    mm.Huber(2.0),
    mm.Logistic(),
    mm.L1(),
    mm.L1(np.arange(3.0)),
    mm.L2([1, 2]),
    mm.NoPenalty(),
    0.5 * mm.L1(),
    mm.L1() + 0.5 * mm.L2(np.ones(2)),
]


class Pair(Parameterized):
    def __init__(self, first, second=None):
        self.first = first
        self.second = second


@pytest.mark.parametrize("thing", OBJECTS, ids=repr)
def test_copies_are_equal_and_apart(thing):
    for twin in (thing.copy(), clone(thing), pickle.loads(pickle.dumps(thing))):
        assert twin == thing
        assert twin is not thing
        assert hash(twin) == hash(thing)
        assert repr(twin) == repr(thing)


@pytest.mark.parametrize("thing", OBJECTS, ids=repr)
def test_arguments_are_stored_unchanged(thing):
    params = thing.get_params(deep=False)
    again = type(thing)(**params)
    assert all(getattr(again, name) is value for name, value in params.items())


def test_editors_know_the_short_names():
    assert sorted(get_args(_typing.PenaltyName)) == mm.penalties.REGISTRY.names
    for kind, alias in (
        (mm.Regressor, _typing.RegressorLossName),
        (mm.Classifier, _typing.ClassifierLossName),
    ):
        taken = {name for name in mm.losses.REGISTRY.names if accepts(kind(name))}
        assert set(get_args(alias)) == taken
        assert len(get_args(alias)) == len(taken)


def accepts(estimator):
    try:
        estimator._checked_settings()
    except ValueError:
        return False
    return True


def test_constructors_keep_their_signatures():
    for kind in (mm.Regressor, mm.Classifier):
        names = list(inspect.signature(kind).parameters)
        assert names[:3] == ["loss", "penalty", "alpha"]
        assert sorted(names) == kind._get_param_names()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mm.PCA(2, 3), "too many positional"),
        (lambda: mm.PCA(2, n_components=3), "multiple values for argument 'n_components'"),
        (lambda: mm.PCA(2, unknown=3), "PCA has no parameter 'unknown'"),
    ],
)
def test_constructors_refuse_what_their_signature_does_not_have(call, words):
    with pytest.raises(TypeError, match=words):
        call()


def test_equality():
    assert mm.Huber(1) == mm.Huber(1.0) == mm.Huber()
    assert mm.Huber(1.0) != mm.Huber(2.0)
    assert mm.L1() != mm.L2()
    assert mm.L1(np.ones(2)) == mm.L1([1.0, 1.0])
    assert mm.L1(np.ones(2)) != mm.L1(np.ones(3))
    assert mm.L1(np.ones(2)) != mm.L1()
    assert mm.L1() != 3
    assert mm.L1() + mm.L2() != mm.L2() + mm.L1()


def test_repr_shows_what_differs_from_the_default():
    assert repr(mm.Huber()) == "Huber()"
    assert repr(mm.Huber(delta=2.0)) == "Huber(delta=2.0)"
    assert repr(mm.L1(np.array([1.0]))) == "L1(weights=array([1.]))"
    assert repr(Pair(3)) == "Pair(first=3)"
    assert eval(repr(0.5 * mm.L1() + mm.L2()), vars(mm.penalties)) == 0.5 * mm.L1() + mm.L2()


def test_deep_parameters():
    params = Pair(mm.L1() + mm.L2(), 3).get_params()
    assert params["first__left"] == mm.L1()
    assert params["first__right__weights"] is None
    assert params["second"] == 3
    assert set(Pair(mm.L1()).get_params(deep=False)) == {"first", "second"}


def test_set_params_returns_itself_and_never_touches_nested_objects():
    inner = mm.Huber(1.0)
    outer = Pair(inner)
    assert outer.set_params(first__delta=4.0, second=5) is outer
    assert inner.delta == 1.0
    assert outer.first == mm.Huber(4.0)
    assert outer.second == 5


def test_a_copy_with_changes_leaves_the_original():
    original = mm.L1() + 0.5 * mm.L2()
    changed = original.copy(right__factor=2.0, left__weights=[1.0])
    assert original == mm.L1() + 0.5 * mm.L2()
    assert changed == mm.L1([1.0]) + 2.0 * mm.L2()


def test_an_object_set_together_with_its_parameters():
    given = mm.Huber(1.0)
    outer = Pair(None).set_params(first=given, first__delta=9.0)
    assert given.delta == 1.0
    assert outer.first.delta == 9.0


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"third": 1}, r"Invalid parameter 'third' for Pair; choose from \['first', 'second'\]"),
        ({"third__x": 1}, "Invalid parameter 'third' for Pair"),
        ({"first__nope": 1}, r"Invalid parameter 'nope' for Huber; choose from \['delta'\]"),
        ({"second__x": 1}, "second=7 of Pair has no parameter 'x'"),
    ],
)
def test_unknown_names(params, message):
    outer = Pair(mm.Huber(), 7)
    with pytest.raises(ValueError, match=message):
        outer.set_params(**params)
    with pytest.raises(ValueError, match=message):
        merge_nested(outer, params)


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("Squared", "squared"),
        ("SquaredHinge", "squared_hinge"),
        ("CrossEntropy", "cross_entropy"),
        ("L1", "l1"),
        ("L21", "l21"),
        ("L1Ball", "l1_ball"),
        ("NoPenalty", "no_penalty"),
        ("NonNegative", "non_negative"),
        ("GroupL2", "group_l2"),
        ("MCP", "mcp"),
        ("SCAD", "scad"),
        ("TopK", "top_k"),
        ("GemanMcClure", "geman_mc_clure"),
        ("RBF", "rbf"),
    ],
)
def test_short_names(name, short):
    assert snake_case(name) == short


def test_a_registry_finds_names_and_passes_objects():
    registry = Registry("loss", mm.Loss, ["Huber", "Squared"], partial(getattr, mm))
    assert registry.names == ["huber", "squared"]
    assert registry.get("huber") == mm.Huber()
    own = mm.Huber(3.0)
    assert registry.get(own) is own
    for bad in ("Huber", "hubert", "", None, 3, mm.Huber, mm.L1(), ["huber"]):
        with pytest.raises(ValueError, match="is not known: pass one of") as caught:
            registry.get(bad)
        assert str(caught.value).endswith((".", "?"))
    with pytest.raises(ValueError, match=r"did you mean Huber\(\)\?"):
        registry.get(mm.Huber)
    with pytest.raises(ValueError, match=r"did you mean 'huber'\?"):
        registry.get("hubr")


def test_objects_that_are_named_are_shared_and_never_changed():
    """What one estimator makes of a named loss or penalty is not what the next one gets."""
    first = mm.Regressor("huber", "l1").set_params(loss__delta=3.0, penalty__weights=[1.0, 2.0])
    assert first.loss == mm.Huber(3.0)
    second = mm.Regressor("huber", "l1").set_params(loss__delta=1.0, penalty__weights=None)
    assert second.loss == mm.Huber()
    assert second.penalty == mm.L1()
    settings = mm.Regressor("huber", "l1")._checked_settings()
    assert (settings.loss, settings.penalty) == (mm.Huber(), mm.L1())
