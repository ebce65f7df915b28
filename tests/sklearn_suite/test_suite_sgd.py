from swap import swapped

globals().update(swapped("sklearn.linear_model.tests.test_sgd"))
