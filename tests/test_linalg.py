"""Linear algebra at special points: singular matrices, norms at zero and at ties, rank-deficient least squares, empty stacks, options.

The right values are closed forms, minors computed in exact arithmetic, and differences of NumPy's own functions.
"""

from __future__ import annotations

import itertools
import re
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import funcgrad.numpy as fnp
from funcgrad import grad, hessian, jacfwd, jvp, stop_gradient, vjp
from funcgrad.errors import ConcretizationError
from tests.runs import Run, each_transform
from tests.witnesses import NUMPY, assert_close, differences, inner, like

A = np.array


def exact_det(rows: list[list[Any]]) -> Any:
    """By Leibniz' formula, in whatever arithmetic the elements have."""
    total: Any = 0
    for order in itertools.permutations(range(len(rows))):
        inversions = sum(a > b for n, a in enumerate(order) for b in order[n + 1 :])
        term: Any = (-1) ** inversions
        for n, m in enumerate(order):
            term = term * rows[n][m]
        total = total + term
    return total


def minors(matrix: np.ndarray, *places: tuple[int, int]) -> float:
    """The derivative of the determinant in these elements: each is set to 1 and the rest of its row and column to 0."""
    if len({i for i, _ in places}) < len(places) or len({j for _, j in places}) < len(places):
        return 0.0
    rows = [[Fraction(float(x)) for x in row] for row in matrix]
    for i, j in places:
        for n in range(len(rows)):
            rows[i][n] = rows[n][j] = Fraction(0)
        rows[i][j] = Fraction(1)
    return float(exact_det(rows))


SINGULAR = {
    "zero": np.zeros((3, 3)),
    "rank 1": np.outer([1.0, 2.0, -1.0], [3.0, 0.0, 1.0]),
    "rank 2": A([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]),
    "diagonal": np.diag([2.0, 0.0, 3.0]),
    "regular": A([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]]),
    "one": np.zeros((1, 1)),
    "four, rank 2": np.outer([1.0, 2.0, -1.0, 3.0], [3.0, 0.0, 1.0, 1.0]) + np.outer([0.0, 1.0, 1.0, 1.0], [1.0, 1.0, 2.0, 0.0]),
}
each_singular = pytest.mark.parametrize("matrix", list(SINGULAR.values()), ids=list(SINGULAR))

# ------------------------------------------------------------------------------------------------ determinants


@each_singular
def test_the_gradient_of_det_is_the_matrix_of_cofactors(matrix: np.ndarray):
    n = len(matrix)
    wanted = A([[minors(matrix, (i, j)) for j in range(n)] for i in range(n)])
    assert_close(grad(np.linalg.det)(matrix), wanted, 1e-13)
    assert_close(jacfwd(np.linalg.det)(matrix), wanted, 1e-13)


@each_singular
def test_the_second_derivative_of_det(matrix: np.ndarray):
    n = len(matrix)
    places = list(itertools.product(range(n), repeat=2))
    wanted = A([[minors(matrix, one, other) for other in places] for one in places]).reshape(n, n, n, n)
    assert_close(hessian(np.linalg.det)(matrix), wanted, 1e-12)
    assert_close(jacfwd(jacfwd(np.linalg.det))(matrix), wanted, 1e-12)


def test_the_third_derivative_of_det_at_zero():
    t = [like(np.zeros((3, 3)), seed) for seed in range(3)]
    got = jvp(lambda x: jvp(lambda x: jvp(np.linalg.det, (x,), (t[0],))[1], (x,), (t[1],))[1], (np.zeros((3, 3)),), (t[2],))[1]
    wanted = sum(  # the polarization of a cubic form
        (-1) ** (3 - len(chosen)) * np.linalg.det(sum(t[n] for n in chosen))
        for size in (1, 2, 3)
        for chosen in itertools.combinations(range(3), size)
    )
    assert_close(got, wanted, 1e-13)


