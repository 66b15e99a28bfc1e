"""Sums of scatters in one array: to the bit what the sums are."""

import numpy as np
import pytest

from funcgrad import grad, jit
from funcgrad.ops.indexing import scattered
from funcgrad.staged import Staged
from funcgrad.transforms.compile.scatters import Assembled, with_scatters_joined
from tests.compile.programs import names, program_of, run
from tests.compile.test_algebra import assert_same_bits

X = np.array([[1.0, -0.0, 0.0, np.nan], [np.inf, -2.0, -0.0, 5e-324]])
LEFT, RIGHT, MIDDLE = (slice(None), slice(0, 4)), (slice(None), slice(4, 8)), (slice(None), slice(2, 6))


def put(x, index, shape=(2, 8)):
    return x.recorded(scattered, (x, shape, index), {}) if type(x) is Staged else scattered(x, shape, index)


def joined(f, *leaves):
    before = program_of(f, *leaves)
    after = with_scatters_joined(before)
    for got, wanted in zip(run(after, leaves), run(before, leaves), strict=True):
        assert_same_bits(got, wanted)
    return names(after)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_parts_that_are_apart(dtype):
    x = X.astype(dtype)
    assert joined(lambda x, y: put(x, LEFT) + put(y, RIGHT), x, -x) == ["assembled"]
    assert joined(lambda x, y: np.exp(put(x, LEFT) + put(y, RIGHT)), x, -x) == ["assembled", "exp"]
    assert joined(lambda x, y: np.exp(put(x, LEFT) + put(y, (slice(None), slice(-3, None, 3)))), x, x[:, :1]) == ["assembled", "exp"]


def test_many_parts():
    def f(x):
        total = put(x, (slice(None), 0))
        for k in range(1, 8):
            total = total + put(x, (slice(None), k))
        return total

    assert joined(f, X[:, 1]) == ["assembled"]


def test_parts_in_the_same_place_are_added_first():
    calls = joined(lambda x, y: (put(x, LEFT) + put(y, LEFT)) + put(y, RIGHT), X, X[::-1].copy())
    assert calls == ["add", "assembled"]
    assert joined(lambda x, y: put(x, LEFT) + put(y, LEFT), X, X[::-1].copy()) == ["add", "scattered"]


def test_what_overlaps_or_is_used_twice_stays():
    assert joined(lambda x, y: put(x, LEFT) + put(y, MIDDLE), X, X) == ["scattered", "scattered", "add"]
    f = lambda x, y: (lambda a: (a + put(y, RIGHT)) * a)(put(x, LEFT))
    assert "assembled" not in joined(f, X, X)
    assert joined(lambda x, y: (put(x, LEFT) + np.ones((2, 8))) * put(y, RIGHT), X, X)[-1] == "multiply"
    assert joined(lambda x: put(x, LEFT) + x.sum(), X)[0] == "scattered"
    assert "assembled" not in joined(lambda x: put(x, np.array([0, 1]), (3, 4)) + put(x, np.array([1, 2]), (3, 4)), X)


def test_the_gradient_of_a_function_of_slices():
    def f(x):
        return np.sum(np.tanh(x[:, :2]) * x[:, 2:4] + np.exp(x[:, 4:]) * np.sin(x[:, 1:3]))

    x = np.linspace(-1.0, 1.0, 18).reshape(3, 6)
    np.testing.assert_allclose(jit(grad(f))(x), grad(f)(x), rtol=1e-14)


def test_an_array_of_parts_is_fresh():
    function = Assembled((2, 8), np.dtype(float), [LEFT], False)
    found = function(X)
    np.testing.assert_array_equal(found[:, 4:], 0.0)
    np.testing.assert_array_equal(found[:, :4], X)
    assert function(X) is not found
