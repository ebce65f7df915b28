from swap import swapped

globals().update(swapped("sklearn.manifold.tests.test_spectral_embedding"))