def test_det_of_a_stack_of_every_rank():
    stack = np.stack([SINGULAR[name] for name in ("rank 1", "regular", "zero", "rank 2", "diagonal", "regular")]).reshape(2, 3, 3, 3)
    weights = A([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    got = grad(lambda x: np.sum(weights * np.linalg.det(x)))(stack)
    for place in np.ndindex(2, 3):
        assert_close(got[place], weights[place] * grad(np.linalg.det)(stack[place]), 1e-13)


@pytest.mark.parametrize("small", [1e-3, 1e-6, 1e-9, 1e-12, 1e-300])
def test_det_near_a_singular_matrix(small: float):
    turn, other = (np.linalg.qr(like(np.zeros((3, 3)), seed))[0] for seed in (4, 5))
    sign = np.linalg.det(turn) * np.linalg.det(other)
    got = grad(np.linalg.det)(turn @ np.diag([3.0, 2.0, small]) @ other)
    assert_close(got, sign * turn @ np.diag([2 * small, 3 * small, 6.0]) @ other, 1e-14)


def test_det_of_a_singular_complex_matrix():
    matrix = np.outer([1 + 1j, 2j], [1.0, 1 - 1j])
    (a, b), (c, d) = matrix
    assert_close(grad(np.linalg.det, holomorphic=True)(matrix), A([[d, -c], [-b, a]]), 1e-14)


def test_det_in_float32():
    got = grad(np.linalg.det)(SINGULAR["rank 2"].astype(np.float32))
    assert got.dtype == np.float32
    assert_close(got, A([[-3, 6, -3], [6, -12, 6], [-3, 6, -3]]), 1e-5)


def test_slogdet_of_a_singular_matrix_that_does_not_count():
    matrices = np.stack([SINGULAR["rank 2"], SINGULAR["regular"], SINGULAR["diagonal"]])
    is_regular = A([False, True, False])

    def f(x: Any) -> Any:
        return np.sum(np.where(is_regular, np.linalg.slogdet(x)[1], 0.0))

    wanted = np.where(is_regular[:, None, None], np.linalg.inv(SINGULAR["regular"]).T, 0.0)
    assert_close(grad(f)(matrices), wanted, 1e-14)
    assert_close(jvp(f, (matrices,), (np.where(is_regular[:, None, None], 1.0, np.zeros((3, 3, 3))),))[1], wanted.sum(), 1e-14)


def test_slogdet_of_a_singular_matrix_is_infinitely_steep():
    np.testing.assert_array_equal(
        grad(lambda x: np.linalg.slogdet(x)[1])(A([[1.0, 2.0], [2.0, 4.0]])), [[np.inf, -np.inf], [-np.inf, np.inf]]
    )


def test_slogdet_comes_as_numpys_own_type():
    seen: list[Any] = []

    def f(x: Any) -> Any:
        found = np.linalg.slogdet(x)
        seen.append(found)
        return found.logabsdet if found.sign > 0 else -found.logabsdet

    assert_close(grad(f)(np.diag([2.0, -4.0])), -np.diag([0.5, -0.25]), 1e-15)
    assert type(seen[0]) is type(np.linalg.slogdet(np.eye(2)))


# ------------------------------------------------------------------------------------------------ solve, inv


def test_batched_solve_sums_over_what_was_stretched():
    a, b = np.diag([2.0, 4.0]), np.ones((3, 2, 1))
    da, db = grad(lambda a, b: np.sum(np.linalg.solve(a, b)), (0, 1))(a, b)
    assert_close(da, A([[-0.75, -0.375], [-0.375, -0.1875]]), 1e-15)
    assert_close(db, np.broadcast_to(A([[0.5], [0.25]]), (3, 2, 1)), 1e-15)


def test_batched_inv():
    stack = np.stack([np.diag([2.0, 4.0]), np.diag([1.0, -2.0])])
    wanted = np.stack([-np.outer(d, d) for d in ([0.5, 0.25], [1.0, -0.5])])
    assert_close(grad(lambda a: np.sum(np.linalg.inv(a)))(stack), wanted, 1e-15)


@each_transform
@pytest.mark.parametrize("function", [np.linalg.inv, lambda x: np.linalg.solve(x, x)], ids=["inv", "solve"])
def test_singular_matrices_raise_as_in_numpy(run: Run, function: Any):
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        run(lambda x: np.sum(function(x)), np.ones((2, 2)))


def test_wrong_shapes_raise_as_in_numpy():
    for function, shape in [(np.linalg.inv, (2, 3)), (np.linalg.det, (2, 3)), (np.linalg.slogdet, (3,)), (np.linalg.eigh, (2, 3))]:
        with pytest.raises(np.linalg.LinAlgError):
            vjp(function, np.ones(shape))
    with pytest.raises(np.linalg.LinAlgError):
        vjp(lambda x: np.linalg.matrix_power(x, 2), np.ones((2, 3)))
    with pytest.raises(TypeError):
        vjp(lambda x: np.linalg.matrix_power(x, 2.5), np.ones((2, 2)))


def test_the_zeroth_power_is_a_constant():
    assert_close(grad(lambda x: np.sum(x * np.linalg.matrix_power(x, 0)))(SINGULAR["rank 1"]), np.eye(3), 0.0)


# ------------------------------------------------------------------------------------------------ norms

ORDERS = [None, 1, 2, 3, 1.5, 0.5, np.inf, -np.inf]


def test_the_norm_of_a_zero_row():
    x = A([[0.0, 0.0], [3.0, 4.0]])
    assert_close(grad(lambda x: np.sum(np.linalg.norm(x, axis=-1) ** 2))(x), A([[0.0, 0.0], [6.0, 8.0]]), 1e-15)
    assert_close(grad(lambda x: np.sum(np.linalg.norm(x, axis=-1)))(x), A([[0.0, 0.0], [0.6, 0.8]]), 1e-15)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_norms_of_vectors_at_zero(order: Any, dtype: Any):
    def f(x: Any) -> Any:
        return np.linalg.norm(x, order)

    zero = np.zeros(3, dtype)
    np.testing.assert_array_equal(grad(f)(zero), zero)
    assert jvp(f, (zero,), (np.ones(3, dtype),))[1] == 0
    np.testing.assert_array_equal(grad(lambda x: np.sum(grad(f)(x).real))(zero), zero)


@pytest.mark.parametrize("order", [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf], ids=str)
def test_norms_of_matrices_at_zero(order: Any):
    def f(x: Any) -> Any:
        return np.sum(np.linalg.norm(x, order, (-2, -1)))

    for shape in [(3, 2), (2, 2, 3)]:
        np.testing.assert_array_equal(grad(f)(np.zeros(shape)), np.zeros(shape))
        np.testing.assert_array_equal(grad(lambda x: np.sum(grad(f)(x)))(np.zeros(shape)), np.zeros(shape))


@pytest.mark.parametrize(
    ("x", "order", "wanted"),
    [
        ([3.0, -3.0, 1.0], np.inf, [0.5, -0.5, 0.0]),
        ([3.0, -1.0, 1.0], -np.inf, [0.0, -0.5, 0.5]),
        ([3.0, 0.0, -1.0], 1, [1.0, 0.0, -1.0]),
        ([3.0, 0.0, -4.0], 2, [0.6, 0.0, -0.8]),
        ([1.0, 0.0, 1.0], 0.5, [2.0, 0.0, 2.0]),
        ([1.0, 0.0, 1.0], 4, [2**-0.75, 0.0, 2**-0.75]),
        ([[1.0, -2.0], [3.0, 2.0]], 1, [[0.5, -0.5], [0.5, 0.5]]),
        ([[1.0, -2.0], [3.0, 0.0]], np.inf, [[0.5, -0.5], [0.5, 0.0]]),
        ([[1.0, -2.0], [3.0, 2.0]], -np.inf, [[1.0, -1.0], [0.0, 0.0]]),
        ([[3.0, 0.0], [0.0, 3.0]], 2, [[0.5, 0.0], [0.0, 0.5]]),
        ([[0.0, 3.0], [-3.0, 0.0]], 2, [[0.0, 0.5], [-0.5, 0.0]]),
        ([[3.0, 0.0], [0.0, 1.0]], -2, [[0.0, 0.0], [0.0, 1.0]]),
        ([[3.0, 0.0], [0.0, -3.0]], "nuc", [[1.0, 0.0], [0.0, -1.0]]),
        ([[2.0, 2.0], [2.0, 2.0]], "nuc", [[0.5, 0.5], [0.5, 0.5]]),
        ([[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]], "nuc", [[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]),
    ],
)
def test_norms_at_ties_and_zeros(x: list[Any], order: Any, wanted: list[Any]):
    assert_close(grad(lambda x: np.linalg.norm(x, order))(A(x)), A(wanted), 1e-15)
    assert_close(jacfwd(lambda x: np.linalg.norm(x, order))(A(x)), A(wanted), 1e-15)


def test_equal_singular_values_to_rounding_share_the_spectral_norm():
    turn = np.linalg.qr(like(np.zeros((3, 3)), 6))[0]
    assert_close(grad(lambda x: np.linalg.norm(x, 2))(turn), turn / 3, 1e-14)


def test_the_curvature_of_the_nuclear_norm_where_singular_values_are_equal():
    """U V^H turns with the antisymmetric part of dX, by half of it at X = 1."""
    x, first, second = np.eye(3), like(np.eye(3), 7), like(np.eye(3), 8)
    got = jvp(lambda x: jvp(lambda x: np.linalg.norm(x, "nuc"), (x,), (first,))[1], (x,), (second,))[1]
    assert_close(got, np.sum(first * (second - second.T)) / 2, 1e-14)


@pytest.mark.parametrize("order", [None, 1, 3, np.inf])
def test_an_infinite_norm_that_does_not_count(order: Any):
    x = A([[np.inf, 1.0], [3.0, 0.0]])

    def f(x: Any) -> Any:
        return np.sum(np.where([False, True], np.linalg.norm(x, order, axis=1), 0.0))

    assert_close(grad(f)(x), A([[0.0, 0.0], [1.0, 0.0]]), 1e-15)
    assert jvp(f, (x,), (A([[0.0, 0.0], [2.0, 1.0]]),))[1] == pytest.approx(2.0)


def test_the_number_of_nonzero_elements_is_a_constant():
    x = A([[1.0, 0.0], [2.0, 3.0]])
    found: list[Any] = []

    def f(x: Any) -> Any:
        found.append(np.linalg.norm(x, 0, axis=1))
        return np.sum(x * found[0])

    assert_close(grad(f)(x), np.full((2, 2), [1.0, 2.0]), 0.0)
    np.testing.assert_array_equal(found[0], [1.0, 2.0])


def test_the_norm_of_complex_numbers():
    z = 1 + 0.5j
    for f in (
        lambda z: np.linalg.norm(fnp.array([z])),
        lambda z: np.linalg.norm(fnp.array([z]), 1),
        lambda z: np.linalg.norm(fnp.array([z]), 3),
    ):
        assert grad(f)(z) == pytest.approx(0.894427190999916 - 0.447213595499958j, abs=1e-15)


@pytest.mark.parametrize(("order", "axis"), [("no", None), ("nuc", 0), (3, (0, 1)), (None, (0, 0)), (2, (0, 1, 2)), (None, 5)], ids=str)
def test_wrong_orders_and_axes_raise_as_in_numpy(order: Any, axis: Any):
    x = np.ones((2, 2, 2))
    with pytest.raises(ValueError) as wanted:
        np.linalg.norm(x, order, axis)
    with pytest.raises(type(wanted.value), match=re.escape(str(wanted.value))):
        vjp(lambda x: np.linalg.norm(x, order, axis), x)


def test_a_traced_order_is_refused():
    with pytest.raises(ConcretizationError, match="float"):
        grad(lambda x: np.linalg.norm(x, x[0]))(np.ones(2))


def test_the_condition_of_a_singular_matrix_is_an_infinite_constant():
    stack = np.stack([np.ones((2, 2)), np.diag([4.0, 2.0])])
    for p in (1, np.inf, "fro"):
        values, back = vjp(lambda x, p=p: np.linalg.cond(x, p), stack)
        np.testing.assert_array_equal(values, np.linalg.cond(stack, p))
        assert values[0] == np.inf
        assert_close(back(A([0.0, 1.0]))[0][1], grad(lambda x, p=p: np.linalg.cond(x, p))(stack[1]), 1e-15)
        np.testing.assert_array_equal(back(np.ones(2))[0][0], np.zeros((2, 2)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert jvp(lambda x: np.linalg.cond(x), (np.zeros((2, 2)),), (np.eye(2),))[0] == np.linalg.cond(np.zeros((2, 2)))


# ------------------------------------------------------------------------------------------------ constant rank


def along_constant_rank(m: int, n: int, rank: int, kind: Any) -> tuple[np.ndarray, np.ndarray]:
    """A matrix of that rank and a tangent along which the rank stays."""
    left, right, d_left, d_right = (
        like(np.zeros(shape, kind), seed) for seed, shape in enumerate([(m, rank), (rank, n), (m, rank), (rank, n)])
    )
    return left @ right, d_left @ right + left @ d_right


@pytest.mark.parametrize("kind", [np.float64, np.complex128])
@pytest.mark.parametrize(("m", "n", "rank"), [(4, 3, 2), (3, 4, 2), (3, 3, 1), (5, 3, 3), (2, 5, 1)])
def test_the_pseudoinverse_at_constant_rank(m: int, n: int, rank: int, kind: Any):
    """By the four equations of Penrose, whose derivatives determine that of the pseudoinverse."""
    x, t = along_constant_rank(m, n, rank, kind)
    p, d = jvp(lambda x: np.linalg.pinv(x, 1e-10), (x,), (t,))
    assert_close(t @ p @ x + x @ d @ x + x @ p @ t, t, 1e-11)
    assert_close(d @ x @ p + p @ t @ p + p @ x @ d, d, 1e-11)
    for product in (t @ p + x @ d, d @ x + p @ t):
        assert_close(product, product.conj().T, 1e-11)
    cotangent = like(p, 9)
    (back,) = vjp(lambda x: np.linalg.pinv(x, 1e-10), x)[1](cotangent)
    assert float(inner(back, t)) == pytest.approx(float(inner(cotangent, d)), rel=1e-11)


@pytest.mark.parametrize("kind", [np.float64, np.complex128])
@pytest.mark.parametrize(("m", "n", "rank"), [(4, 3, 2), (3, 4, 2), (5, 3, 3), (3, 5, 3)])
def test_least_squares_is_the_pseudoinverse_times_b(m: int, n: int, rank: int, kind: Any):
    x, t = along_constant_rank(m, n, rank, kind)
    b, db = like(np.zeros((m, 2), kind), 10), like(np.zeros((m, 2), kind), 11)
    got = jvp(lambda a, b: np.linalg.lstsq(a, b, rcond=1e-10)[0], (x, b), (t, db))
    wanted = jvp(lambda a, b: np.linalg.pinv(a, 1e-10) @ b, (x, b), (t, db))
    assert_close(got, wanted, 1e-11)


def test_least_squares_gives_what_numpy_gives():
    a, b = np.vander([0.0, 1.0, 2.0, 4.0], 2), A([1.0, 2.0, 2.5, 5.0])
    for matrix, right in [(a, b), (a, b[:, None]), (a.T, b[:2]), (np.ones((4, 2)), b)]:
        wanted = np.linalg.lstsq(matrix, right, rcond=None)
        seen: list[Any] = []

        def f(matrix: Any, right: Any, seen: list[Any] = seen) -> Any:
            seen.append(np.linalg.lstsq(matrix, right, rcond=None))
            return np.sum(seen[0][0])

        grad(f)(matrix, right)
        assert type(seen[0]) is tuple
        assert type(seen[0][2]) is type(wanted[2])
        assert seen[0][2] == wanted[2]
        for n in (0, 1, 3):
            assert seen[0][n].shape == wanted[n].shape


def test_residuals_of_a_line_through_points():
    """The gradient in b is twice what is left; in the matrix, minus that times the solution."""
    a, b = np.vander([0.0, 1.0, 2.0, 4.0], 2), A([1.0, 2.0, 2.5, 5.0])
    solution = np.linalg.solve(a.T @ a, a.T @ b)
    rest = b - a @ solution
    da, db = grad(lambda a, b: np.sum(np.linalg.lstsq(a, b, rcond=None)[1]), (0, 1))(a, b)
    assert_close(db, 2 * rest, 1e-14)
    assert_close(da, -2 * np.outer(rest, solution), 1e-14)


# ------------------------------------------------------------------------------------------------ products


@pytest.mark.skipif(NUMPY >= (2, 5), reason="NumPy 2.5 has no cross product in the plane")
@pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional vectors:DeprecationWarning")
@pytest.mark.parametrize("shapes", [((2,), (2,)), ((2,), (3,)), ((4, 3), (2,)), ((4, 2), (4, 2))], ids=str)
def test_cross_of_vectors_in_the_plane(shapes: Any):
    args = [like(np.zeros(shape), n) for n, shape in enumerate(shapes)]
    tangents = [like(x, 20) for x in args]
    value, out = jvp(np.cross, args, tangents)
    np.testing.assert_array_equal(value, np.cross(*args))
    assert_close(out, differences(np.cross, args, tangents), 1e-10)
    cotangent = like(value, 21)
    assert float(inner(cotangent, out)) == pytest.approx(float(inner(vjp(np.cross, *args)[1](cotangent), tuple(tangents))), abs=1e-13)


def test_functions_of_numpy_linalg_check_their_arguments():
    if NUMPY < (2, 0):
        return
    with pytest.raises(ValueError, match="vectors"):
        vjp(lambda x: np.linalg.outer(x, x), np.ones((2, 2)))
    with pytest.raises(ValueError, match="vectors in space"):
        vjp(lambda x: np.linalg.cross(x, x), np.ones(2))


def test_out_is_refused():
    for f in (lambda x: np.trace(x, out=np.zeros(())), lambda x: np.linalg.multi_dot([x, x], out=np.zeros((2, 2)))):
        with pytest.raises(ConcretizationError, match="out"):
            vjp(f, np.eye(2))


def test_a_stopped_gradient_flows_not_through_a_solve():
    a, b = np.diag([2.0, 4.0]), np.ones(2)
    assert_close(grad(lambda b: np.sum(np.linalg.solve(a, b) * stop_gradient(np.linalg.solve(a, b))))(b), A([0.25, 0.0625]), 1e-15)
