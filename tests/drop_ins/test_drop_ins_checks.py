"""The drop-ins pass scikit-learn's conformance suite."""

import warnings

from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from minimand.sklearn import (
    ElasticNet,
    ElasticNetCV,
    GammaRegressor,
    HuberRegressor,
    Lasso,
    LassoCV,
    LassoLarsIC,
    LinearRegression,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    LogisticRegressionCV,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
    RidgeClassifier,
    RidgeCV,
    TweedieRegressor,
)

# Checks compare two fits to seven digits, so the fits must be that good.
_ESTIMATORS = [
    LinearRegression(),
    Ridge(),
    Ridge(solver="svd", fit_intercept=False),
    RidgeClassifier(),
    RidgeCV(),
    RidgeCV(cv=3),
    Lasso(alpha=0.05, tol=1e-12),
    ElasticNet(alpha=0.05, tol=1e-12),
    LassoCV(alphas=5, cv=3, tol=1e-12),
    ElasticNetCV(alphas=5, cv=3, tol=1e-12),
    LogisticRegression(tol=1e-12),
    LogisticRegression(l1_ratio=1.0, tol=1e-12),
    LogisticRegression(solver="liblinear", tol=1e-12),
    LassoLarsIC(),
    LogisticRegressionCV(Cs=3, cv=2, tol=1e-12),
    PoissonRegressor(tol=1e-12),
    GammaRegressor(tol=1e-12),
    TweedieRegressor(power=1.5, tol=1e-12),
    TweedieRegressor(),
    LinearSVC(tol=1e-15),
    LinearSVC(loss="hinge", tol=1e-9),
    LinearSVR(epsilon=0.1, tol=1e-12),
    QuantileRegressor(alpha=0.01),
    HuberRegressor(tol=1e-12),
]


def _expected_failures(estimator):
    """Checks that cannot hold, each with the reason."""
    if getattr(estimator, "cv", None) is not None or isinstance(
        estimator, RidgeCV | LogisticRegressionCV
    ):
        reason = "rows that are repeated or left out are divided into other folds"
        return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in _KINDS}
    if isinstance(estimator, Ridge | RidgeClassifier):
        reason = "n_iter_ is None, as in scikit-learn, whose own Ridge fails this check too"
        return {"check_non_transformer_estimators_n_iter": reason}
    return {}


_KINDS = ("dense", "sparse")


@parametrize_with_checks(_ESTIMATORS, expected_failed_checks=_expected_failures)
def test_sklearn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", FutureWarning)  # of the defaults of LogisticRegressionCV
        check(estimator)
