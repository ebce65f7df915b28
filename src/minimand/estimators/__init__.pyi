"""The public names, for type checkers and editors; __init__.py loads the same ones on demand."""

from .classifier import Classifier as Classifier
from .regressor import Regressor as Regressor
from .stream import fit_stream as fit_stream
