"""Clipping: right values also at the ends of the range of a dtype, and derivatives there."""

import math

import numpy as np
import pytest

from funcgrad import grad, optim, tree
from funcgrad.errors import InputTypeError

STATE = optim.EmptyState()


def shortened(grads, bound=1.0):
    return optim.clip_by_global_norm(bound).update(grads, STATE)[0]


def test_clip():
    clip = optim.clip(1.5)
    grads = {"a": np.array([-3.0, 0.5, 1.5]), "b": 2.0, "c": -2.0, "d": 0.25}
    updates, state = clip.update(grads, clip.init(grads))
    assert state == optim.EmptyState()
    assert updates["a"].tolist() == [-1.5, 0.5, 1.5]
    assert (updates["b"], updates["c"], updates["d"]) == (1.5, -1.5, 0.25)
    assert math.isnan(clip.update(math.nan, state)[0])
    with pytest.raises(InputTypeError, match=r"\['z'\] is complex"):
        clip.update({"z": np.array([1j])}, state)


def test_clip_by_global_norm():
    grads = {"a": np.array([3.0, 0.0]), "b": [4.0, np.array([[12.0]])]}
    clip = optim.clip_by_global_norm(6.5)
    updates, state = clip.update(grads, clip.init(grads))
    assert updates["a"].tolist() == [1.5, 0.0]
    assert updates["b"] == [2.0, np.array([[6.0]])]
    assert type(updates["b"][0]) is float
    for bound in (13.0, 14.0):
        same, _ = optim.clip_by_global_norm(bound).update(grads, state)
        assert same["a"].tolist() == [3.0, 0.0]
        assert same["b"] == [4.0, np.array([[12.0]])]
    zero, _ = clip.update([0.0, np.zeros(2)], state)
    assert zero[0] == 0.0
    assert zero[1].tolist() == [0.0, 0.0]
    assert optim.clip_by_global_norm(1.0).update(3 + 4j, state)[0] == pytest.approx(0.6 + 0.8j)


@pytest.mark.parametrize(
    ("dtype", "size", "rtol"),
    [
        (np.float16, 300.0, 1e-3),
        (np.float16, 6e4, 1e-3),
        (np.float16, 1e-6, 1e-3),
        (np.float32, 1e20, 1e-6),
        (np.float32, 3e38, 1e-6),
        (np.float32, 1e-22, 1e-6),  # its square has four bits left
        (np.float32, 1e-30, 1e-6),
        (np.float64, 1e160, 1e-15),
        (np.float64, 1.7e308, 1e-15),
        (np.float64, 1e-200, 1e-15),
        (np.float64, 3.0, 1e-15),
        (np.complex64, 3e38, 1e-6),
        (np.complex128, 1.7e308, 1e-15),
        (float, 1e200, 1e-15),
        (float, 1e-200, 1e-15),
    ],
)
def test_the_norm_is_right_where_squares_are_out_of_range(dtype, size, rtol):
    """Four equal numbers have a norm of twice their magnitude, so each becomes half of the bound (float16: to 2**-25, half a step)."""
    leaf = [size] * 4 if dtype is float else np.full(4, size, dtype)
    for bound in (size, size / 8):
        found = shortened({"a": leaf}, bound)["a"]
        if dtype is float:
            assert all(type(part) is float for part in found)
        else:
            assert found.dtype == dtype
        np.testing.assert_allclose(np.asarray(found), np.full(4, bound / 2), rtol=rtol, atol=3e-8 if dtype is np.float16 else 0.0)
    if size > 1.0:
        np.testing.assert_allclose(np.asarray(shortened({"a": leaf}, 1.0)["a"]), np.full(4, 0.5), rtol=rtol)
    np.testing.assert_array_equal(shortened([leaf], math.inf), [leaf])


@pytest.mark.skipif(np.finfo(np.longdouble).max <= np.finfo(np.float64).max, reason="longdouble is float64 on this machine")
def test_the_norm_of_longdoubles_beyond_float64():
    size = np.longdouble("1e4000")
    found = shortened([np.full(4, size), np.full(12, size / 1000)], 1.0)
    np.testing.assert_allclose(found[0], np.full(4, 1 / np.sqrt(4 + np.longdouble(12) / 10**6)), rtol=1e-15)
    assert found[0].dtype == np.longdouble


def test_complex_magnitudes_beyond_the_range():
    found = shortened(np.full(2, 1.7e308 + 1.7e308j))
    np.testing.assert_allclose(found, np.full(2, 0.5 + 0.5j), rtol=1e-15)


