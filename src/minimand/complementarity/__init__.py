"""The dual side of fitted models."""

from .of_model import duality
from .tables import Constraint, Duality, SampleTable

__all__ = ["Constraint", "Duality", "SampleTable", "duality"]
