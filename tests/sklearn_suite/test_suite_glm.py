from swap import swapped

globals().update(swapped("sklearn.linear_model._glm.tests.test_glm"))
