"""The table of cases: every primitive and every NumPy function that has an operation, each with the arguments to try it at.

Owns what is called and where. What must hold there is in `test_laws.py`; values at special points stand in `test_special_values.py`.
Points keep their distance from kinks, ties and the ends of domains, so that differences are a fair witness.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from funcgrad.ops import indexing, neural, operators, reductions

_RNG = np.random.default_rng(20)


def _sizes(first: float, shape: tuple[int, ...]) -> np.ndarray:
    size = int(np.prod(shape, dtype=int))
    steps = np.arange(first, first + 2.2, 0.08)
    return (_RNG.choice(steps, size, replace=size > steps.size) + _RNG.uniform(-0.01, 0.01, size)).reshape(shape)


def positive(*shape: int) -> np.ndarray:
    """Between 0.2 and 2.4; up to 28 of them, no two within 0.06 of each other."""
    return _sizes(0.2, shape)


def real(*shape: int) -> np.ndarray:
    """As `positive`, with signs."""
    return positive(*shape) * _RNG.choice([-1.0, 1.0], shape)


def other(*shape: int) -> np.ndarray:
    """As `real`, no size within 0.02 of one of `real`: no ties."""
    return _sizes(0.24, shape) * _RNG.choice([-1.0, 1.0], shape)


def unit(*shape: int) -> np.ndarray:
    """Between -1 and 1, at least 0.06 from -1, 0 and 1."""
    return real(*shape) / 2.6


def above_one(*shape: int) -> np.ndarray:
    return 1.0 + positive(*shape)


def divisor(*shape: int) -> np.ndarray:
    """Above all of `real`, so that no quotient with one is near a whole number."""
    return positive(*shape) + 2.6


@dataclass(frozen=True, eq=False)
class Case:
    """One way to call one function.

    Attributes:
        function: the function that it is a case of.
        args: the float arrays or Python floats to differentiate with respect to.
        options: static keyword arguments.
        call: `(function, *args) -> result` where it is not `function(*args, **options)`.
        is_analytic: whether the complex step may be tried.
        is_elementwise: whether it was made by `_elementwise`.
        note: what tells it from other cases of the same function and shapes.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)
    call: Callable[..., Any] | None = None
    is_analytic: bool = True
    is_elementwise: bool = False
    note: str = ""

    def __call__(self, *args: Any) -> Any:
        if self.call is not None:
            return self.call(self.function, *args)
        return self.function(*args, **self.options)

    def in_argument(self, n: int, args: tuple[Any, ...]) -> Callable[[Any], Any]:
        """The function of one argument alone."""
        return lambda x: self(*args[:n], x, *args[n + 1 :])

    def fresh(self, dtype: Any = None) -> tuple[Any, ...]:
        """Copies of the arguments, of another dtype if one is given; Python floats stay."""
        return tuple(arg if type(arg) is float else np.array(arg, dtype or arg.dtype) for arg in self.args)

    @property
    def key(self) -> Any:
        """What the function is registered as: itself, or a ufunc with the name of its method."""
        ufunc = getattr(self.function, "__self__", None)
        return (ufunc, self.function.__name__) if isinstance(ufunc, np.ufunc) else self.function

    @property
    def name(self) -> str:
        key = self.key
        return f"{key[0].__name__}.{key[1]}" if type(key) is tuple else str(key.__name__)

    def __str__(self) -> str:
        shapes = " ".join("float" if type(arg) is float else "x".join(map(str, arg.shape)) or "0d" for arg in self.args)
        return "-".join(filter(None, [self.name, shapes, self.note or " ".join(f"{k}={v}" for k, v in self.options.items())]))


def case(function: Any, *args: Any, call: Any = None, note: str = "", analytic: bool = True, **options: Any) -> Case:
    return Case(function, args, options, call, analytic, note=note)


_SHAPES: dict[int, list[Any]] = {
    1: [((2, 3),), ((),), ((0,),)],
    2: [((2, 3), (2, 3)), ((3,), (2, 3)), ((2, 1), (3,)), ((), (4,)), ((3,), ()), ((0, 2), (2,)), ((), ())],
}


