"""scikit-learn's test_spectral_embedding of manifold, on our drop-ins."""

from swap import swapped

globals().update(swapped("sklearn.manifold.tests.test_spectral_embedding"))
