"""NumPy's functions under vmap at special points: ties, NaN, zeros, singular matrices, mapped indices, one example and none.

The witness is a Python loop over the examples. In each batch some examples are special and others are not, so that a rule that asks one
question for all of them (is there a tie? is one singular?) must still answer for each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from funcgrad import grad, jvp, tree, vjp, vmap
from funcgrad import numpy as fnp
from funcgrad.errors import ConcretizationError
from funcgrad.rules import batching
from tests.witnesses import NUMPY, like

_NAN = np.nan


def _loop(f: Any, *xs: Any) -> Any:
    """f of each example, stacked."""
    found = [f(*example) for example in zip(*xs, strict=True)]
    return tree.map(lambda *parts: np.stack([np.asarray(part) for part in parts]), *found)


def _assert_same(got: Any, wanted: Any) -> None:
    for one, other in zip(tree.leaves(got), tree.leaves(wanted), strict=True):
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        size = np.max(np.abs(np.where(np.isfinite(other), other, 0.0)), initial=1.0)
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11 * size)


VECTORS = np.array([[3.0, 1.0, 2.0, 1.5], [2.0, 2.0, 0.0, 2.0], [0.0, -1.0, 0.0, 4.0]])
"""One without ties and zeros, one with three equal elements and a zero, one with two zeros."""
HOLES = np.array([[3.0, 1.0, 2.0, 1.5], [_NAN, 2.0, _NAN, 2.0], [1.0, _NAN, 0.0, 1.0]])
FAMILIES = np.array([[[1.0, 2.0], [2.0, 2.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]], [[3.0, -1.0], [0.0, 5.0], [-2.0, 4.0]]])
SQUARES = np.array(
    [
        [[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]],
        [[1.0, 2.0, 3.0], [4.0, -5.0, 6.0], [7.0, 8.0, -9.0]],
        [[0.0, 0.0, 2.0], [0.0, 3.0, 0.0], [5.0, 0.0, 0.0]],
    ]
)
SINGULAR = np.array(
    [
        [[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]],
        [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]],
        [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]],
        [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
    ]
)
"""Of rank 3, 2, 1 and 0."""
COMPLEX = SQUARES[:, :2] + 1j * SQUARES[:, 1:]

_CASES: dict[str, tuple[Any, Any]] = {
    "sort": (np.sort, VECTORS),
    "sort of rows": (lambda x: np.sort(x, 0), FAMILIES),
    "sort of all": (lambda x: np.sort(x, None), FAMILIES),
    "partition": (lambda x: np.partition(x, 1), VECTORS),
    "max": (np.max, VECTORS),
    "max along an axis": (lambda x: np.max(x, 0), FAMILIES),
    "nanmax": (np.nanmax, HOLES),
    "nanmean": (np.nanmean, HOLES),
    "nanvar": (np.nanvar, HOLES),
    "nansum": (lambda x: np.nansum(x * x), HOLES),
    "nancumprod": (np.nancumprod, HOLES),
    "nanmedian": (np.nanmedian, HOLES),
    "nanquantile": (lambda x: np.nanquantile(x, [0.3, 0.8]), HOLES),
    "nan_to_num": (np.nan_to_num, HOLES),
    "median": (np.median, VECTORS),
    "median of NaN": (np.median, HOLES),
    "median along an axis": (lambda x: np.median(x, 0, keepdims=True), FAMILIES),
    "quantile": (lambda x: np.quantile(x, [0.25, 0.6]), VECTORS),
    "quantile along an axis": (lambda x: np.quantile(x, [[0.25, 0.6]], 0), FAMILIES),
    "percentile, nearest": (lambda x: np.percentile(x, 40.0, method="nearest"), VECTORS),
    "prod": (np.prod, VECTORS),
    "prod along an axis": (lambda x: np.prod(x, 0), FAMILIES),
    "cumprod": (np.cumprod, VECTORS),
    "cumprod along an axis": (lambda x: np.cumprod(x, 0), FAMILIES),
    "maximum.accumulate": (np.maximum.accumulate, VECTORS),
    "minimum.accumulate": (lambda x: np.minimum.accumulate(x, 0), FAMILIES),
    "add.reduceat": (lambda x: np.add.reduceat(x, [0, 2, 1]), VECTORS),
    "norm": (np.linalg.norm, np.array([[3.0, 4.0], [0.0, 0.0], [1.0, -1.0]])),
    "norm, 1": (lambda x: np.linalg.norm(x, 1), VECTORS),
    "norm, inf": (lambda x: np.linalg.norm(x, np.inf), VECTORS),
    "norm, 3": (lambda x: np.linalg.norm(x, 3.0), VECTORS),
    "norm of rows": (lambda x: np.linalg.norm(x, axis=-1, keepdims=True), FAMILIES),
    "norm of a matrix": (lambda x: np.linalg.norm(x, keepdims=True), FAMILIES),
    "norm of a matrix, 1": (lambda x: np.linalg.norm(x, 1), FAMILIES),
    "norm of a matrix, inf": (lambda x: np.linalg.norm(x, np.inf, (1, 0)), FAMILIES),
    "norm of complex numbers": (lambda x: np.linalg.norm(x, axis=0), COMPLEX),
    "inv": (np.linalg.inv, SQUARES),
    "det": (np.linalg.det, SQUARES),
    "det of singular matrices": (np.linalg.det, SINGULAR),
    "slogdet": (lambda x: np.linalg.slogdet(x)[1], SQUARES),
    "solve of the matrix": (lambda x: np.linalg.solve(x, np.array([1.0, 2.0, 3.0])), SQUARES),
    "solve of a vector": (lambda x: np.linalg.solve(SQUARES[0], x), SQUARES[:, 0]),
    "solve of columns": (lambda x: np.linalg.solve(SQUARES[0], x[:, :2]), SQUARES),
    "tensorsolve": (lambda x: np.linalg.tensorsolve(np.reshape(x, (3, 1, 3)), np.ones((3, 1))), SQUARES),
    "tensorinv": (lambda x: np.linalg.tensorinv(np.reshape(x, (3, 1, 3)), 2), SQUARES),
    "pinv": (np.linalg.pinv, FAMILIES[[0, 2]]),
    "lstsq of the right-hand side": (lambda x: np.linalg.lstsq(FAMILIES[0], x, rcond=None)[0], VECTORS[:, :3]),
    "matrix_power": (lambda x: np.linalg.matrix_power(x, -3), SQUARES),
    "multi_dot": (lambda x: np.linalg.multi_dot([x[0], x.T, x, x[:, :1]]), SQUARES),
    "inner": (lambda x: np.inner(x, x), FAMILIES),
    "vdot": (lambda x: np.vdot(x, x), COMPLEX),
    "cross": (lambda x: np.cross(x[:, 0], x.T, axisb=-1, axisc=0), FAMILIES),
    "cross in the plane": (lambda x: np.cross(np.append(x[0], 0.0), np.append(x[1], 1.0)), FAMILIES),
    "kron": (lambda x: np.kron(x, x[:1]), FAMILIES),
    "outer": (lambda x: np.outer(x, x), VECTORS),
    "diagonal": (lambda x: np.diagonal(x, 1, 1, 0), FAMILIES),
    "diag of a vector": (lambda x: np.diag(x, -1), VECTORS),
    "diag of a matrix": (lambda x: np.diag(x, 1), FAMILIES),
    "trace": (np.trace, SQUARES),
    "tril": (np.tril, FAMILIES),
    "triu of a vector": (lambda x: np.triu(x, 1), VECTORS),
    "pad": (lambda x: np.pad(x, ((1, 0), (0, 2))), FAMILIES),
    "pad, reflect": (lambda x: np.pad(x, 2, "reflect"), VECTORS),
    "roll": (lambda x: np.roll(x, (1, 2, 1), (0, 1, 0)), FAMILIES),
    "delete": (lambda x: np.delete(x, [0, 2], 0), FAMILIES),
    "sliding windows": (lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 1)), FAMILIES),
    "fft": (np.fft.fft, VECTORS),
    "fft along an axis": (lambda x: np.fft.fft(x, 5, 0), FAMILIES),
    "rfftn": (lambda x: np.fft.rfftn(x, (2, 4), (1, 0)), FAMILIES),
    "irfft2": (lambda x: np.fft.irfft2(x, (3, 3)), COMPLEX),
    "convolve": (lambda x: np.convolve(x, [1.0, -2.0, 0.5], "same"), VECTORS),
    "convolve with a longer one": (lambda x: np.convolve(x, np.arange(6.0), "valid"), VECTORS),
    "convolve with itself": (lambda x: np.convolve(x, x), VECTORS),
    "correlate": (lambda x: np.correlate(x, np.arange(6.0), "same"), VECTORS),
    "correlate complex": (lambda x: np.correlate(x[0], x[1], "full"), COMPLEX),
    "linspace": (lambda x: np.linspace(x[0], x[1:3], 5, axis=-1), VECTORS),
    "geomspace": (lambda x: np.geomspace(1.0 + x[3], 9.0, 3), VECTORS),
    "sinc": (np.sinc, VECTORS),
    "i0": (np.i0, VECTORS),
    "unwrap": (lambda x: np.unwrap(4.0 * x, axis=0), FAMILIES),
    "vander": (lambda x: np.vander(x, 3, increasing=True), VECTORS),
    "interp": (lambda x: np.interp(x, [0.0, 1.0, 2.0, 5.0], [1.0, -1.0, 3.0, 4.0]), VECTORS),
    "bincount": (lambda x: np.bincount([0, 2, 2, 0], x, 4), VECTORS),
    "choose": (lambda x: np.choose((x > 1.5).astype(int), [x * x, 2.0 * x]), VECTORS),
    "select": (lambda x: np.select([x > 1.9, x > 0.0], [x * x, x], -1.0), VECTORS),
    "sum, where": (lambda x: np.sum(x * x, where=x > 1.0), VECTORS),
    "prod, where": (lambda x: np.prod(x, 0, where=x > 0.5), FAMILIES),
    "max, where": (lambda x: np.max(x, where=x < 2.5, initial=-9.0), VECTORS),
    "mean, where": (lambda x: np.mean(x, 0, where=x > -2.5), FAMILIES),
    "at max": (lambda x: fnp.at(x)[np.array([0, 0, 2])].max(x[1:]), VECTORS),
    "cov": (np.cov, FAMILIES),
    "average": (lambda x: np.average(x, weights=1.0 + x * x), VECTORS),
    "gradient": (np.gradient, VECTORS),
    "diff": (lambda x: np.diff(x, 2, 0), FAMILIES),
    "corrcoef": (lambda x: np.corrcoef(x)[0, 1], SQUARES),
}
"""Name -> function of one example, and examples."""

_QUESTIONS: dict[str, tuple[Any, Any]] = {
    "argmax": (np.argmax, VECTORS),
    "argmax, keepdims": (lambda x: np.argmax(x, keepdims=True), FAMILIES),
    "argmin along an axis": (lambda x: np.argmin(x, 0, keepdims=True), FAMILIES),
    "argsort": (lambda x: np.argsort(x, kind="stable"), VECTORS),
    "argsort of all": (lambda x: np.argsort(x, None, kind="stable"), FAMILIES),
    "argpartition": (lambda x: np.argpartition(x, 0)[0], VECTORS[::2]),
    "nanargmin": (np.nanargmin, HOLES),
    "searchsorted": (lambda x: np.searchsorted([0.0, 1.0, 2.0], x, side="right"), VECTORS),
    "digitize": (lambda x: np.digitize(x, [0.0, 1.0, 2.0]), VECTORS),
    "isin": (lambda x: np.isin(x, [0.0, 2.0]), VECTORS),
    "sum of a mask": (lambda x: np.sum(x > 1.0, 0, dtype=np.intp), FAMILIES),
    "count_nonzero": (lambda x: np.count_nonzero(x, 0), FAMILIES),
    "rank": (np.linalg.matrix_rank, SINGULAR),
    "full_like": (lambda x: np.full_like(x, 2.0), FAMILIES),
    "triu_indices_from": (lambda x: np.stack(np.triu_indices_from(x)), SQUARES),
}

_ALL = {**_CASES, **_QUESTIONS}


@pytest.fixture
def no_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever goes through the examples one by one fails."""

    def refuse(function: Any, *rest: Any) -> Any:
        raise AssertionError(f"{function} is called for each example")

    monkeypatch.setattr(batching, "call_of_one", refuse)


