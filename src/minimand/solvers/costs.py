"""What an algorithm will cost, before it has run, in multiply-adds.

One unit is a multiply-add of a product X·w with a dense matrix that lies in memory. Two kinds of
numbers turn a problem into units:

- *rates*: how many units one elementary operation of a kind of work takes (`RATES`). They are the
  machine's, and ``python -m bench calibrate`` measures them all and prints them beside these.
- *counts*: how many steps, sweeps or products an algorithm needs. They are the algorithm's, and
  were measured by a survey of fits on random, correlated and badly scaled dense matrices and on
  texts, with n and d from 100 to 20,000 and alpha from 1e-6 to 1: the cheapest estimate named a
  solver within twice the time of the best one in nineteen cases of twenty.

Only the order of the estimates matters: "auto" takes the cheapest solver that accepts a problem.
"""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from ..design import DenseDesign
from ..penalties import Separable
from ..problem.objective import Objective
from .shape import Shape, heaviest, rough_spread

RATES = MappingProxyType(  # units per elementary operation; measured by `python -m bench calibrate`
    {
        "dense_product": 1.0,  # per stored number of X·w; the unit itself
        "sparse_product": 1.5,  # the same where zeros are not stored
        "dense_gram": 1 / 32,  # per multiply-add of XᵀHX
        "sparse_gram": 0.6,  # the same, over pairs of stored numbers of a row
        "factor": 1 / 64,  # per size³ of a Cholesky factor
        "dense_sweep": 1.2,  # per stored number that a sweep of dual ascent visits
        "sparse_sweep": 3.2,
        "row": 40.0,  # per row that it visits, beside the numbers in it
        "terms": 5.0,  # per row: the loss, its slope and its curvature
    }
)

# Counts ------------------------------------------------------------------------------------------
# Measured in the survey of the docstring above, unless a line says otherwise.
_LINEAR_SYSTEM_GRAMS = 3.0  # Grams whose time a closed form takes, with centring and refinement
# Grams and passes of a closed form through dense rows, whose Gram is one symmetric product of BLAS;
# measured at 50×500 to 2000×5000.
_ROW_SYSTEM_GRAMS, _ROW_SYSTEM_PASSES = 1.0, 14.0
_COMPUTED_PASSES = 5.0, 9.0  # passes over rows on demand: beside a Gram, or a Hessian of some rows
_NEWTON_STEPS = 8.0  # steps of Newton's method on a loss that is curved everywhere
_NEWTON_PRODUCTS = 20.0  # products XᵀHXv per such a step by conjugate gradients
_KRYLOV_READS = 4.0  # reads of a stored number per such a product, with what its vectors take
_PIECES_STEPS = 2.0, 6.0  # steps on a loss of pieces: least, and how many more where rows abound
_CROWDED_STEPS = 1.5, 190.0  # more steps per √weight where columns abound, and at most
_PIECES_PRODUCTS = 2.0, 6.0, 14.0  # products per step: least, most, more where columns abound
_HESSIANS = 2.0  # formed at most, where the steps between reuse an earlier one
_METRIC_ROWS = 10  # rows per column of the first metric of L-BFGS; measured at 1797×64 to 20000×50
_QUASI_STEPS = 10.0  # steps of L-BFGS from such a metric; measured there
_WORKING_SET_PASSES = 40.0  # passes over the data in a fit of a working set
_NO_ZEROS = 50.0  # times as many where no l1 part keeps columns out
_INTERIOR_STEPS = 20.0  # systems that an interior-point method solves
_INTERIOR_CALLS = 2.5e4  # units per such a system, whatever its size
_COMPILED_CALLS = 2e3  # the same where whole walks are compiled; measured at 150×4
_COMPILED_COLUMNS = 128  # columns, up to which they are; safeguard: LAPACK is faster beyond
_SCORES_CALLS = 5e5  # the same for the risers of k scores; measured: wine, iris
# Steps over all rounds of column generation, in those of a problem with its last columns,
# and passes over all columns; measured at 500×2000 to 2000×5000, hinge and absolute loss.
_COLUMN_STEPS, _COLUMN_PASSES = 60.0, 10.0
_CURVED_SWEEPS = 13.0  # sweeps of dual ascent on orthogonal rows, the slope of the loss continuous
_KINKED_SWEEPS = 13.0  # the same where it jumps
_KINKED_READS = 4.0, 5.0  # of a number per visit there, dense and sparse: corners are settled
_CLASS_SWEEPS = 80.0  # sweeps of dual ascent on class margins, most rows skipped; iris, digits
_LOGISTIC_SWEEPS = 7.5  # sweeps on orthogonal rows, the logistic loss
_UNEVEN_POWER = 0.65  # power of unequal curvatures by which sweeps grow
_COPY = 20.0  # units per number that is copied from columns to rows
_SIMPLEX_PIVOTS = 200.0  # passes per unknown of a linear program
_ROUNDS_OF_ROWS = 50.0, 500.0  # passes, and systems, of quadratic programs on a few rows
_GRAM_STEPS = 30.0  # proximal steps on a Gram; measured at 5000×200 with 100 scores
_PROXIMAL_STEPS = 200.0  # the same on the data; estimate
_DECOMPOSITION = 20.0  # products of the same size that a singular value decomposition takes
_HEAD_START = 2e6  # units granted to Newton: its digits beyond tol are worth a millisecond or two