def _elementwise(*rows: tuple[Any, ...]) -> list[Case]:
    """For each (function, a maker for each argument): arguments of one shape, of several, without axes, without elements, and floats."""
    found = []
    for function, *makers in rows:
        args: list[Any] = [[np.asarray(make(*one)) for make, one in zip(makers, shapes, strict=True)] for shapes in _SHAPES[len(makers)]]
        args.append([float(make(1)[0]) for make in makers])
        found += [Case(function, tuple(each), is_analytic=function is not np.conjugate, is_elementwise=True) for each in args]
    return found


ELEMENTWISE = _elementwise(
    (np.add, real, other), (np.subtract, real, other), (np.multiply, real, other), (np.divide, real, other), (np.negative, real),
    (np.positive, real), (np.reciprocal, real), (np.square, real), (np.absolute, real), (np.fabs, real), (np.conjugate, real),
    (np.power, positive, other), (np.float_power, positive, other), (np.remainder, real, divisor), (np.fmod, real, divisor),
    (np.sqrt, positive), (np.cbrt, real), (np.exp, real), (np.exp2, real), (np.expm1, real), (np.log, positive), (np.log2, positive),
    (np.log10, positive), (np.log1p, positive), (np.logaddexp, real, other), (np.logaddexp2, real, other),
    (np.sin, real), (np.cos, real), (np.tan, unit), (np.arcsin, unit), (np.arccos, unit), (np.arctan, real),
    (np.sinh, real), (np.cosh, real), (np.tanh, real), (np.arcsinh, real), (np.arccosh, above_one), (np.arctanh, unit),
    (np.arctan2, real, other), (np.hypot, real, other),
    (np.deg2rad, real), (np.rad2deg, real), (np.radians, real), (np.degrees, real),
    (np.maximum, real, other), (np.minimum, real, other), (np.fmax, real, other), (np.fmin, real, other),
    (np.copysign, real, other), (np.nextafter, real, other), (np.heaviside, real, other), (np.divmod, real, divisor), (np.modf, real),
    (neural.relu, real), (neural.sigmoid, real),
)  # fmt: skip

M, C = real(2, 3), real(2, 3, 4)
TRUTH = np.array([[True, False, True], [False, False, True]])

ELEMENTWISE += [
    *(case(ufunc.outer, first(3), other(2, 2)) for ufunc, first in [
        (np.add, real), (np.subtract, real), (np.multiply, real), (np.divide, real), (np.power, positive), (np.maximum, real),
        (np.minimum, real), (np.arctan2, real), (np.hypot, real), (np.logaddexp, real)]),
    case(np.where, real(2, 3), real(2, 3), call=lambda f, x, y: f(TRUTH, x, y), note="array"),
    case(np.where, real(3), real(2, 1), call=lambda f, x, y: f(TRUTH, x, y), note="broadcast"),
    case(np.where, real(), real(), call=lambda f, x, y: f(TRUTH, x, y), note="both stretched"),
    case(np.where, real(3), call=lambda f, x: f(x > 0, x * x, 2.0), note="constant"),
    case(np.where, 0.7, 0.4, call=lambda f, x, y: f(x > 0, x, y), note="floats"),
    case(np.ldexp, real(3), call=lambda f, x: f(x, np.array([2, -1, 3]))),
    case(np.ldexp, real(2, 1), call=lambda f, x: f(x, np.array([2, -1, 3])), note="broadcast"),
    case(np.frexp, real(3) * 8.0, call=lambda f, x: f(x)[0]),
    case(np.clip, np.array([-1.5, -0.4, 0.3, 1.7]), call=lambda f, x: f(x, -1.0, 1.0), note="numbers"),
    case(np.clip, np.array([-1.5, -0.4, 0.3, 1.7]), real(2, 1) - 3.0, call=lambda f, x, low: f(x, low, 0.5), note="bound"),
    case(np.clip, np.array([-1.5, -0.4, 0.3, 1.7]), call=lambda f, x: f(x, None, 1.0), note="above only"),
    case(np.clip, np.array([-1.5, -0.4, 0.3, 1.7]), call=lambda f, x: f(x, a_min=-1.0, a_max=None), note="below only"),
    case(np.ldexp, 0.7, call=lambda f, x: f(x, 3)), case(np.frexp, 5.7, call=lambda f, x: f(x)[0]),
    case(np.clip, 0.7, call=lambda f, x: f(x, 0.0, 1.0), note="float"), case(np.power, -1.7, call=lambda f, x: f(x, 3), note="float"),
    case(np.power, real(3), call=lambda f, x: f(x, 3), note="whole exponent"),
    case(np.power, real(3), call=lambda f, x: f(x, np.array([0, 1, 3])), note="whole exponents"),
    case(np.power, real(2, 1), call=lambda f, x: f(x, -2.0), note="negative exponent"),
    case(np.power, real(3), call=lambda f, y: f(2.5, y), note="constant base"),
]  # fmt: skip