@pytest.mark.parametrize("name", _ALL)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_values_are_those_of_each_example(name: str) -> None:
    f, xs = _ALL[name]
    wanted = _loop(f, xs)
    _assert_same(vmap(f)(xs), wanted)
    _assert_same(vmap(f)(xs[1:2]), tree.map(lambda part: part[1:2], wanted))
    _assert_same(vmap(vmap(f))(np.stack([xs, xs[::-1]])), tree.map(lambda part: np.stack([part, part[::-1]]), wanted))


@pytest.mark.parametrize("name", _CASES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_derivatives_are_those_of_each_example(name: str) -> None:
    f, xs = _CASES[name]
    cts, ts = like(_loop(f, xs), 1), like(xs, 2)

    def pull(x: Any, ct: Any) -> Any:
        return vjp(f, x)[1](ct)[0]

    def push(x: Any, t: Any) -> Any:
        return jvp(f, (x,), (t,))[1]

    pulled, pushed = _loop(pull, xs, cts), _loop(push, xs, ts)
    _assert_same(vmap(pull)(xs, cts), pulled)
    _assert_same(vmap(push)(xs, ts), pushed)
    _assert_same(vmap(pull)(xs[2:], cts[2:]), pulled[2:])
    _assert_same(vjp(vmap(f), xs)[1](cts)[0], pulled)
    pullback = vjp(f, xs[1])[1]
    _assert_same(vmap(lambda ct: pullback(ct)[0])(cts), _loop(lambda ct: pullback(ct)[0], cts))


@pytest.mark.parametrize("name", [name for name in _ALL if name != "det of singular matrices"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_without_examples_shapes_and_dtypes_are_the_same(name: str) -> None:
    f, xs = _ALL[name]
    one = f(xs[0])
    found = vmap(f)(xs[:0])
    assert found.shape == (0, *np.shape(one))
    assert found.dtype == np.asarray(one).dtype
    if name in _CASES:
        pulled = vmap(lambda x, ct: vjp(f, x)[1](ct)[0])(xs[:0], np.zeros_like(found))
        assert pulled.shape == xs[:0].shape
        assert pulled.dtype == xs.dtype


@pytest.mark.usefixtures("no_loops")
@pytest.mark.parametrize("name", [name for name in _ALL if name != "rank"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_all_examples_are_computed_at_once(name: str) -> None:
    f, xs = _ALL[name]
    vmap(f)(xs)
    if name in _CASES:
        vmap(grad(lambda x: np.sum(np.abs(f(x)))))(xs)


# ------------------------------------------------------------------------------------------------ several operands

_PAIRS: dict[str, tuple[Any, Any, Any]] = {
    "interp at, through": (lambda x, fp: np.interp(x, [0.0, 1.0, 2.0, 5.0], fp), VECTORS, VECTORS[::-1]),
    "interp at, knots": (lambda x, xp: np.interp(x, xp, [2.0, 5.0, 3.0, 4.0]), VECTORS, np.sort(VECTORS + np.arange(4.0), -1)),
    "interp, period": (lambda x, p: fnp.interp(x, np.arange(4.0), np.arange(4.0) ** 2, period=p), VECTORS, np.array([4.0, 5.0, 6.0])),
    "solve": (np.linalg.solve, SQUARES, SQUARES[:, 0]),
    "solve, columns": (np.linalg.solve, SQUARES, SQUARES[:, :, 1:]),
    "lstsq": (lambda a, b: np.append(*np.linalg.lstsq(a, b, rcond=None)[:2]), FAMILIES[[0, 2]], VECTORS[:2, :3]),
    "polyfit": (lambda x, y: np.polyfit(x, y, 1), np.sort(VECTORS + np.arange(4.0)), VECTORS),
    "convolve": (lambda a, v: np.convolve(a, v[:3]), VECTORS, VECTORS[::-1]),
    "convolve, same": (lambda a, v: np.convolve(a, v[:2], "same"), VECTORS, VECTORS[::-1]),
    "convolve, valid": (lambda a, v: np.convolve(a[:2], v, "valid"), VECTORS, VECTORS[::-1]),
    "correlate": (lambda a, v: np.correlate(a, v[:2], "same"), VECTORS, VECTORS[::-1]),
    "correlate, longer": (lambda a, v: np.correlate(a[:3], v, "same"), VECTORS, VECTORS[::-1]),
    "correlate, complex": (lambda a, v: np.correlate(a[0], v[0, :2], "full"), COMPLEX, COMPLEX[::-1]),
    "quantile": (np.quantile, VECTORS, np.array([0.2, 0.5, 0.9])),
    "quantiles": (np.quantile, VECTORS, np.array([[0.2, 0.9], [0.5, 0.5], [0.0, 1.0]])),
    "linspace": (lambda a, b: np.linspace(a, b, 4), VECTORS, VECTORS[:, 0]),
    "cross": (lambda a, b: np.cross(a[:3], b, axisb=0), VECTORS, FAMILIES),
    "inner": (lambda a, b: np.inner(a, b[:2]), FAMILIES, VECTORS),
    "vdot": (np.vdot, COMPLEX, COMPLEX[::-1]),
    "multi_dot": (lambda a, b: np.linalg.multi_dot([a[0], a, b.T, b[:, 0]]), SQUARES, SQUARES[::-1]),
    "logspace": (lambda a, b: np.logspace(a, 1.0, 3, base=b), VECTORS[:, 0], np.array([2.0, 3.0, 4.0])),
    "searched knots": (lambda a, x: x * np.searchsorted(np.sort(a), x), VECTORS, VECTORS[::-1]),
    "append": (np.append, VECTORS, FAMILIES),
}
"""Name -> function of two arguments, and examples of each."""


@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)])
@pytest.mark.parametrize("name", _PAIRS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_either_operand_may_be_the_same_for_all(name: str, axes: tuple[int | None, int | None]) -> None:
    f, xs, ys = _PAIRS[name]
    given = [one if axis == 0 else one[1] for one, axis in zip((xs, ys), axes, strict=True)]
    spread = [one if axis == 0 else np.stack([one[1]] * len(one)) for one, axis in zip((xs, ys), axes, strict=True)]
    wanted = _loop(f, *spread)
    _assert_same(vmap(f, in_axes=axes)(*given), wanted)
    cts = like(wanted, 3)

    def pull(x: Any, y: Any, ct: Any) -> Any:
        return vjp(f, x, y)[1](ct)

    def push(x: Any, y: Any, ct: Any) -> Any:
        return jvp(f, (x, y), (np.cos(x), np.sin(y)))[1]

    for rule in (pull, push):
        _assert_same(vmap(rule, in_axes=(*axes, 0))(*given, cts), _loop(rule, *spread, cts))


def test_weights_of_quantiles_may_be_mapped() -> None:
    if NUMPY < (2, 0):
        pytest.skip("NumPy 1 has no weights")

    def f(x: Any, w: Any) -> Any:
        return np.quantile(x, [0.3, 0.6], weights=w, method="inverted_cdf")

    weights = np.array([[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0], [1.0, 1.0, 1.0, 1.0]])
    _assert_same(vmap(f)(VECTORS, weights), _loop(f, VECTORS, weights))

    def slope(x: Any, w: Any) -> Any:
        return grad(lambda y: np.sum(f(y, w) ** 2))(x)

    _assert_same(vmap(slope)(VECTORS, weights), _loop(slope, VECTORS, weights))


_INDICES = np.array([2, 0, 1])


@pytest.mark.parametrize(
    "f",
    [
        lambda x, n: np.roll(x, n),
        lambda x, n: np.insert(x, n, 7.0 * x[0]),
        lambda x, n: np.delete(x, n),
        lambda x, n: np.partition(x, n)[n] * x,
        lambda x, n: np.take(x, n) * x,
        lambda x, n: np.choose(n, [x[0], x[1] ** 2, x[2] * x[3]]),
        lambda x, n: np.choose(n + 1, [x[0], x[1] ** 2], mode="wrap"),
        lambda x, n: np.choose(n + 1, [x[0], x[1] ** 2], mode="clip"),
        lambda x, n: np.diff(x)[n],
        lambda x, n: np.multiply.reduceat(x, np.array([0, 1]) + n),
        lambda x, n: np.add.reduceat(x, np.array([0, 1]) + n),
        lambda x, n: np.bincount(np.array([3, 1]) * (n + 3) % 4, x[:2], 4),
        lambda x, n: fnp.at(x)[n].set(x[0] * 5.0),
        lambda x, n: np.sum(x, where=np.arange(4) > n),
        lambda x, n: np.prod(x, where=np.arange(4) != n),
    ],
)
def test_indices_may_be_mapped(f: Any) -> None:
    _assert_same(vmap(f)(VECTORS, _INDICES), _loop(f, VECTORS, _INDICES))

    def slope(x: Any, n: Any) -> Any:
        return grad(lambda y: np.sum(f(y, n) ** 2))(x)

    def move(x: Any, n: Any) -> Any:
        return jvp(lambda y: f(y, n), (x,), (np.ones(4),))[1]  # a tangent that is the same for all

    _assert_same(vmap(slope)(VECTORS, _INDICES), _loop(slope, VECTORS, _INDICES))
    _assert_same(vmap(move)(VECTORS, _INDICES), _loop(move, VECTORS, _INDICES))


def test_a_choice_out_of_range_is_refused_as_by_numpy() -> None:
    with pytest.raises(ValueError, match="invalid entry in choice array"):
        vmap(lambda x, n: np.choose(n, [x, 2.0 * x]))(VECTORS, _INDICES)


# ------------------------------------------------------------------------------------------------ whole numbers

_WHOLE = np.array([[3, 1, 2, 5], [2, 2, 0, 2], [0, -1, 0, 4]])


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.bool_])
@pytest.mark.parametrize(
    "f",
    [
        np.sum,
        np.mean,
        np.prod,
        lambda x: np.var(x, where=[True, False, True, True]),
        lambda x: np.std(x),
        np.nanmean,
        lambda x: np.nanstd(x, ddof=1),
        np.cumprod,
        np.median,
        lambda x: np.vander(x, 3),
        lambda x: np.diff(x),
        lambda x: np.gradient(x + 0),
        lambda x: np.pad(x, 1, "mean"),
        lambda x: np.pad(x, 2, "reflect", reflect_type="odd"),
        lambda x: np.logaddexp.reduce(x),
        lambda x: np.hypot.reduce(x, initial=0.5),
        lambda x: np.subtract.accumulate(x + 0),
        lambda x: np.fft.fft(x),
        lambda x: np.linalg.norm(x),
        lambda x: np.convolve(x, [1, 2, 3]),
        lambda x: np.linspace(x[0], x[1], 3),
        lambda x: fnp.at(x)[1].divide(2.0),
        lambda x: np.interp(x, [0, 1, 2], [5, 3, 4]),
        lambda x: np.diag(x),
        lambda x: np.sort(x)[::-1],
        lambda x: np.unwrap(x),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_mapped_whole_numbers_give_what_numpy_gives(f: Any, dtype: Any) -> None:
    xs = _WHOLE.astype(dtype)
    _assert_same(vmap(f)(xs), _loop(f, xs))


# ------------------------------------------------------------------------------------------------ functions of the user's


def _steep(x: Any) -> Any:
    return x * x if x > 1.0 else -x


@pytest.mark.parametrize(
    "f",
    [
        lambda x, s: np.piecewise(x, [x > 1.5, x < 0.5], [lambda part: part - np.mean(part), 2.0, lambda part: part**2]),
        lambda x, s: fnp.piecewise(x, [x > 1.5], [lambda part: s * part, lambda part: part / s]),
        lambda x, s: fnp.piecewise(np.arange(4.0), [np.arange(4) > 1], [lambda part: s * part, s]),
        lambda x, s: fnp.piecewise(x, [x > s], [s, 0.0]),
        lambda x, s: fnp.vectorize(_steep)(x),
        lambda x, s: fnp.vectorize(lambda one: s * _steep(one))(x),
        lambda x, s: fnp.vectorize(lambda one: s * one)(np.arange(3.0)),
        lambda x, s: fnp.apply_along_axis(lambda line: s * np.sort(line), 0, x),
    ],
)
def test_functions_that_ask_values_see_one_example(f: Any) -> None:
    scales = np.array([2.0, 0.5, 3.0])
    _assert_same(vmap(f)(VECTORS, scales), _loop(f, VECTORS, scales))
    _assert_same(vmap(f, in_axes=(0, None))(VECTORS, 2.0), _loop(lambda x: f(x, 2.0), VECTORS))

    def slopes(x: Any, s: Any) -> Any:
        return grad(lambda y, r: np.sum(f(y, r) ** 2), argnums=(0, 1))(x, s)

    def both(xs: Any, ss: Any) -> Any:
        return np.sum(vmap(f)(xs, ss) ** 2)

    _assert_same(vmap(slopes)(VECTORS, scales), _loop(slopes, VECTORS, scales))
    _assert_same(grad(both, argnums=(0, 1))(VECTORS, scales), _loop(slopes, VECTORS, scales))
    assert vmap(f)(VECTORS[:0], scales[:0]).shape == (0, *f(VECTORS[0], 2.0).shape)


# ------------------------------------------------------------------------------------------------ shapes that values decide

_EQUAL = np.array([[3.0, 1.0, 3.0, 2.0], [1.0, 1.0, 2.0, 5.0]])
"""Of three different elements each."""


@pytest.mark.parametrize(
    "f",
    [
        np.unique,
        lambda x: np.unique(x, return_counts=True),
        lambda x: np.union1d(x, [9.0]),
        lambda x: np.intersect1d(x, [1.0, 2.0]),
        lambda x: np.setdiff1d(x, [1.0]),
        lambda x: np.trim_zeros(x - 3.0 * (x == 3.0), "b"),
        lambda x: np.extract(x > np.median(x), x),
        lambda x: np.histogram(x, 3, weights=x)[0],
        lambda x: np.histogram(x, 2)[1],
        lambda x: np.polydiv(x, [1.0, 2.0])[0],
        lambda x: np.roots(x),
        lambda x: fnp.arange(x[1], x[1] + 3.0, 1.0),
    ],
)
def test_shapes_that_values_decide_are_taken_if_all_are_the_same(f: Any) -> None:
    _assert_same(vmap(f)(_EQUAL), _loop(f, _EQUAL))

    def slope(x: Any) -> Any:
        return grad(lambda y: sum(np.sum(np.real(part) ** 2) for part in tree.leaves(f(y))))(x)

    _assert_same(vmap(slope)(_EQUAL), _loop(slope, _EQUAL))


@pytest.mark.parametrize(
    "f",
    [np.unique, lambda x: np.trim_zeros(x), np.flatnonzero, lambda x: np.setdiff1d(x, [2.0]), lambda x: fnp.arange(0.0, x[0], 1.0)],
)
def test_shapes_that_differ_are_refused(f: Any) -> None:
    with pytest.raises(ConcretizationError, match="another shape for each example"):
        vmap(f)(VECTORS)


def test_residuals_of_some_examples_alone_are_refused() -> None:
    matrices = np.array([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]])
    found = vmap(lambda a: np.linalg.lstsq(a, np.ones(3), rcond=None)[0])
    with pytest.raises(ConcretizationError, match="another shape for each example"):
        found(matrices)
    _assert_same(found(matrices[1:]), _loop(lambda a: np.linalg.lstsq(a, np.ones(3), rcond=None)[0], matrices[1:]))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_determinants_of_matrices_of_every_rank_and_of_one_with_nan() -> None:
    matrices = np.concatenate([SINGULAR, np.full((1, 3, 3), _NAN)])
    found = vmap(grad(np.linalg.det))(matrices)
    np.testing.assert_allclose(found[:4], _loop(grad(np.linalg.det), SINGULAR), atol=1e-13)
    assert np.isnan(found[4]).all()
    # The cofactors of a matrix of rank 2, by hand.
    np.testing.assert_allclose(found[1], [[4.0, 4.0, -4.0], [-2.0, -2.0, 2.0], [0.0, 0.0, 0.0]], atol=1e-13)


def test_ties_of_one_example_do_not_spill_into_another() -> None:
    np.testing.assert_array_equal(vmap(grad(np.max))(VECTORS), [[1, 0, 0, 0], [1 / 3, 1 / 3, 0, 1 / 3], [0, 0, 0, 1]])
    np.testing.assert_array_equal(vmap(grad(np.median))(VECTORS), [[0, 0, 0.5, 0.5], [1 / 3, 1 / 3, 0, 1 / 3], [0.5, 0, 0.5, 0]])
    np.testing.assert_array_equal(vmap(grad(np.prod))(VECTORS), [[3, 9, 4.5, 6], [0, 0, 8, 0], [0, 0, 0, 0]])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_zero_and_nan_of_one_example_leave_the_others_alone() -> None:
    np.testing.assert_allclose(vmap(grad(np.linalg.norm))(np.array([[3.0, 4.0], [0.0, 0.0]])), [[0.6, 0.8], [0.0, 0.0]], rtol=1e-15)
    found = vmap(grad(lambda x: np.sum(np.where(x > 0, np.log(x), 0.0))))(np.array([[1.0, 2.0], [0.0, 4.0]]))
    np.testing.assert_array_equal(found, [[1.0, 0.5], [0.0, 0.25]])
    np.testing.assert_array_equal(vmap(np.sort)(HOLES)[0], [1.0, 1.5, 2.0, 3.0])
