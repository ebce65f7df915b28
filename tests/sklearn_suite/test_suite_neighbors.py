"""scikit-learn's test_neighbors of neighbors, on our drop-ins."""

from swap import swapped

globals().update(swapped("sklearn.neighbors.tests.test_neighbors"))
