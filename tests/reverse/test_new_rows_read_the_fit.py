"""Models without y are what their fit left: parameters that are set later are for the next fit."""

import numpy as np
import pytest

import minimand as mm

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 4))
NEW = rng.standard_normal((7, 4))
LABELS = np.digitize(X[:, 0], [-0.5, 0.5])

MODELS = {
    "PCA": (mm.PCA(2, whiten=True), {"whiten": False, "center": False}),
    "KernelPCA": (mm.KernelPCA(2, kernel="rbf"), {"pre_image": "nope", "kernel": "nope"}),
    "NormalizedPCA": (mm.NormalizedPCA(2, kernel="rbf"), {"kernel": "nope"}),
    "KMeans": (mm.KMeans(3, random_state=0), {"distance": "nope"}),
    "SoftKMeans": (mm.SoftKMeans(3, random_state=0), {}),
    "KernelKMeans": (mm.KernelKMeans(3, kernel="rbf", random_state=0), {"kernel": "nope"}),
    "NormalizedCut": (mm.NormalizedCut(3, kernel="rbf", random_state=0), {"kernel": []}),
    "KNNClassifier": (mm.KNNClassifier(3), {"n_neighbors": 1, "weights": "distance"}),
    "KNNRegressor": (mm.KNNRegressor(3), {"n_neighbors": -1, "weights": "nope"}),
    "Tuned": (mm.Tuned(mm.Regressor(), alphas=3, cv=3), {"estimator": None, "scoring": "nope"}),
}
READ = ("predict", "predict_proba", "transform", "decision_function")


@pytest.mark.parametrize(
    "kind",
    [mm.KernelKMeans, mm.NormalizedCut, mm.KernelPCA, mm.KNNClassifier, mm.Agglomerative],
)
def test_a_kernel_that_others_hold_is_not_changed(kind):
    kernel = mm.RBF(tau=1.0)
    model = kind(2, kernel=kernel)
    assert model.set_params(kernel__tau=2.0).kernel.tau == 2.0
    assert kernel.tau == 1.0
    with pytest.raises(ValueError, match="Invalid parameter 'width'"):
        model.set_params(width=1)


def readings(model):
    """What the model says of new rows."""
    found = {name: getattr(model, name)(NEW) for name in READ if hasattr(model, name)}
    if hasattr(model, "inverse_transform"):
        found["inverse_transform"] = model.inverse_transform(np.eye(2))
    if hasattr(model, "kneighbors"):
        found["kneighbors"] = model.kneighbors(NEW)[1]
    return found


@pytest.mark.parametrize("name", MODELS)
def test_parameters_of_the_next_fit_are_not_read(name):
    estimator, changes = MODELS[name]
    model = estimator.fit(X, LABELS)
    before = readings(model)
    assert before
    for parameter, value in {"tol": "nope", "n_clusters": 7, "n_components": 1, **changes}.items():
        if parameter in model.get_params(deep=False):
            setattr(model, parameter, value)
    after = readings(model)
    for what, values in before.items():
        np.testing.assert_array_equal(after[what], values, err_msg=what)
