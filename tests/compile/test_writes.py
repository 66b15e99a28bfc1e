"""Nothing is written into in a program: neither the arguments that it is called with, nor values that are used again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import hvp, jit, nn
from funcgrad import numpy as fnp
from funcgrad.errors import ConcretizationError

X = np.random.default_rng(0).normal(size=(4, 4)) + 3.0 * np.eye(4)

WRITING: dict[str, Callable[[Any], Any]] = {
    "add.at": lambda x: np.add.at(x, 0, 1.0),
    "clip, out": lambda x: np.clip(x, 0, 1, out=x),
    "clip, a tuple of out": lambda x: np.clip(x, 0, 1, out=(x,)),
    "clip, out by position": lambda x: np.clip(x, 0, 1, x),
    "concatenate, out": lambda x: np.concatenate([x, x], 0, out=np.zeros((8, 4))),
    "copyto": lambda x: np.copyto(x, 0.0),
    "cumsum, out": lambda x: np.cumsum(x, 0, out=x),
    "dot, out by position": lambda x: np.dot(x, x, np.zeros((4, 4))),
    "einsum, out": lambda x: np.einsum("ij->ji", x, out=x),
    "fill_diagonal": lambda x: np.fill_diagonal(x, 0.0),
    "median, out": lambda x: np.median(x, 0, out=x[0]),
    "nan_to_num, no copy": lambda x: np.nan_to_num(x, copy=False),
    "nan_to_num, no copy by position": lambda x: np.nan_to_num(x, False),
    "nan_to_num of funcgrad.numpy, no copy": lambda x: fnp.nan_to_num(x, copy=False),
    "place": lambda x: np.place(x, x > 0, [1.0]),
    "put": lambda x: np.put(x, [0], [1.0]),
    "put_along_axis": lambda x: np.put_along_axis(x, np.zeros((4, 1), int), 0.0, 1),
    "put_along_axis, a constant": lambda x: np.put_along_axis(np.zeros((4, 4)), np.zeros((4, 1), int), x[:, :1], 1),
    "putmask": lambda x: np.putmask(x, x > 0, 0.0),
    "round, out": lambda x: np.round(x, 1, out=x),
    "sum, out": lambda x: np.sum(x, 0, out=np.zeros(4)),
}
OVERWRITING: dict[str, Callable[[Any], Any]] = {
    "median": lambda x: np.median(x, 0, overwrite_input=True),
    "nanmedian by position": lambda x: np.nanmedian(x, 0, None, True),
    "percentile": lambda x: np.percentile(x, 50.0, overwrite_input=True),
    "quantile by position": lambda x: np.quantile(x, 0.5, 0, None, True),
    "nanquantile": lambda x: np.nanquantile(x, 0.5, axis=-1, overwrite_input=True),
}


def scipy_overwriting() -> dict[str, Callable[[Any], Any]]:
    pytest.importorskip("scipy", reason="needs SciPy")
    from funcgrad.scipy import linalg, signal

    return {
        "solve": lambda x: linalg.solve(x, x[0], overwrite_a=True, overwrite_b=True),
        "inv": lambda x: linalg.inv(x, overwrite_a=True),
        "svd": lambda x: linalg.svdvals(x, overwrite_a=True),
        "detrend": lambda x: signal.detrend(x, overwrite_data=True),
    }


@pytest.mark.parametrize("name", WRITING)
def test_what_writes_is_refused(name: str):
    x = X.copy()
    with pytest.raises(ConcretizationError, match=r"write (a = |into an array)|would change a tracer|would write a tracer"):
        jit(lambda x: (WRITING[name](x), x * 1.0)[1])(x)
    np.testing.assert_array_equal(x, X)
    assert x.flags.writeable


def assert_overwrites_nothing(call: Callable[[Any], Any]) -> None:
    x, wanted = X.copy(), call(X.copy())
    for _ in range(2):
        found, later = jit(lambda x: (call(x), x * 1.0))(x)
        np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-14)
        np.testing.assert_array_equal(later, X)
        np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize("name", OVERWRITING)
def test_leave_to_overwrite_is_not_taken(name: str):
    assert_overwrites_nothing(OVERWRITING[name])


@pytest.mark.parametrize("name", ["solve", "inv", "svd", "detrend"])
def test_leave_to_overwrite_is_not_taken_by_scipy(name: str):
    assert_overwrites_nothing(scipy_overwriting()[name])


def test_an_output_of_scipy_is_refused():
    pytest.importorskip("scipy", reason="needs SciPy")
    from funcgrad.scipy import ndimage

    x = X.copy()
    with pytest.raises(ConcretizationError, match=r"gaussian_filter\(..., output=array\) would write into an array"):
        jit(lambda x: ndimage.gaussian_filter(x, 1.0, output=x))(x)
    with pytest.raises(ConcretizationError, match=r"distance_transform_edt\(..., distances=array\) would write into an array"):
        jit(lambda x: ndimage.distance_transform_edt(x, distances=np.zeros((4, 4))))(x)
    np.testing.assert_array_equal(x, X)
    for dtype in (np.float32, np.dtype("f4")):
        assert jit(lambda x, dtype=dtype: ndimage.gaussian_filter(x, 1.0, output=dtype))(x).dtype == np.float32


def test_second_derivatives_of_the_cross_entropy_at_other_labels():
    """Those of loss(x * x), whose gradient is 2 x s with s = (softmax(x * x) - one-hot) / rows."""
    rng = np.random.default_rng(1)
    x, v = rng.normal(size=(2, 4, 3))
    product = jit(lambda x, labels, v: hvp(lambda x: nn.softmax_cross_entropy(x * x, labels))(x, v))
    for labels in ([0, 2, 1, 1], [2, 0, 0, 1], [0, 2, 1, 1]):
        chances = np.exp(x * x) / np.exp(x * x).sum(1, keepdims=True)
        slope, u = (chances - np.eye(3)[labels]) / 4, 2.0 * x * v
        wanted = 2.0 * v * slope + 2.0 * x * chances * (u - (chances * u).sum(1, keepdims=True)) / 4
        np.testing.assert_allclose(product(x, np.array(labels), v), wanted, rtol=1e-12, atol=1e-14)
