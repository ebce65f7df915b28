"""The public names, for type checkers and editors; __init__.py loads the same ones on demand."""

from . import design as design
from . import losses as losses
from . import penalties as penalties
from . import solvers as solvers
from . import testing as testing
from .audit import certify as certify
from .certificate import Certificate as Certificate
from .estimators import Classifier as Classifier
from .estimators import Regressor as Regressor
from .explanation import explain as explain
from .history import History as History
from .losses import CrossEntropy as CrossEntropy
from .losses import Distance as Distance
from .losses import Gamma as Gamma
from .losses import GemanMcClure as GemanMcClure
from .losses import Huber as Huber
from .losses import Logistic as Logistic
from .losses import Loss as Loss
from .losses import Margin as Margin
from .losses import Poisson as Poisson
from .losses import RobustLoss as RobustLoss
from .losses import Squared as Squared
from .losses import SquaredHinge as SquaredHinge
from .losses import TanhMargin as TanhMargin
from .losses import TruncatedSquared as TruncatedSquared
from .losses import Tweedie as Tweedie
from .penalties import L1 as L1
from .penalties import L2 as L2
from .penalties import MCP as MCP
from .penalties import SCAD as SCAD
from .penalties import Box as Box
from .penalties import L1Ball as L1Ball
from .penalties import L2Ball as L2Ball
from .penalties import Lq as Lq
from .penalties import NonNegative as NonNegative
from .penalties import NoPenalty as NoPenalty
from .penalties import Penalty as Penalty
from .report import plot_history as plot_history
from .selection import Path as Path
from .selection import Tuned as Tuned
from .selection import alpha_max as alpha_max
from .selection import path as path
from .solvers import STOP as STOP

__version__: str