STRUCTURAL = [
    case(np.reshape, M, call=lambda f, x: f(x, (3, 2))),
    case(np.reshape, C, call=lambda f, x: f(x, (-1, 4))),
    case(np.reshape, M, call=lambda f, x: f(x, 6, order="F"), note="order F"),
    case(np.reshape, real(), call=lambda f, x: f(x, (1, 1)), note="0d"),
    case(np.reshape, 0.7, call=lambda f, x: f(x, (1,)), note="float"),
    case(np.ravel, C), case(np.ravel, C, order="F"), case(np.ravel, real()),
    case(np.transpose, M), case(np.transpose, C), case(np.transpose, C, axes=(1, 2, 0)), case(np.transpose, C, axes=(-1, 0, 1)),
    case(np.transpose, real(3)),
    case(np.swapaxes, C, axis1=0, axis2=-1), case(np.moveaxis, C, source=0, destination=-1),
    case(np.moveaxis, C, source=(0, 1), destination=(-1, -2)), case(np.moveaxis, C, source=[2, 0], destination=[0, 1]),
    case(np.squeeze, real(1, 3, 1)), case(np.squeeze, real(1, 3, 1), axis=0), case(np.squeeze, real(1, 3, 1), axis=(0, -1)),
    case(np.expand_dims, M, axis=0), case(np.expand_dims, M, axis=-1), case(np.expand_dims, M, axis=(0, -1)),
    case(np.broadcast_to, real(3), shape=(2, 3)), case(np.broadcast_to, real(2, 1), shape=(4, 2, 3)),
    case(np.broadcast_to, real(), shape=(2,)),
    case(np.broadcast_to, real(1), shape=3), case(np.broadcast_to, 0.7, shape=(2, 2)),
    case(np.roll, M, shift=2), case(np.roll, M, shift=1, axis=1), case(np.roll, M, shift=(1, -2), axis=(0, 1)),
    case(np.roll, C, shift=1, axis=(0, 2)),
    case(np.tile, real(3), reps=2), case(np.tile, M, reps=(2, 1)), case(np.tile, real(3), reps=(2, 2)), case(np.tile, C, reps=2),
    case(np.tile, 0.7, reps=3),
    case(np.pad, real(4), pad_width=2), case(np.pad, M, pad_width=((1, 0), (2, 3))), case(np.pad, M, pad_width=(1, 2)),
    case(np.pad, M, pad_width=1, constant_values=4.0), case(np.pad, M, pad_width=1, mode="edge"),
    case(np.pad, M, pad_width=1, mode="reflect"),
    case(np.pad, M, pad_width=((1, 1), (0, 2)), mode="symmetric"), case(np.pad, M, pad_width=2, mode="wrap"),
    case(np.concatenate, M, real(2, 2), call=lambda f, x, y: f([x, y], 1), note="axis 1"),
    case(np.concatenate, M, real(1, 3), call=lambda f, x, y: f((x, y)), note="axis 0"),
    case(np.concatenate, M, call=lambda f, x: f([x, np.ones((2, 2)), 2.0 * x], axis=-1), note="with a constant"),
    case(np.concatenate, M, real(4), call=lambda f, x, y: f([x, y], axis=None), note="axis None"),
    case(np.concatenate, M, call=lambda f, x: f(x), note="rows of an array"),
    case(np.concatenate, M, real(0, 3), call=lambda f, x, y: f([x, y]), note="with an empty one"),
    case(np.stack, real(3), real(3), call=lambda f, x, y: f([x, y])),
    case(np.stack, M, real(2, 3), call=lambda f, x, y: f((x, y, x), axis=-1), note="axis -1"),
    case(np.stack, real(), 0.7, call=lambda f, x, y: f([x, y, 1.0]), note="numbers"),
    case(np.flip, M), case(np.flip, M, axis=0), case(np.flip, C, axis=(0, -1)), case(np.fliplr, M), case(np.flipud, M),
    case(np.split, real(6), indices_or_sections=3), case(np.split, M, indices_or_sections=[1], axis=1),
    case(np.split, M, indices_or_sections=2),
    case(np.split, real(4, 2), indices_or_sections=[1, 3], axis=0, note="uneven"), case(np.array_split, real(5), indices_or_sections=3),
    case(np.array_split, M, indices_or_sections=2, axis=-1), case(np.split, real(4), indices_or_sections=[2, 2], note="an empty part"),
    case(operators.astype, real(3), call=lambda f, x: x.astype(np.float64), note="same", analytic=False),
    case(operators.in_kind, real(), call=lambda f, x: f(x, np.ndarray, x.dtype), note="as an array"),
    case(operators.in_kind, real(), call=lambda f, x: f(x, x.dtype.type, x.dtype), note="as a scalar"),
    case(operators.astype, real(3), call=lambda f, x: x.astype(np.longdouble), note="wider", analytic=False),
]  # fmt: skip

