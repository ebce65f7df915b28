"""scikit-learn's test_svm of svm, on our drop-ins."""

from swap import swapped

globals().update(swapped("sklearn.svm.tests.test_svm"))
