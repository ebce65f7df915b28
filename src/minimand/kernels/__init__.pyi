"""The public names, for type checkers and editors; __init__.py loads the same ones on demand."""

from .._base.registry import Registry
from .algebra import Constant as Constant
from .algebra import Product as Product
from .algebra import Scaled as Scaled
from .algebra import Sum as Sum
from .base import Kernel as Kernel
from .degrees import ByDegree as ByDegree
from .distances import RBF as RBF
from .distances import Laplace as Laplace
from .distances import Matern as Matern
from .distances import Periodic as Periodic
from .from_features import kernel_of as kernel_of
from .given import Callable as Callable
from .given import Precomputed as Precomputed
from .psd import Definiteness as Definiteness
from .psd import check_psd as check_psd
from .structures.patterns import Graphlet as Graphlet
from .structures.patterns import ShortestPath as ShortestPath
from .structures.strings import Mismatch as Mismatch
from .structures.strings import Spectrum as Spectrum
from .structures.subsequence import Subsequence as Subsequence
from .structures.trees import SubsetTree as SubsetTree
from .structures.trees import SubTree as SubTree
from .structures.weisfeiler_lehman import WeisfeilerLehman as WeisfeilerLehman
from .transformed import Centered as Centered
from .transformed import Mapped as Mapped
from .transformed import Normalized as Normalized
from .transformed import On as On
from .vectors import Cosine as Cosine
from .vectors import Linear as Linear
from .vectors import Min as Min
from .vectors import Polynomial as Polynomial
from .vectors import VectorKernel as VectorKernel

REGISTRY: Registry[Kernel]