# Work --------------------------------------------------------------------------------------------


def product(objective: Objective) -> float:
    """X·w, or Xᵀu."""
    kind = "sparse_product" if objective.design.sparse else "dense_product"
    return RATES[kind] * objective.design.reading * objective.design.nnz


def image(objective: Objective) -> float:
    """XᵀHXv: dense rows are read once for both products, sparse ones twice."""
    return (2.0 if objective.design.sparse else 1.0) * product(objective)


def terms(objective: Objective) -> float:
    """The loss, its slope and its curvature at every row."""
    return RATES["terms"] * objective.n_samples


def hessian(objective: Objective) -> float:
    """XᵀHX: a matrix product, or the squares of the lengths of sparse rows."""
    (n, d), nnz = objective.design.shape, objective.design.nnz
    if objective.design.sparse:
        return RATES["sparse_gram"] * nnz * min(d, nnz / max(n, 1))
    return RATES["dense_gram"] * nnz * d


def row_gram(objective: Objective) -> float:
    """XHXᵀ: a matrix product, or the squares of the lengths of sparse columns."""
    (n, d), nnz = objective.design.shape, objective.design.nnz
    if objective.design.sparse:
        return RATES["sparse_gram"] * (nnz * min(n, nnz / max(d, 1)) + n * n)
    return RATES["dense_gram"] * nnz * n


def factor(size: float) -> float:
    """The Cholesky factor of a matrix."""
    return RATES["factor"] * size**3


# Algorithms --------------------------------------------------------------------------------------


def linear_system(objective: Objective, size: int) -> float:
    """The Gram of the smaller side, unless it is known, and its factor."""
    n = max(objective.n_samples, 1)
    grams, passes = _LINEAR_SYSTEM_GRAMS, 0.0
    if objective.design.reading > 1.0:
        passes = _COMPUTED_PASSES[0]
    elif size == n < objective.n_features and not objective.design.sparse:
        grams, passes = _ROW_SYSTEM_GRAMS, _ROW_SYSTEM_PASSES
    if size == n and objective.facts.centred_row_gram is not None:
        products = 0.0
    elif objective.design.sparse:
        products = RATES["sparse_gram"] * objective.design.nnz**2 / n
    else:
        products = RATES["dense_gram"] * objective.design.nnz * size
    return grams * products + factor(size) + passes * product(objective)


def newton(objective: Objective, *, formed: bool) -> float:
    """Newton's method on a loss that is curved everywhere, by Cholesky or conjugate gradients."""
    k = objective.n_scores
    if formed:
        step = k * k * hessian(objective) + factor(k * objective.n_features)
    else:
        step = k * _NEWTON_PRODUCTS * _KRYLOV_READS * objective.design.nnz
    return _NEWTON_STEPS * (step + k * (2.0 * product(objective) + terms(objective)))


def rows_between(objective: Objective) -> int:
    """The step from one row to the next of the first metric of L-BFGS."""
    n, d = objective.design.shape
    return max(round(n / max(_METRIC_ROWS * d, 1)), 1)


def quasi_newton(objective: Objective) -> float:
    """L-BFGS from the inverse of a Hessian of some rows."""
    metric = hessian(objective) / rows_between(objective) + 2.0 * factor(objective.n_features)
    return metric + _QUASI_STEPS * 2.0 * (product(objective) + terms(objective))