INDEXING = [
    *(
        case(indexing.getitem, C, call=lambda f, x, index=index: x[index], note=note)
        for note, index in {
            "number": 1,
            "negative": -1,
            "slice": slice(None, None, -1),
            "steps": (slice(None), slice(0, 3, 2)),
            "ellipsis": (..., 1),
            "new axis": (None, 0, ..., None),
            "one element": (1, 2, 3),
            "list with repeats": [1, 0, 1],
            "array with repeats": np.array([[0, 1], [1, 1]]),
            "arrays": (np.array([0, 1, 1]), np.array([2, 0, 0])),
            "array and slice": (slice(None), np.array([2, 0, 2])),
            "arrays apart": (np.array([0, 1, 1]), slice(1, 3), np.array([3, 0, 3])),
            "negative array": np.array([-1, 0, -2]),
            "mask": np.abs(C) > 1.0,
            "mask of an axis": (slice(None), np.array([True, False, True])),
            "empty": slice(0, 0),
            "empty array": np.array([], int),
            "numpy integer": np.int64(1),
            "0d array": np.array(1),
            "array and new axis": (None, np.array([1, 1])),
        }.items()
    ),
    case(indexing.scatter, M, call=lambda f, x: f(x, (4, 3), np.array([0, 0])), note="repeats", analytic=False),
    case(np.take, M, indices=[0, 4, 4]), case(np.take, M, indices=[0, 0], axis=0), case(np.take, M, indices=[[2, -1], [2, 0]], axis=-1),
    case(np.take, M, indices=1), case(np.take, M, indices=2, axis=1), case(np.take, M, indices=[5, -4, 7], axis=1, mode="wrap"),
    case(np.take, M, indices=[5, 0], axis=1, mode="clip"),
    case(np.take_along_axis, M, indices=np.array([[0, 0, 1], [1, 0, 1]]), axis=0),
    case(np.take_along_axis, M, indices=np.array([[2], [2]]), axis=1),
    case(np.take_along_axis, C, indices=np.array([[[0, 2, 2, 1]]]), axis=-2),
    case(np.take_along_axis, M, indices=np.array([4, 4, 0]), axis=None),
    case(np.repeat, M, repeats=2), case(np.repeat, M, repeats=2, axis=0), case(np.repeat, M, repeats=[1, 0, 3], axis=1),
    case(np.repeat, 0.7, repeats=3),
]  # fmt: skip


def _reduction(function: Any, make: Any = real) -> list[Case]:
    axes: list[dict[str, Any]] = [{}, {"axis": 0}, {"axis": (0, 2)}, {"axis": ()}]
    axes += [{"axis": -1, "keepdims": True}, {"keepdims": True}, {"axis": (1, -1), "keepdims": True}]
    found = [case(function, make(2, 3, 4), **options) for options in axes]
    return [*found, case(function, make(5)), case(function, make()), case(function, make(1, 1), axis=1)]


