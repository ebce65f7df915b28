"""scikit-learn's test_glm of linear_model, on our drop-ins."""

from swap import swapped

globals().update(swapped("sklearn.linear_model._glm.tests.test_glm"))