def newton_on_some_rows(objective: Objective, share: float) -> float:
    """Newton's method on the squared loss: products, and the Hessian of a share of the rows."""
    sample = _LINEAR_SYSTEM_GRAMS * share * hessian(objective) + factor(objective.n_features)
    return sample + _COMPUTED_PASSES[1] * product(objective)


def newton_on_pieces(objective: Objective, form: Separable, *, formed: bool, reused: bool) -> float:
    """Newton's method where the curvature of the loss comes and goes, likewise."""
    shape = Shape(objective, form)
    root = float(np.sqrt(shape.weight))
    least, most = _PIECES_STEPS
    more, limit = _CROWDED_STEPS
    steps = least + min(most, root) + shape.crowded * min(more * root, limit)
    if formed:
        factors = min(steps, _HESSIANS) if reused else steps
        systems = factors * (hessian(objective) + factor(objective.n_features))
        return systems + steps * (2.0 * image(objective) + 4.0 * terms(objective))
    least, most, more = _PIECES_PRODUCTS
    products = least + min(float(np.sqrt(shape.steep)), most + more * shape.crowded)
    return steps * (products + 3.0) * image(objective)


def working_set(objective: Objective, *, zeros: bool) -> float:
    """Proximal Newton steps on some columns, and a look at all of them after each round.

    Without an l1 part (``zeros`` False) no column can be left out.
    """
    return (1.0 if zeros else _NO_ZEROS) * _WORKING_SET_PASSES * objective.design.nnz


def working_groups(objective: Objective, *, zeros: bool) -> float:
    """A working set of groups of columns; every score takes part."""
    return objective.n_scores * working_set(objective, zeros=zeros)


def interior_points(objective: Objective, size: int) -> float:
    """Systems of d unknowns, or of n where these are fewer."""
    gram = hessian(objective) if size == objective.n_features else row_gram(objective)
    calls = _COMPILED_CALLS if walks_compiled(objective) else _INTERIOR_CALLS
    return _INTERIOR_STEPS * (gram + factor(size) + calls + _around_a_system(objective))


def walks_compiled(objective: Objective) -> bool:
    """Whether interior points walk in compiled code, if they do so on the side of columns."""
    few = 0 < objective.n_features <= _COMPILED_COLUMNS
    return few and isinstance(objective.design, DenseDesign)


def interior_points_of_scores(objective: Objective) -> float:
    """Interior points of k scores that are coupled in every row: a Gram for every pair of them."""
    k = objective.n_scores
    grams = 0.5 * k * (k + 1) * (hessian(objective) + _INTERIOR_CALLS)
    system = factor(k * (objective.n_features + 1.0))
    around = k * (_INTERIOR_CALLS + _around_a_system(objective))
    return _INTERIOR_STEPS * (grams + system + _SCORES_CALLS + around)


def column_generation(objective: Objective, columns: float) -> float:
    """Interior points on more and more columns, up to so many."""
    n, d = objective.design.shape
    share = min(columns / max(d, 1), 1.0)
    gram = share * (row_gram(objective) if n < columns else share * hessian(objective))
    around = share * _around_a_system(objective) + _INTERIOR_CALLS
    steps = _COLUMN_STEPS * (gram + factor(min(n, columns)) + around)
    return steps + _COLUMN_PASSES * product(objective)


def _around_a_system(objective: Objective) -> float:
    """What a step of interior points takes beside its system: products, and slacks of every row."""
    return 2.0 * image(objective) + 8.0 * terms(objective)


def ascent_on_curves(objective: Objective, form: Separable) -> float:
    """Dual coordinate ascent for a loss of pieces whose slope is continuous."""
    shape = Shape(objective, form)
    return _HEAD_START + _CURVED_SWEEPS * shape.uneven**_UNEVEN_POWER * sweep(objective)


def ascent_on_kinks(objective: Objective, form: Separable) -> float:
    """Dual ascent for a loss with kinks: more reads, as rows go to their corners one by one."""
    shape = Shape(objective, form)
    reads = _KINKED_READS[shape.sparse]
    visits = reads * RATES[shape.sweep] * shape.nnz + RATES["row"] * shape.n
    return _KINKED_SWEEPS * shape.uneven**_UNEVEN_POWER * visits


def sweep(objective: Objective) -> float:
    """One sweep of dual ascent over all rows."""
    kind = "sparse_sweep" if objective.design.sparse else "dense_sweep"
    return RATES[kind] * objective.design.nnz + RATES["row"] * objective.n_samples