def test_leaves_of_many_dtypes_and_sizes():
    """A leaf whose squares underflow counts nothing beside one whose squares overflow, and is shortened as much."""
    grads = {"half": np.full(2, 6e4, np.float16), "single": np.full(2, 3e38, np.float32), "double": np.array([3e40, 4e40]), "number": 1e-3}
    found = shortened(grads, 1e3)
    assert [found[key].dtype for key in ("half", "single", "double")] == [np.float16, np.float32, np.float64]
    np.testing.assert_allclose(found["double"], [600.0, 800.0], rtol=1e-4)
    np.testing.assert_allclose(found["single"], [6.0, 6.0], rtol=1e-4)
    assert found["half"].tolist() == [0.0, 0.0]
    assert found["number"] == pytest.approx(2e-41, rel=1e-4)
    single = shortened([np.full(2, 1e18, np.float32), 1e25], 1e-16)[0]
    np.testing.assert_allclose(single, [1e-23, 1e-23], rtol=1e-6)  # the factor 1e-41 is no normal number of float32


def test_zeros_stay_zero_and_gradients_within_the_bound_stay():
    for dtype in (np.float16, np.float32, np.float64, complex):
        for bound in (0.0, 1e-300, 1.0, math.inf):
            found = shortened([np.zeros(3, dtype), 0.0], bound)
            assert found[0].dtype == dtype
            assert found[0].tolist() == [0.0] * 3
            assert found[1] == 0.0
    assert shortened([], 1.0) == []
    assert shortened([np.zeros((0, 3))], 1.0)[0].shape == (0, 3)
    tiny = np.array([5e-324, 1e-310, -3e-160])
    np.testing.assert_array_equal(shortened(tiny), tiny)
    assert shortened([3.0, 4.0], 0.0) == [0.0, 0.0]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("odd", [[np.inf, 1.0, -np.inf], [np.nan, 1.0], [np.inf, 0.0], [np.nan, np.inf], [0.0, 0.0], [30.0, 40.0]])
def test_infinities_and_nans_are_optaxs(peer, dtype, odd):
    grads = {"a": np.array(odd, dtype), "b": np.array([0.5], dtype)}
    clip = peer.clip_by_global_norm(1.0)
    wanted, _ = clip.update(grads, clip.init(grads))
    found = shortened(grads)
    for key in grads:
        np.testing.assert_allclose(found[key], np.asarray(wanted[key]), rtol=1e-12 if dtype is np.float64 else 2e-3)
    numbers = shortened([*odd, 0.5])
    assert all(type(x) is float for x in numbers)
    np.testing.assert_allclose(numbers, np.concatenate([wanted["a"], wanted["b"]]), rtol=1e-12 if dtype is np.float64 else 2e-3)


def test_infinities_and_nans_by_hand():
    assert shortened([math.inf, 2.0])[1] == 0.0
    assert math.isnan(shortened([math.inf, 2.0])[0])
    assert all(math.isnan(x) for x in shortened([math.nan, 2.0]))


def test_ordinary_values_are_optaxs(peer):
    rng = np.random.default_rng(0)
    for exponent in (-11, -9, -3, 0, 3, 14, 16):
        grads = {"a": rng.normal(size=(3, 4)) * 10.0**exponent, "b": [rng.normal(size=5) * 10.0**exponent]}
        for bound in (1e-12, 0.5, 20.0):
            clip = peer.clip_by_global_norm(bound)
            wanted, _ = clip.update(grads, clip.init(grads))
            for one, another in zip(tree.leaves(shortened(grads, bound)), tree.leaves(wanted), strict=True):
                np.testing.assert_allclose(one, np.asarray(another), rtol=1e-12)


@pytest.mark.parametrize("size", [1.0, 1e160, 1e-160])
def test_derivatives_at_every_size(size):
    """Of u = c g / |g| by g along e: c (e - g (g.e) / |g|**2) / |g|; here g = (3, 4) size and e = (1, 0), and it is u[0]."""
    found = grad(lambda g: shortened(g, size)[0])(np.array([3.0, 4.0]) * size)
    np.testing.assert_allclose(found, [(1 - 9 / 25) / 5, -12 / 25 / 5], rtol=1e-13)
    assert grad(lambda bound: shortened(np.array([3.0, 4.0]) * size, bound)[0])(size) == pytest.approx(0.6, rel=1e-14)
    inside = grad(lambda g: shortened({"a": g, "b": 0.0}, 10.0 * size)["a"][1])(np.array([3.0, 4.0]) * size)
    np.testing.assert_allclose(inside, [0.0, 1.0], atol=1e-14)
    assert grad(lambda g: shortened([g, 0.0])[0])(0.0) == 1.0


def test_half_precision_bounds():
    """A bound beyond float16 clips nothing, and one below its normal numbers is not rounded before it is used."""
    grads = np.array([6e4, -1.0], np.float16)
    assert optim.clip(1e6).update(grads, STATE)[0].tolist() == grads.tolist()
    assert optim.clip(0.5).update(grads, STATE)[0].tolist() == [0.5, -0.5]