REDUCTIONS = [
    *_reduction(np.sum), *_reduction(np.mean), *_reduction(np.prod), *_reduction(np.max), *_reduction(np.min),
    *_reduction(np.var), *(one for one in _reduction(np.std) if one.options.get("axis") != () and one.args[0].size > 1),
    *(case(function, make(2, 3), **options) for function in (np.add.reduce, np.multiply.reduce, np.maximum.reduce, np.minimum.reduce)
      for make in (real,) for options in ({}, {"axis": 1, "keepdims": True}, {"axis": None}, {"axis": (0, 1)})),
    case(np.add.accumulate, M), case(np.add.accumulate, M, axis=-1),
    case(np.amax, M, axis=1), case(np.amin, M, axis=1),
    case(np.var, M, axis=0, ddof=1), case(np.std, M, axis=1, ddof=1), case(np.var, M, ddof=1, keepdims=True),
    case(np.sum, real(0, 3), axis=0), case(np.sum, real(0)), case(np.prod, real(0, 3), axis=0), case(np.max, real(0, 3), axis=1),
    case(np.mean, real(3, 0), axis=0), case(np.sum, 0.7), case(np.mean, 0.7), case(np.max, 0.7), case(np.prod, 0.7),
    case(np.cumsum, real(4)), case(np.cumsum, M), case(np.cumsum, M, axis=0), case(np.cumsum, C, axis=-2), case(np.cumsum, real(0)),
    case(np.cumsum, real()),
    *(case(reductions.logsumexp, real(2, 3, 4), call=lambda f, x, axis=axis, keep=keep: f(x, axis, keep), note=f"axis {axis} {keep}")
      for axis, keep in [(None, False), (None, True), (0, False), (-1, True), ((0, 2), False), ((1, 2), True)]),
]  # fmt: skip

CONTRACTIONS = [
    *(case(np.matmul, real(*a), real(*b)) for a, b in [
        ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((5, 2, 3), (5, 3, 2)), ((5, 2, 3), (3, 2)), ((2, 3), (5, 3, 2)),
        ((5, 2, 3), (3,)), ((3,), (5, 3, 2)), ((4, 1, 2, 3), (5, 3, 2)), ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((1, 2, 3), (2, 3, 2)),
        ((1, 3), (3, 1))]),
    *(case(np.dot, real(*a), real(*b)) for a, b in [
        ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((4, 2, 3), (3,)), ((4, 2, 3), (3, 2)), ((2, 3), (5, 3, 2)),
        ((3,), (5, 3, 2)),
        ((4, 2, 3), (5, 3, 2)), ((), (2, 3)), ((2,), ()), ((), ())]),
    case(np.outer, real(3), real(2)), case(np.outer, real(2, 2), real(3)), case(np.outer, real(), real(3)),
    case(np.tensordot, real(2, 3, 4), real(3, 4, 5)), case(np.tensordot, real(2, 3, 4), real(4, 5), axes=1),
    case(np.tensordot, M, real(2), axes=0),
    case(np.tensordot, real(2, 3, 4), real(4, 5, 3), axes=([1, 2], [2, 0])), case(np.tensordot, real(2, 3, 4), real(5, 2), axes=(0, 1)),
    case(np.tensordot, real(2, 3), real(2, 3), axes=((0, 1), (0, 1))), case(np.tensordot, real(2, 3, 4), real(4, 5), axes=(-1, 0)),
    *(case(np.einsum, *(real(*shape) for shape in shapes), call=lambda f, *args, s=subscripts: f(s, *args), note=subscripts)
      for subscripts, shapes in [
        ("ij,jk->ik", [(2, 3), (3, 4)]), ("ij,jk", [(2, 3), (3, 4)]), ("ii->", [(3, 3)]), ("ii->i", [(3, 3)]), ("ii", [(3, 3)]),
        ("ij->ji", [(2, 3)]),
        ("ij->", [(2, 3)]), ("ij->j", [(2, 3)]), ("i,i->i", [(3,), (3,)]), ("i,i", [(3,), (1,)]), ("i,j->ij", [(2,), (3,)]),
        ("nd,nn->d", [(2, 3), (2, 2)]), ("bij,bjk->bik", [(2, 2, 3), (2, 3, 2)]), ("...ij,...jk->...ik", [(4, 2, 3), (3, 2)]),
        ("...i,...i", [(2, 3), (3,)]),
        ("i...->...", [(2, 3)]), ("ij,jk,kl->il", [(2, 3), (3, 2), (2, 4)]), (",i->i", [(), (3,)]), ("iij->j", [(2, 2, 3)]),
        ("ba", [(2, 3)]),
        ("ij,kj->ki", [(2, 3), (4, 3)]), ("...,...", [(2, 1), (3,)]), ("i,i,i->", [(3,), (3,), (3,)]), ("ij,j", [(2, 3), (1,)]),
        ("aab,bc -> ac", [(2, 2, 3), (3, 2)])]),
    case(np.einsum, real(2, 3), real(3, 4), call=lambda f, x, y: f(x, [0, 1], y, [1, 2], [2, 0]), note="lists"),
    case(np.einsum, real(2, 3), real(3, 4), call=lambda f, x, y: f(x, [0, 1], y, [1, 2]), note="lists, implied"),
    case(np.einsum, real(4, 3), call=lambda f, x: f(x, [..., 1], [1, ...]), note="lists, ellipsis"),
    case(np.einsum, real(2, 3), real(3, 4), real(4, 2), call=lambda f, x, y, z: f("ij,jk,kl", x, y, z, optimize=True), note="optimized"),
    case(np.einsum, real(2, 3), call=lambda f, x: f("ij,kj->ik", x, x), note="one array twice"),
]  # fmt: skip