def ascent_on_logistic(objective: Objective, form: Separable) -> float:
    """Dual ascent for the logistic loss, with a copy of the rows if they do not lie together.

    Few rows among many columns are all but orthogonal, and then their weight does not matter.
    """
    n, d = objective.design.shape
    copied = objective.design.nnz if objective.design.row_copy_bytes else 0
    weight = float((rough_spread(objective) / form.l2).sum()) * heaviest(objective)
    sweeps = _LOGISTIC_SWEEPS * (1.0 + weight * min(1.0, n / max(d, 1)) ** 2) ** _UNEVEN_POWER
    visits = RATES["sparse_sweep"] * objective.design.nnz + RATES["row"] * n
    return _HEAD_START + sweeps * visits + _COPY * copied


def ascent_on_classes(objective: Objective, form: Separable) -> float:
    """Dual ascent for class margins, with a penalty that is the same for all classes."""
    shape = Shape(objective, Separable(form.l1[:, 0], form.l2[:, 0]))
    return _CLASS_SWEEPS * shape.uneven**_UNEVEN_POWER * sweep_over_classes(objective)


def sweep_over_classes(objective: Objective) -> float:
    """One sweep of it: k adjacent numbers are read for every stored one."""
    return objective.n_scores * sweep(objective)


def newton_on_runs(objective: Objective) -> float:
    """Newton's method for a loss over runs of rows: a Gram, or products by sorted rows."""
    n, d = objective.design.shape
    return _NEWTON_STEPS * (_NEWTON_PRODUCTS * image(objective) + RATES["row"] * n * min(d, 30))


def proximal_steps(objective: Objective, *, formed: bool) -> float:
    """Proximal steps on a matrix of coefficients: on its Gram, or three passes over the data each.

    A product of matrices takes the rate of a Gram; a decomposition of W some of them.
    """
    d, k = objective.n_features, objective.n_scores
    rate = RATES["dense_gram"]
    decomposition = _DECOMPOSITION * rate * d * k * min(d, k)
    passes = max(rate * k, 1.0) * product(objective) + k * terms(objective)
    if not formed:
        return _PROXIMAL_STEPS * (3.0 * passes + decomposition)
    steps = _GRAM_STEPS * (rate * d * d * k + decomposition)
    return hessian(objective) + steps + 6.0 * passes


def linear_program(objective: Objective) -> float:
    """The simplex method on the dual, a row per feature."""
    n, d = objective.design.shape
    return _SIMPLEX_PIVOTS * (objective.design.nnz + n) * (d + 10.0)


def programs_on_rows(objective: Objective) -> float:
    """Quadratic programs on the rows with the largest residuals."""
    passes, systems = _ROUNDS_OF_ROWS
    d = objective.n_features + 2.0
    return passes * objective.design.nnz + systems * d * d * (d + 100.0)


# Share of a dual ascent that classes in one batch pay once, dense and sparse; measured with 10 to
# 100 classes at 5000×50, 2000×500 and 5000 texts. Rows that one class skips are read for others.
READ_ONCE_KINKS = 0.2, 0.3
READ_ONCE_CURVES = 0.15, 0.55
READ_ONCE_LOGISTIC = 0.45, 0.55

# What they cost at least, per stored number of the data, whatever its shape: a solver that cannot
# be cheaper than one that accepts is not asked.
LEAST_WORKING_SET = _WORKING_SET_PASSES
LEAST_ASCENT = min(
    _CURVED_SWEEPS * RATES["dense_sweep"],
    _KINKED_SWEEPS * _KINKED_READS[0] * RATES["dense_sweep"],
    _LOGISTIC_SWEEPS * RATES["sparse_sweep"],
)
LEAST_ASCENT_ON_SMOOTH = _HEAD_START * (1.0 - max(*READ_ONCE_CURVES, *READ_ONCE_LOGISTIC))
LEAST_INTERIOR_POINTS = 2.0 * _INTERIOR_STEPS
LEAST_COLUMN_GENERATION = _COLUMN_PASSES
LEAST_COLUMN_CALLS = _COLUMN_STEPS * _INTERIOR_CALLS  # whatever the data
LEAST_LINEAR_PROGRAM = 10.0 * _SIMPLEX_PIVOTS
LEAST_PROGRAMS_ON_ROWS = _ROUNDS_OF_ROWS[0]
