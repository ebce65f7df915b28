"""Compiled kernels of minimand: products, moments, Gram matrices, coordinate descent.

Matrices are float32 or float64 and never copied; index arrays are int32 or int64; every vector is
a C-contiguous float64 array. A wrong type raises TypeError, a wrong size, layout or index
ValueError.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Vector = NDArray[np.float64]
_Matrix = NDArray[Any]  # float32 or float64
_Index = NDArray[Any]  # int32 or int64

def watch(
    stop: Callable[[], bool], give_up: Callable[[], bool], raise_: Callable[[], None]
) -> None: ...
def get_num_threads() -> int: ...
def set_num_threads(count: int) -> None: ...
def ask_for_sharers(hook: Callable[[], int]) -> None: ...

class Compressed:
    """A CSR or CSC matrix whose sizes and indices are checked once.

    The major axis is the rows of a CSR and the columns of a CSC.
    """

    def __init__(self, indptr: _Index, indices: _Index, data: _Matrix, n_minor: int) -> None: ...

# Sparse.
def gather(matrix: Compressed, x: _Vector) -> _Vector: ...
def gather_picked(matrix: Compressed, x: _Vector, majors: NDArray[np.int64]) -> _Vector: ...
def scatter(matrix: Compressed, x: _Vector) -> _Vector: ...
def scatter_picked(matrix: Compressed, x: _Vector, majors: NDArray[np.int64]) -> _Vector: ...
def transpose(
    matrix: Compressed, indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any]
) -> None: ...
def pick_minors(
    matrix: Compressed,
    slot: _Index,
    indptr: NDArray[Any],
    indices: NDArray[Any],
    data: NDArray[Any],
) -> None: ...
def append_minor(
    matrix: Compressed,
    value: float,
    indptr: NDArray[Any],
    indices: NDArray[Any],
    data: NDArray[Any],
) -> None: ...
def curvature_product(
    matrix: Compressed,
    v: _Vector,
    shift: float,
    h: _Vector,
) -> tuple[_Vector, _Vector]: ...
def row_products(left: Compressed, right_columns: Compressed, sums: _Vector) -> None: ...
def moments_major(matrix: Compressed, h: _Vector) -> tuple[_Vector, _Vector]: ...
def moments_minor(matrix: Compressed, h: _Vector) -> tuple[_Vector, _Vector]: ...
def gram_minor(matrix: Compressed, h: _Vector, slot: _Index, n_slots: int) -> _Vector: ...
def gram_major(
    matrix: Compressed,
    h: _Vector,
    cols: NDArray[np.int64],
) -> _Vector: ...

# Dense: rows or columns must be contiguous.
def dense_matvec(X: _Matrix, w: _Vector) -> _Vector: ...
def dense_rmatvec(X: _Matrix, u: _Vector) -> _Vector: ...
def dense_curvature_product(
    X: _Matrix, v: _Vector, shift: float, h: _Vector
) -> tuple[_Vector, _Vector]: ...
def dense_moments(X: _Matrix, h: _Vector) -> tuple[_Vector, _Vector]: ...
def dense_gram(X: _Matrix, h: _Vector) -> _Vector: ...
def dense_covariance(X: _Matrix, h: _Vector, centre: _Vector) -> tuple[_Vector, _Vector]: ...

# Several scores a row: z, u, t and p are (n, k), y are class numbers.
def softmax(z: _Vector) -> _Vector: ...
def softmax_value(z: _Vector, y: NDArray[np.int64]) -> _Vector: ...
def softmax_gradient(z: _Vector, y: NDArray[np.int64]) -> _Vector: ...
def softmax_terms(z: _Vector, y: NDArray[np.int64]) -> tuple[_Vector, _Vector, _Vector]: ...
def softmax_sums(
    z: _Vector, shift: _Vector, y: NDArray[np.int64], mass: _Vector
) -> tuple[float, _Vector, _Vector, _Vector]: ...
def softmax_relative_entropy(z: _Vector, u: _Vector, y: NDArray[np.int64]) -> _Vector: ...
def simplex_times(p: _Vector, scale: _Vector, t: _Vector) -> _Vector: ...
def scale_rows(t: _Vector, factors: _Vector) -> _Vector: ...
def simplex_product(
    matrix: Compressed, v: _Vector, p: _Vector, scale: _Vector, single: bool = False
) -> _Vector: ...
def dense_simplex_product(
    X: _Matrix, v: _Vector, p: _Vector, scale: _Vector, single: bool = False
) -> _Vector: ...
def count_nonzeros(X: _Matrix, counts: NDArray[np.int64]) -> None: ...
def copy_nonzeros(
    X: _Matrix, starts: NDArray[np.int32], positions: NDArray[np.int32], values: _Matrix
) -> None: ...

# Coordinate descent: w (and q of the column forms) change in place.
def cd_gram(
    G: _Vector,
    q: _Vector,
    w: _Vector,
    l1: _Vector,
    l2: _Vector,
    max_epochs: int,
    tol: float,
    bounds: tuple[_Vector, _Vector] | None = None,
) -> tuple[int, float]: ...
def cd_columns(
    matrix: Compressed,
    cols: NDArray[np.int64],
    h: _Vector,
    q: _Vector,
    w: _Vector,
    l1: _Vector,
    l2: _Vector,
    centre: bool,
    max_epochs: int,
    tol: float,
    bounds: tuple[_Vector, _Vector] | None = None,
    moments: _Vector | None = None,
) -> tuple[float, int, float]: ...
def cd_columns_dense(
    X: _Matrix,
    cols: NDArray[np.int64],
    h: _Vector,
    q: _Vector,
    w: _Vector,
    l1: _Vector,
    l2: _Vector,
    centre: bool,
    max_epochs: int,
    tol: float,
    bounds: tuple[_Vector, _Vector] | None = None,
) -> tuple[float, int, float]: ...

# Scalars.
def exp(x: _Vector) -> _Vector: ...
def excess(x: _Vector) -> _Vector: ...
def log1p(x: _Vector) -> _Vector: ...
def logistic_terms(z: _Vector, y: _Vector) -> tuple[_Vector, _Vector, _Vector]: ...
def logistic_derivatives(z: _Vector, y: _Vector) -> tuple[_Vector, _Vector]: ...
def binary_relative_entropy(q: _Vector, z: _Vector) -> _Vector: ...
def residual_rows(
    Z: _Vector, y: _Vector, mass: _Vector, centre: bool, shifts: _Vector
) -> tuple[_Vector, _Vector]: ...
def residual_shift(z: _Vector, y: _Vector, mass: _Vector) -> float: ...
def huber_scale(r: _Vector, mass: _Vector, knot: float) -> tuple[float, float]: ...
def separable_value(l1: _Vector, l2: _Vector, w: _Vector) -> float: ...
def separable_young(l1: _Vector, l2: _Vector, w: _Vector, v: _Vector) -> _Vector: ...
def largest_scale(v: _Vector, limit: _Vector) -> float: ...
def dot(a: _Vector, b: _Vector) -> float: ...
def add(to: _Vector, factor: float, more: _Vector) -> None: ...

# A piecewise quadratic function: knots, slopes, curvatures, slopes left of knots, values at knots.
_Pieces = tuple[_Vector, _Vector, _Vector, _Vector, _Vector]

def piecewise_terms(pieces: _Pieces, t: _Vector) -> tuple[_Vector, _Vector, _Vector]: ...
def piecewise_young(pieces: _Pieces, t: _Vector, v: _Vector) -> _Vector: ...
def piecewise_prox(pieces: _Pieces, t: _Vector, step: _Vector) -> _Vector: ...
def piecewise_shift(
    pieces: _Pieces, t: _Vector, sign: _Vector, mass: _Vector
) -> tuple[float, float]: ...

# Dual coordinate ascent: sign, shift, mass and squares of the rows; scalars: b, its
# step, the number of active rows, the threshold; intercept: whether free, and the reach of t.
_Scalars = tuple[float, float, int, float]
_Rows = tuple[_Vector, _Vector, _Vector, _Vector]
_Psi = _Pieces | str  # "softplus"
_SmoothPsi = _Psi | tuple[float, _Vector, _Vector]  # a, size, single

def dual_rows(
    matrix: Compressed,
    psi: _Psi,
    rows: _Rows,
    inverse: _Vector,
    intercept: tuple[bool, float],
    v: _Vector,
    w: _Vector,
    order: NDArray[np.uint32],
    scalars: _Scalars,
    epochs: int,
    tolerance: float,
    seed: int,
) -> tuple[_Scalars, float, float]: ...
def dual_rows_dense(
    X: _Matrix,
    psi: _Psi,
    rows: _Rows,
    inverse: _Vector,
    intercept: tuple[bool, float],
    v: _Vector,
    w: _Vector,
    order: NDArray[np.uint32],
    scalars: _Scalars,
    epochs: int,
    tolerance: float,
    seed: int,
) -> tuple[_Scalars, float, float]: ...

# The same for several classes at once; matrices with a class per column are given as vectors. rows:
# pull, shift and squares; classes: reach, target and whether the intercepts are free; clock: b,
# their steps, thresholds and gaps.
def dual_batch(
    matrix: Compressed,
    psi: _Psi,
    rows: tuple[_Vector, _Vector, _Vector],
    inverse: _Vector,
    classes: tuple[_Vector, _Vector, bool],
    v: _Vector,
    w: _Vector,
    clock: _Vector,
    active: NDArray[np.uint8],
    epochs: int,
    seed: int,
) -> tuple[float, bool]: ...
def dual_batch_dense(
    X: _Matrix,
    psi: _Psi,
    rows: tuple[_Vector, _Vector, _Vector],
    inverse: _Vector,
    classes: tuple[_Vector, _Vector, bool],
    v: _Vector,
    w: _Vector,
    clock: _Vector,
    active: NDArray[np.uint8],
    epochs: int,
    seed: int,
) -> tuple[float, bool]: ...
def row_squares(matrix: Compressed, inverse: _Vector) -> _Vector: ...
def row_squares_dense(X: _Matrix, inverse: _Vector) -> _Vector: ...

# The same for ordered class margins: y, cost, weights, offset (empty: none), mass and squares;
# changed in place: u, its mean, W, b and the order; clock: the step of b, the active rows, the
# threshold.
_ClassRows = tuple[NDArray[np.int64], _Matrix, _Vector, _Matrix, _Vector, _Vector]
_ClassState = tuple[_Matrix, _Matrix, _Matrix, _Vector, NDArray[np.uint32]]
_ClassClock = tuple[float, int, float]

def class_rows(
    matrix: Compressed,
    arrays: _ClassRows,
    inverse: _Vector,
    intercept: tuple[bool, float],
    changed: _ClassState,
    clock: _ClassClock,
    epochs: int,
    tolerance: float,
    seed: int,
) -> tuple[_ClassClock, float, float]: ...
def class_rows_dense(
    X: _Matrix,
    arrays: _ClassRows,
    inverse: _Vector,
    intercept: tuple[bool, float],
    changed: _ClassState,
    clock: _ClassClock,
    epochs: int,
    tolerance: float,
    seed: int,
) -> tuple[_ClassClock, float, float]: ...
def project_classes(u: _Matrix, y: NDArray[np.int64], weights: _Vector) -> _Matrix: ...

# A pass of the structured perceptron; arrays: offsets, labels, fixed scores, steps. Of the result:
# count, sequences visited, sequences and tokens that were wrong, the largest squared update.
_ChainRows = tuple[NDArray[np.int64], NDArray[np.int64], _Vector, _Vector]

def chain_perceptron(
    matrix: Compressed,
    arrays: _ChainRows,
    n_labels: int,
    ends: bool,
    order: NDArray[np.uint32],
    weights: _Vector,
    lag: _Vector,
    count: float,
) -> tuple[float, int, int, int, float]: ...
def chain_perceptron_dense(
    X: _Matrix,
    arrays: _ChainRows,
    n_labels: int,
    ends: bool,
    order: NDArray[np.uint32],
    weights: _Vector,
    lag: _Vector,
    count: float,
) -> tuple[float, int, int, int, float]: ...

# Pairs of rows of a run whose scores do not differ by the margin; see losses/joint/pairs.py.
def pair_order(z: _Vector, units: NDArray[np.int64], order: NDArray[np.uint32]) -> None: ...
def pair_sums(
    z: _Vector,
    level: NDArray[np.int32],
    units: NDArray[np.int64],
    order: NDArray[np.uint32],
    values: _Vector,
    margin: float,
) -> tuple[_Vector, _Vector, _Vector]: ...
def pair_hinges(
    margin: float,
    z: _Vector,
    level: NDArray[np.int32],
    units: NDArray[np.int64],
    order: NDArray[np.uint32],
) -> tuple[_Vector, _Vector, _Vector, _Vector, _Vector]: ...

# Chains of labels; scores: unary (rows, k), transitions (k, k), start and stop (k,), and edges
# (rows, k, k) or empty. Labels are filled in; see outputs/chain.py.
_ChainScores = tuple[_Vector, _Vector, _Vector, _Vector, _Vector]

class ChainPass:
    def __init__(self, offsets: NDArray[np.int64], k: int) -> None: ...
    def log_partition(self, scores: _ChainScores) -> _Vector: ...
    def marginals(
        self, scores: _ChainScores, mass: _Vector
    ) -> tuple[_Vector, _Vector, _Vector]: ...
    def slopes(
        self, scores: _ChainScores, labels: NDArray[np.int64], mass: _Vector
    ) -> tuple[_Vector, _Vector, _Vector, _Vector]: ...
    def details(self, scores: _ChainScores) -> tuple[_Vector, _Vector, _Vector, _Vector]: ...
    def entropy(self, scores: _ChainScores) -> _Vector: ...
    def product(
        self, unary: _Vector, transitions: _Vector, start: _Vector, stop: _Vector
    ) -> tuple[_Vector, _Vector]: ...

class SparseTokens:
    def __init__(
        self,
        offsets: NDArray[np.int64],
        labels: NDArray[np.int64],
        mass: _Vector,
        tokens: tuple[NDArray[Any], ...],
        columns: int,
        singles: int,
        k: int,
    ) -> None: ...
    def slope(
        self,
        table: _Vector,
        singles: _Vector,
        transitions: _Vector,
        start: _Vector,
        stop: _Vector,
    ) -> tuple[_Vector, _Vector, _Vector]: ...
    def curvature(
        self,
        chosen: tuple[NDArray[Any], ...],
        count: int,
        rows: NDArray[np.int64],
        mass: _Vector,
        probabilities: _Vector,
    ) -> _Vector: ...

def chain_best(
    offsets: NDArray[np.int64], scores: _ChainScores, labels: NDArray[np.int64]
) -> _Vector: ...
def chain_several_best(
    offsets: NDArray[np.int64], scores: _ChainScores, count: int, labels: NDArray[np.int64]
) -> _Vector: ...
def chain_sample(
    offsets: NDArray[np.int64],
    scores: _ChainScores,
    uniform: _Vector,
    labels: NDArray[np.int64],
) -> None: ...

# Values of kernel functions of all pairs of rows, in tables of float32 or float64.
def gaussians(
    table: _Matrix, row_squares: _Vector, column_squares: _Vector, factor: float
) -> None: ...
def powers(table: _Matrix, c: float, degree: int) -> None: ...
def mirror_upper(square: _Matrix) -> None: ...
def gaussians_of_differences(x: _Matrix, z: _Matrix, factor: float, table: _Matrix) -> None: ...
def laplacians(x: _Matrix, z: _Matrix, factor: float, table: _Matrix) -> None: ...
def sums_of_differences(squared: bool, x: _Matrix, z: _Matrix, table: _Matrix) -> None: ...
def sums_of_minima(x: _Matrix, z: _Matrix, table: _Matrix) -> None: ...

# Clusters. facts: the measure (0 squares, 1 gaps), the weights and the factors of rows, and the
# middle of the data, each of which may be empty; uniforms: a row for every centre but the first.
_RowFacts = tuple[int, _Vector, _Vector, _Vector]
_ClusteredRows = Compressed | _Matrix

class CenterSearch:
    """The nearest centre of every row, found anew while the centres move."""

    def __init__(
        self, X: _ClusteredRows, clusters: int, facts: _RowFacts, remember: bool
    ) -> None: ...
    def assign(self, centers: _Vector) -> tuple[int, float, bool]: ...
    def reset(self) -> None: ...
    def relabel(self, row: int, cluster: int) -> None: ...
    def distances(self) -> _Vector: ...
    def sums(self) -> tuple[_Vector, _Vector]: ...
    def labels(self) -> NDArray[np.int32]: ...

def seed_rows(
    X: _ClusteredRows, clusters: int, facts: _RowFacts, first: int, uniforms: _Vector
) -> NDArray[np.int64]: ...
def learn_means(
    X: _ClusteredRows, weights: _Vector, centers: _Vector, counts: _Vector
) -> NDArray[np.int32]: ...
def improve_rows(
    X: _ClusteredRows,
    weights: _Vector,
    centers: _Vector,
    masses: _Vector,
    labels: NDArray[np.int32],
) -> tuple[NDArray[np.int32], int]: ...

# Steps over rows. rule: 0 plain, 1 adaptive, 2 perceptron, 3 PA-I, 4 PA-II; slopes: kind (0 pieces,
# 1 logistic, 2 given), pieces, slopes given, left at kinks; rows: sign, shift, weight, order;
# penalty: l1, l2; options: eta, t0, power, tick, average_from, average_power, the intercept's share
# of a step, its largest step, whether to add up what rows pay, whether to rescale coefficients.
MODELS_TOGETHER: int  # models of a group, whose numbers are adjacent
SHARED_SCALARS: int  # numbers that the models of a group share, before their own
SCALARS_PER_MODEL: int
_Slopes = tuple[int, _Pieces, _Vector, bool]
_LearnedRows = tuple[_Vector, _Vector, _Vector, NDArray[np.uint32]]
_StepOptions = tuple[float, float, float, float, float, float, float, float, float, bool]

def learn_rows(
    matrix: Compressed,
    rule: int,
    models: tuple[int, int, int],
    slopes: _Slopes,
    rows: _LearnedRows,
    penalty: tuple[_Vector, _Vector],
    options: _StepOptions,
    fields: _Vector,
    scalars: _Vector,
    moves: _Vector,
) -> None: ...
def learn_rows_dense(
    X: _Matrix,
    rule: int,
    models: tuple[int, int, int],
    slopes: _Slopes,
    rows: _LearnedRows,
    penalty: tuple[_Vector, _Vector],
    options: _StepOptions,
    fields: _Vector,
    scalars: _Vector,
    moves: _Vector,
) -> None: ...

# Passes that end by themselves. when: seed, whether to shuffle, tol, patience, most passes, whether
# the objective has the ridge; course: passes, best objective, passes since then, whether finite.
_EpochRule = tuple[int, bool, float, int, int]
_EpochCourse = tuple[int, float, int, bool]

def learn_epochs(
    matrix: Compressed,
    rule: int,
    models: tuple[int, int, int],
    slopes: _Slopes,
    rows: _LearnedRows,
    penalty: tuple[_Vector, _Vector],
    options: _StepOptions,
    fields: _Vector,
    scalars: _Vector,
    moves: _Vector,
    order: NDArray[np.uint32],
    when: _EpochRule,
    course: _EpochCourse,
) -> _EpochCourse: ...
def learn_epochs_dense(
    X: _Matrix,
    rule: int,
    models: tuple[int, int, int],
    slopes: _Slopes,
    rows: _LearnedRows,
    penalty: tuple[_Vector, _Vector],
    options: _StepOptions,
    fields: _Vector,
    scalars: _Vector,
    moves: _Vector,
    order: NDArray[np.uint32],
    when: _EpochRule,
    course: _EpochCourse,
) -> _EpochCourse: ...
def shuffle_rows(order: NDArray[np.uint32], seed: int) -> None: ...

# Steps on the support: w changes in place.
class SupportNewton:
    def __init__(self) -> None: ...
    def step(
        self,
        G: _Vector,
        q: _Vector,
        w: _Vector,
        l1: _Vector,
        l2: _Vector,
        bounds: tuple[_Vector, _Vector] | None = None,
    ) -> bool: ...

# Sweeps and Newton steps in turn until a sweep gains no more than tol; up to 300 columns an active
# set then makes the minimiser exact.
def minimise_gram(
    G: _Vector,
    q: _Vector,
    w: _Vector,
    l1: _Vector,
    l2: _Vector,
    tol: float,
    bounds: tuple[_Vector, _Vector] | None = None,
    beside: tuple[_Vector, float] | None = None,
) -> None: ...
def along_support(
    w: _Vector,
    step: _Vector,
    slope: _Vector,
    l1: _Vector,
    l2: _Vector,
    bounds: tuple[_Vector, _Vector] | None,
    bend: Callable[[_Vector], float],
) -> _Vector: ...

# Paths: problems that differ in their penalty alone.
def groups_on_gram(
    G: _Vector,
    q: _Vector,
    origin: _Vector,
    square: float,
    alphas: _Vector,
    starts: NDArray[np.int64],
    norm: _Vector,
    l1: _Vector,
    l2: _Vector,
    coefs: _Vector,
    scores: int,
    first: int,
    started: bool,
    target: float,
    rounds: int,
) -> int: ...

class GroupColumns:
    def __init__(self, A: _Vector, starts: NDArray[np.int64], scores: int) -> None: ...
    def grow(self, A: _Vector, starts: NDArray[np.int64]) -> None: ...
    def round(self, rounded: bool) -> None: ...
    def solve(
        self,
        h: _Vector,
        centred: bool,
        q: _Vector,
        origin: _Vector,
        square: float,
        alphas: _Vector,
        norm: _Vector,
        l1: _Vector,
        l2: _Vector,
        coefs: _Vector,
        image: _Vector,
        first: int,
        started: bool,
        target: float,
        rounds: int,
    ) -> int: ...

def groups_columns(
    matrix: Compressed,
    cols: NDArray[np.int64],
    h: _Vector,
    scale: _Vector,
    inverse: _Vector,
    q: _Vector,
    w: _Vector,
    shift: _Vector,
    starts: NDArray[np.int64],
    norm: _Vector,
    l1: _Vector,
    l2: _Vector,
    max_epochs: int,
    tol: float,
) -> tuple[int, float]: ...
def groups_columns_dense(
    X: _Vector,
    cols: NDArray[np.int64],
    h: _Vector,
    scale: _Vector,
    inverse: _Vector,
    q: _Vector,
    w: _Vector,
    shift: _Vector,
    starts: NDArray[np.int64],
    norm: _Vector,
    l1: _Vector,
    l2: _Vector,
    max_epochs: int,
    tol: float,
) -> tuple[int, float]: ...

class PathOnGram:
    def __init__(self) -> None: ...
    def solve(
        self,
        G: _Vector,
        q: _Vector,
        square: float,
        alphas: _Vector,
        l1: _Vector,
        l2: _Vector,
        coefs: _Vector,
        first: int,
        started: bool,
        target: float,
        rounds: int,
    ) -> int: ...
    def forget(self) -> None: ...

class PathOnCurves:
    def __init__(self) -> None: ...
    def solve(
        self,
        X: _Matrix,
        rows: tuple[_Vector, _Vector, _Vector | None, bool],
        older: tuple[_Vector, _Vector, _Vector, float],
        problems: tuple[_Vector, _Vector, _Vector, _Vector],
        first: int,
        started: bool,
        goal: tuple[float, float, float, int, int],
    ) -> int: ...
    def forget(self) -> None: ...

def steps_ahead(before: float, last: float, alpha: float) -> float: ...
def drawn_on(before: _Vector, last: _Vector, ahead: float) -> _Vector: ...
def gap_of_squares(
    square: float, slope: _Vector, w: _Vector, l1: _Vector, l2: _Vector
) -> tuple[float, float, float]: ...
def gaps_of_squares(
    squares: _Vector, slopes: _Vector, w: _Vector, l1: _Vector, l2: _Vector, found: _Vector
) -> None: ...
def gaps_of_groups(
    squares: _Vector,
    slopes: _Vector,
    w: _Vector,
    starts: NDArray[np.int64],
    norm: _Vector,
    l2: _Vector,
    found: _Vector,
) -> None: ...

# Interior points. Risers are (base, side, knot, bend, height, where, weight, share, dual, primal).
_Risers = tuple[
    _Vector, _Vector, _Vector, _Vector, _Vector, NDArray[np.int64], _Vector, float, _Vector, _Vector
]
_Course = tuple[float, int, float, float]

# X, mass, sign, columns, pull_b, intercept, all_lines, samples, features.
_Interior = tuple[
    _Matrix,
    _Vector,
    _Vector,
    tuple[_Vector, _Vector, _Vector, _Vector, NDArray[np.uint8]],
    float,
    bool,
    bool,
    _Risers,
    _Risers,
]

def interior_walk(
    problem: _Interior,
    w: _Vector,
    t: _Vector,
    b: float,
    limits: tuple[float, float, int, int, float],
    course: _Course,
) -> tuple[float, int, float, float, bool, bool, _Course]: ...
def interior_corner(
    problem: _Interior,
    w: _Vector,
    t: _Vector,
    b: float,
    scale: tuple[float, float, float, float],
    theta: _Vector,
) -> tuple[float, bool]: ...

# Newton's steps for the scale of the Huber loss too: rows are y, y without the offset, mass; w, z
# and theta change in place; b, sigma, value, steps, settled, near, aimed, singular.
def joint_steps(
    X: _Matrix,
    rows: tuple[_Vector, _Vector, _Vector],
    c: _Vector,
    centre: _Vector,
    epsilon: float,
    intercept: bool,
    w: _Vector,
    z: _Vector,
    theta: _Vector,
    b: float,
    sigma: float,
    near: float,
    most: int,
) -> tuple[float, float, float, int, bool, bool, bool, bool]: ...

class KeptHessian:
    def __init__(self, X: _Matrix, centre: _Vector, intercept: bool) -> None: ...
    def at(self, rates: _Vector) -> tuple[_Vector, _Vector]: ...

# Newton's steps on few columns: rows are mass, sign, shift; w changes in place.
def smooth_steps(
    X: _Matrix,
    psi: _SmoothPsi,
    rows: tuple[_Vector, _Vector, _Vector],
    l2: _Vector,
    l1: _Vector,
    centre: _Vector,
    intercept: bool,
    w: _Vector,
    b: float,
    near: float,
    most: int,
    primal: _Vector,
    models: _Vector,
) -> tuple[float, int, bool]: ...

# how: intercepts, near bounds a gap (else what a step gains), Hessians may be formed, products
def score_steps(
    X: _Matrix,
    y: NDArray[np.int64],
    mass: _Vector,
    l2: _Matrix,
    mean: _Vector,
    size: _Vector,
    how: tuple[bool, bool, bool, int],
    w: _Matrix,
    b: _Vector,
    z: _Matrix,
    near: float,
    most: int,
    primal: _Vector,
    models: _Vector,
) -> tuple[int, bool]: ...

# L-BFGS steps; centre, inverse and total belong to the Hessian of the first metric.
def quasi_newton(
    X: _Matrix,
    psi: _SmoothPsi,
    rows: tuple[_Vector, _Vector, _Vector],
    l2: _Vector,
    centre: _Vector,
    intercept: bool,
    inverse: _Matrix,
    total: float,
    w: _Vector,
    b: float,
    near: float,
    most: int,
    primal: _Vector,
    models: _Vector,
) -> tuple[float, int, bool]: ...

# Kernel machines.
def box_steps(
    rows: _Matrix,
    box: tuple[_Vector, _Vector, _Vector, _Vector, NDArray[np.uint8]],
    balanced: bool,
    a: _Vector,
    f: _Vector,
    goal: float,
    block: int,
    most_blocks: int,
) -> tuple[float, int, int]: ...
def settle_boxes(
    matrix: _Matrix,
    places: tuple[NDArray[np.uint32], NDArray[np.int64]],
    box: tuple[_Vector, _Vector, _Vector, _Vector, NDArray[np.uint8]],
    kind: tuple[bool, bool],
    a: _Vector,
    f: _Vector,
    goals: tuple[_Vector, _Vector],
) -> _Matrix: ...

# Structures: keys of parts, sequences (symbols, starts), trees (starts, production, child_starts,
# children), graphs (starts, labels, neighbor_starts, neighbors).
_Ints = NDArray[np.int64]
_Short = NDArray[np.int32]
_Arrays = tuple[NDArray[Any], ...]

def mix_keys(first: _Ints, second: _Ints | None) -> _Ints: ...
def key_counts(
    keys: _Ints, starts: _Ints, times: _Vector | None, known: _Ints | None
) -> tuple[_Ints, _Short, _Vector, _Ints]: ...
def key_numbers(known: _Ints, keys: _Ints) -> _Short: ...
def subsequences(left: _Arrays, right: _Arrays | None, length: int, decay: float) -> _Vector: ...
def own_subsequences(sequences: _Arrays, length: int, decay: float) -> _Vector: ...
def subset_trees(
    left: _Arrays, right: _Arrays | None, productions: int, decay: float
) -> _Vector: ...
def own_subset_trees(trees: _Arrays, productions: int, decay: float) -> _Vector: ...
def shortest_paths(graphs: _Arrays) -> _Ints: ...
def subgraphs(graphs: _Arrays, size: int) -> _Ints: ...

# Forests of labelled nodes: groups of nodes begin at starts; rooted is what root_forest gives.
def root_forest(edges: _Ints, starts: _Ints) -> tuple[_Ints, _Ints, _Ints, _Ints]: ...
def diffuse_messages(
    unary: _Vector, pair: _Vector, edges: _Ints, passes: int, messages: _Vector
) -> _Short: ...
def forest_best(
    unary: _Vector, pair: _Vector, edges: _Ints, starts: _Ints, rooted: _Arrays
) -> tuple[_Short, _Vector]: ...
def forest_sums(
    unary: _Vector,
    pair: _Vector,
    edges: _Ints,
    starts: _Ints,
    rooted: _Arrays,
    by_edge: bool,
    mass: _Vector | None,
) -> tuple[_Vector, _Vector, _Vector, _Vector]: ...
def forest_samples(
    unary: _Vector, pair: _Vector, edges: _Ints, starts: _Ints, rooted: _Arrays, uniform: _Vector
) -> _Short: ...

class PlaneAscent:
    """The dual of max-margin training over labellings met so far.

    Rows of features are (dense,) or (indptr, indices, data, columns).
    """

    def __init__(
        self,
        nodes: tuple[Any, ...],
        edges: tuple[Any, ...],
        k: int,
        mass: _Vector,
        alpha: float,
        present: _Vector | None,
        l1: _Vector | None,
    ) -> None: ...
    def centre(self, alpha: float, base: _Vector) -> None: ...
    def add(
        self,
        units: _Ints,
        costs: _Vector,
        starts: _Ints,
        rows: _Ints,
        labels: _Short,
        values: _Vector,
    ) -> None: ...
    def run(self, passes: int, enough: float, seed: int) -> tuple[float, int]: ...
    def list(self, with_rows: bool) -> tuple[_Vector, _Vector, _Vector, _Vector]: ...
    def place(self, betas: _Vector) -> None: ...
    def refresh(self) -> float: ...
    def measure(self, weights: _Vector) -> tuple[_Vector, _Vector]: ...
    def forget(self, age: int) -> None: ...
    def weights(self) -> _Vector: ...
    def slope(self) -> _Vector: ...
    @property
    def planes(self) -> int: ...