CLASSES = np.array([2, 0, 1, 2])
NEURAL = [
    case(neural.softmax_cross_entropy, real(4, 3), call=lambda f, x: f(x, CLASSES), note="classes"),
    case(neural.softmax_cross_entropy, real(4, 3), call=lambda f, x: f(x, np.eye(3)[CLASSES]), note="one-hot"),
    case(neural.softmax_cross_entropy, real(4, 3), call=lambda f, x: f(x, np.full((4, 3), 0.25)), note="weights"),
    case(neural.softmax_cross_entropy, real(2, 2, 3), call=lambda f, x: f(x, CLASSES.reshape(2, 2)), note="two axes"),
    case(neural.softmax_cross_entropy, real(3), call=lambda f, x: f(x, np.array(1)), note="one row"),
]  # fmt: skip

DIFFERENTIABLE = [*ELEMENTWISE, *STRUCTURAL, *INDEXING, *REDUCTIONS, *CONTRACTIONS, *NEURAL]

CONSTANT = [
    *(case(f, real(2, 3)) for f in (
        np.sign, np.floor, np.ceil, np.trunc, np.rint, np.spacing, np.isnan, np.isinf, np.isfinite, np.signbit, np.logical_not, np.argmax,
        np.argmin, np.round, np.around, np.all,
        np.any, np.count_nonzero, np.argsort, np.zeros_like, np.ones_like, np.shape, np.ndim, np.size)),
    *(case(f, real(2, 3), real(3)) for f in (
        np.floor_divide, np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal, np.logical_and,
        np.logical_or, np.logical_xor, np.isclose, np.allclose, np.array_equal, np.result_type)),
    case(np.argmax, M, axis=1), case(np.argmin, M, axis=0, keepdims=True), case(np.argsort, M, axis=0), case(np.any, M, axis=1),
    case(np.searchsorted, np.array([-1.0, 0.0, 2.0]), real(4)), case(np.where, M, note="condition alone"),
    case(np.empty_like, M, call=lambda f, x: f(x).shape),
]  # fmt: skip

OPERATORS: dict[Any, Callable[..., Any]] = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul, np.divide: operator.truediv, np.power: operator.pow,
    np.remainder: operator.mod, np.matmul: operator.matmul, np.negative: operator.neg, np.positive: operator.pos, np.absolute: operator.abs,
    np.divmod: divmod,
}  # fmt: skip
"""Operators that are another way to call a function."""

METHODS = {
    "clip", "conjugate", "cumsum", "dot", "max", "mean", "min", "prod", "ravel", "repeat", "squeeze", "std", "sum", "take", "var",
    "argmax", "argmin", "argsort", "any", "all", "round",
}  # fmt: skip
"""Methods of arrays with the arguments of the function of that name."""
