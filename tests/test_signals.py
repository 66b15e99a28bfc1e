"""Signals at special points: sinc near zero and I_0 to all digits, interpolation at knots and ends, convolution against its matrix.

The numbers for sinc, I_0 and Kaiser's window were computed with mpmath at 60 digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from funcgrad import grad, hessian, jvp, vjp
from funcgrad.errors import ConcretizationError
from funcgrad.ops.analysis import signals

A = np.array


def derivatives(f: Any, x: float, orders: int) -> list[float]:
    """The first derivatives, by forward and reverse mode in turn."""
    found = []
    for order in range(orders):
        f = grad(f) if order % 2 == 0 else (lambda x, f=f: jvp(f, (x,), (1.0,))[1])
        found.append(f(x))
    return found


# ------------------------------------------------------------------------------------------------ sinc, I_0, Kaiser's window

SINC = {
    0.0: [0.0, -3.289868133696453, 0.0, 19.481818206800487, 0.0],
    1e-09: [-3.289868133696453e-09, -3.289868133696453, 1.9481818206800487e-08, 19.481818206800487, -1.3734131336790064e-07],
    0.001: [-0.0032898648867278964, -3.289858392793072, 0.01948179531659038, 19.48174953618773, -0.13734113765443426],
    0.3: [-0.9020281301388888, -2.4584852862661744, 5.24749315292437, 13.648773849855683, -36.627473667589356],
    1.0: [-1.0, 2.0, 3.8696044010893584, -15.478417604357434, -20.017003012215266],
    2.5: [-0.05092958178940651, -1.215893396004392, 1.4590720752052706, 10.067995351791495, -20.13599070358299],
    -4.2: [-0.18201663943407312, -0.5263369307996677, 1.5251587847238237, 5.791825547637039, -11.868210074985491],
}


@pytest.mark.parametrize("x", SINC)
def test_sinc_to_the_fifth_derivative(x: float):
    for got, wanted, size in zip(derivatives(np.sinc, x, 5), SINC[x], np.pi ** np.arange(1, 6), strict=True):
        assert got == pytest.approx(wanted, rel=2e-15, abs=4e-16 * size if abs(x) > 0.1 else 0.0)


def test_sinc_at_zero_is_exact():
    assert grad(np.sinc)(0.0) == 0.0
    assert grad(grad(np.sinc))(0.0) == jvp(grad(np.sinc), (0.0,), (1.0,))[1] == hessian(np.sinc)(0.0) == -3.289868133696453
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.sinc(x)))(A([0.0, 0.0])), [0.0, 0.0])


def test_sinc_of_complex_numbers():
    wanted = {
        0.3 - 1.2j: (-9.278139772678768 + 9.38464601671323j, -23.848762340519222 - 24.534099509354878j),
        3.0 + 4.0j: (-15452.583853756203 + 22428.960695271016j, 68599.81820212521 + 43723.5717247158j),
        0j: (0.0, -3.289868133696453),
    }
    for z, (first, second) in wanted.items():
        slope = grad(np.sinc, holomorphic=True)
        assert slope(z) == pytest.approx(first, rel=1e-13)
        assert grad(slope, holomorphic=True)(z) == pytest.approx(second, rel=1e-13)


I0 = {
    0.0: [0.0, 0.5, 0.0, 0.375],
    1e-09: [5e-10, 0.5, 3.7500000000000005e-10, 0.375],
    0.5: [0.2578943053908963, 0.5476947599595309, 0.1940820070354198, 0.4147799393105973],
    -3.0: [-3.9533702174026093, 3.5630025133974876, -3.204966070425959, 2.9936165879066015],
    8.0: [399.8731367825601, 377.57997362398476, 358.9236578417895, 342.95188612895373],
    30.0: [768532038938.957, 756054563192.679, 744184144653.5776, 732871617989.9183],
    200.0: [2.034581549332063e85, 2.0295142656630642e85, 2.0244848425424808e85, 2.019492808518248e85],
}


@pytest.mark.parametrize("x", I0)
def test_i0_to_the_fourth_derivative(x: float):
    assert derivatives(np.i0, x, 4) == pytest.approx(I0[x], rel=2e-15)


@pytest.mark.filterwarnings("ignore:overflow")
def test_i0_overflows_to_infinity():
    assert grad(np.i0)(800.0) == np.inf
    assert grad(np.i0)(-800.0) == -np.inf


KAISER = {
    0.0: ([0.0, 0.0, 0.0], [-0.5, -0.125, 0.0]),
    2.0: ([-0.30609719112022016, -0.11366729300604735, 0.0], [0.1415460413983717, 0.006771601150710728, 0.0]),
    8.6: ([-0.0012524634148751014, -0.04572623698153299, 0.0], [0.001167565000666457, 0.006177078690238226, 0.0]),
}


@pytest.mark.parametrize("beta", KAISER)
def test_kaiser_in_its_shape_parameter(beta: float):
    first, second = KAISER[beta]
    for n in range(5):
        at = min(n, 4 - n)
        found = derivatives(lambda beta, n=n: signals.kaiser(5, beta)[n], beta, 2)
        assert found == pytest.approx([first[at], second[at]], rel=1e-13, abs=1e-15)


def test_kaiser_is_numpys():
    for size in (-1, 0, 1, 2, 5, 12):
        value, _ = jvp(lambda beta, size=size: signals.kaiser(size, beta), (8.6,), (1.0,))
        np.testing.assert_array_equal(value, np.kaiser(size, 8.6))
        np.testing.assert_array_equal(signals.kaiser(size, 8.6), value)
    with pytest.raises(ConcretizationError, match=r"funcgrad\.numpy"):
        grad(lambda beta: np.sum(np.kaiser(5, beta)))(2.0)


# ------------------------------------------------------------------------------------------------ interpolation

XP, FP = A([0.0, 1.0, 3.0, 4.0]), A([1.0, 3.0, 2.0, 2.5])  # slopes 2, -0.5, 0.5


def test_at_a_knot_both_sides_have_a_half():
    x = A([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 3.5, 4.0, 5.0])
    slopes = A([0.0, 1.0, 2.0, 0.75, -0.5, 0.0, 0.5, 0.25, 0.0])
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.interp(x, XP, FP)))(x), slopes)
    np.testing.assert_array_equal(jvp(lambda x: np.interp(x, XP, FP), (x,), (np.ones(9),))[1], slopes)


def test_where_it_jumps_at_an_end_the_knots_side_counts():
    def slope(x: float, **options: Any) -> float:
        return grad(lambda x: np.interp(x, XP, FP, **options))(x)

    assert slope(0.0, left=-1.0) == 2.0
    assert slope(0.0, right=-1.0) == 1.0
    assert slope(4.0, right=-1.0) == 0.5
    assert slope(4.0, left=-1.0) == 0.25
    assert slope(-0.1, left=-1.0) == slope(4.1, right=-1.0) == 0.0


def test_values_and_knots_have_their_shares():
    x, weights = A([-1.0, 0.25, 1.0, 2.5, 4.0, 9.0]), A([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    in_xp, in_fp = grad(lambda xp, fp: np.sum(weights * np.interp(x, xp, fp)), (0, 1))(XP, FP)
    np.testing.assert_allclose(in_fp, [1.0 + 1.5, 0.5 + 4.0 + 2.0, 6.0, 48.0])
    # A knot that moves by d, with the rest at rest: as x moving by -d, in its share. The last knot has half a slope to its left.
    np.testing.assert_allclose(
        in_xp, [-2.0 * 2.0 * 0.75, -2.0 * 2.0 * 0.25 - 4.0 * 0.75 + 8.0 * 0.5 * 0.25, 8.0 * 0.5 * 0.75, -16.0 * 0.25]
    )


def test_all_that_moves_together_changes_nothing():
    x = A([-0.3, 0.2, 1.7, 3.0, 3.9, 4.4])
    for options in ({}, {"left": -1.0}, {"period": 5.0}):
        moved = jvp(lambda x, xp, options=options: np.interp(x, xp, FP, **options), (x, XP), (np.ones(6), np.ones(4)))[1]
        np.testing.assert_allclose(moved, np.zeros(6), atol=1e-15)


def test_what_lies_outside_is_left_and_right():
    x = A([-2.0, 0.5, 7.0, 8.0])

    def f(left: Any, right: Any) -> Any:
        return np.sum(A([1.0, 10.0, 100.0, 1000.0]) * signals.interp(x, XP, FP, left, right))

    assert grad(f, (0, 1))(5.0, 6.0) == (1.0, 1100.0)
    with pytest.raises(ConcretizationError):
        grad(lambda left: np.interp(-1.0, XP, FP, left))(5.0)


def test_knots_that_fall_together_make_a_step():
    xp, fp = A([0.0, 1.0, 1.0, 2.0]), A([0.0, 1.0, 5.0, 8.0])
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.interp(x, xp, fp)))(A([0.5, 1.0, 1.5])), [1.0, 2.0, 3.0])
    assert np.isfinite(grad(lambda xp: np.sum(np.interp(A([0.5, 1.5]), xp, fp)))(xp)).all()


def test_second_derivative_across_arguments():
    mixed = hessian(lambda x, xp: np.interp(x, xp, A([0.0, 1.0])), (0, 1))(0.5, A([0.0, 2.0]))  # x - a over b - a
    np.testing.assert_allclose(mixed[0][1], [1 / 4, -1 / 4])
    np.testing.assert_allclose(mixed[1][1], [[2 * (0.5 - 2) / 8, (1.5 - 0.5) / 8], [(1.5 - 0.5) / 8, 2 * 0.5 / 8]])


def test_interpolation_keeps_numpys_errors():
    with pytest.raises(ValueError, match="not of the same length"):
        grad(lambda x: np.interp(x, XP, FP[:2]))(0.5)
    with pytest.raises(ValueError, match="not of the same length"):
        grad(lambda x: np.interp(x, XP, FP[:2], period=2.0))(0.5)
    with pytest.raises(ValueError, match="1-D"):
        grad(lambda x: np.interp(x, XP.reshape(2, 2), FP, period=2.0))(0.5)
    with pytest.raises(ValueError, match="non-zero"):
        grad(lambda x: np.interp(x, XP, FP, period=0))(0.5)
    with pytest.raises(ValueError, match="empty"):
        grad(lambda x: np.interp(x, [], []))(0.5)
    with pytest.raises(TypeError):
        grad(lambda x: np.interp(x, XP, FP, left=1j))(0.5)


# ------------------------------------------------------------------------------------------------ convolution


def band(v: np.ndarray, size: int) -> np.ndarray:
    """The matrix that convolves `size` numbers with v."""
    found = np.zeros((size + len(v) - 1, size), v.dtype)
    for n in range(size):
        found[n : n + len(v), n] = v
    return found


@pytest.mark.parametrize("v", [A([1.0, -2.0, 0.5]), A([1.0, -2.0j, 0.5 + 1.0j]), A([2.0])], ids=str)
def test_convolution_is_the_product_with_its_matrix(v: np.ndarray):
    a = A([0.3, -1.2, 0.8, 2.0])
    full = len(a) + len(v) - 1
    for mode, part in (("full", slice(None)), ("same", slice((len(v) - 1) // 2, (len(v) - 1) // 2 + 4)), ("valid", slice(len(v) - 1, 4))):
        for function, rows in ((np.convolve, band(v, 4)), (np.correlate, band(v[::-1].conj(), 4))):
            value, pullback = vjp(lambda a, f=function, mode=mode: f(a, v, mode), a.astype(complex))
            assert len(value) == len(np.zeros(full)[part])
            np.testing.assert_allclose(value, rows[part] @ a, atol=1e-15)
            ct = np.arange(1.0, len(value) + 1) - 1j
            np.testing.assert_allclose(pullback(ct)[0], rows[part].T @ ct, atol=1e-14)


def test_correlation_conjugates_its_second_argument():
    v, a = A([1.0 + 2.0j, 3.0 - 1.0j]), A([2.0 - 1.0j, 0.5j])
    total = grad(lambda v: np.real(np.correlate(a, v)[0]))(v)  # Re(a conj(v)): a is df/dx - i df/dy conjugated
    np.testing.assert_allclose(total, a.conj())
    np.testing.assert_allclose(jvp(lambda v: np.correlate(a, v), (v,), (v,))[1], [np.sum(a * v.conj())])


def test_an_autocorrelation():
    x = A([1.0, -2.0, 3.0])
    np.testing.assert_allclose(grad(lambda x: np.correlate(x, x)[0])(x), 2 * x)
    np.testing.assert_allclose(hessian(lambda x: np.convolve(x, x)[1])(x), [[0, 2, 0], [2, 0, 0], [0, 0, 0]])


def test_convolution_keeps_numpys_errors():
    for function in (np.convolve, np.correlate):
        with pytest.raises(ValueError, match="empty"):
            grad(lambda a, function=function: np.sum(function(a, [1.0])))(np.zeros(0))
        with pytest.raises(ValueError, match="deep"):
            grad(lambda a, function=function: np.sum(function(a, [1.0])))(np.zeros((2, 2)))
        with pytest.raises(ValueError, match="mode"):
            grad(lambda a, function=function: np.sum(function(a, [1.0], "x")))(np.ones(2))
