"""scikit-learn's test_passive_aggressive of linear_model, on our drop-ins."""

from importlib.util import find_spec

from swap import swapped

_THEIRS = "sklearn.linear_model.tests.test_passive_aggressive"
if find_spec(_THEIRS):  # scikit-learn 1.10 has these classes no more
    globals().update(swapped(_THEIRS))
