"""The public names, for type checkers and editors; __init__.py loads the same ones on demand."""

from .batches import fit_stream as fit_stream
from .classifier import Classifier as Classifier
from .regressor import Regressor as Regressor
