from swap import swapped

globals().update(swapped("sklearn.svm.tests.test_svm"))
