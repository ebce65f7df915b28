"""What Tuned refuses, in one sentence each."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError

import minimand as mm

X, Y = load_diabetes(return_X_y=True)
X, Y = X[:120], Y[:120]
LASSO = mm.Regressor("squared", "l1")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"rule": "2se"}, "rule must be 'min' or '1se'"),
        ({"cv": 1}, "cv must be at least 2"),
        ({"cv": 121}, "at most the number of samples"),
        ({"cv": "five"}, "cv must be a number of folds"),
        ({"cv": True}, "cv must be a number of folds"),
        ({"cv": 2.5}, "cv must be a number of folds"),
        ({"cv": [([0, 1], [500])]}, "row numbers beyond the 120 samples"),
        ({"cv": [([0.5], [1.0])]}, "row numbers or masks"),
        ({"cv": [([], [1])]}, "to train on"),
        ({"alphas": 0}, "alphas must be"),
        ({"alphas": [-1.0]}, "alphas must be"),
        ({"alphas": "many"}, "alphas must be"),
        ({"eps": 2.0}, "eps must be"),
        ({"scoring": "no_such"}, "scoring='no_such' is not known"),
        ({"scoring": ["r2", "max_error"]}, "scoring must be one scorer"),
        ({"scoring": lambda model, X, y: "good"}, "scoring must give one number"),
        ({"refit": "yes"}, "refit must be True or False"),
        ({"verbose": None}, "verbose must be True or False"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"n_jobs": 1.5}, "n_jobs must be"),
    ],
)
def test_bad_arguments_get_a_sentence(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        mm.Tuned(LASSO, **{"alphas": 3, "cv": 2, **options}).fit(X, Y)


def test_other_estimators_are_refused():
    from sklearn.linear_model import Lasso

    with pytest.raises(
        TypeError, match="estimator must be a minimand Regressor, Classifier or Ranker, not Lasso"
    ):
        mm.Tuned(Lasso()).fit(X, Y)


def test_weights_that_a_scorer_would_not_hear_are_refused():
    def deaf(model, X, y):
        return 0.0

    with pytest.raises(ValueError, match="scoring takes no sample_weight"):
        mm.Tuned(LASSO, scoring=deaf).fit(X, Y, sample_weight=np.ones(120))


def test_a_class_that_a_fold_cannot_learn_is_refused():
    y = np.repeat(["a", "b", "c"], [60, 58, 2])
    with pytest.raises(ValueError, match="without a sample of class 'c' to train on"):
        mm.Tuned(mm.Classifier(), alphas=3, cv=[(np.arange(118), [118, 119])]).fit(X, y)
    with pytest.raises(ValueError, match="no class labels"):
        mm.Tuned(mm.Classifier(), alphas=3).fit(X, Y + 0.5)


def test_before_fit():
    with pytest.raises(NotFittedError):
        mm.Tuned(LASSO).predict(X)
    with pytest.raises(NotFittedError):
        mm.Tuned(LASSO).plot()
