"""Python's operators and ndarray's methods on tracers: each is the operation of the same name."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from funcgrad.mapped import TRACERS, Mapped
from funcgrad.ops import contractions, elementwise, extremes, indexing, reductions, structural, updates, writing
from funcgrad.rules import linear
from funcgrad.rules.batching import in_front
from funcgrad.rules.values import raw
from funcgrad.staged import Staged
from funcgrad.tracer import Tracer

_OPERATORS: dict[str, tuple[Any, Callable[[Any, Any], Any]]] = {
    "add": (elementwise.add, operator.add),
    "sub": (elementwise.subtract, operator.sub),
    "mul": (elementwise.multiply, operator.mul),
    "truediv": (elementwise.divide, operator.truediv),
    "pow": (elementwise.power, operator.pow),
    "mod": (elementwise.remainder, operator.mod),
}


def _when_used(method: str, operation: Any, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The reflected form of an operation, which is compiled when it is first used: that takes a tenth of the import's time for all."""

    def first(x: Any, y: Any) -> Any:
        made = operation.variant(function, "v, u")
        setattr(Tracer, method, made)
        return made(x, y)

    return first


for _name, (_operation, _function) in _OPERATORS.items():
    setattr(Tracer, f"__{_name}__", _operation)
    setattr(Tracer, f"__r{_name}__", _when_used(f"__r{_name}__", _operation, _function))
setattr(Tracer, "__pow__", elementwise.power_operator)  # noqa: B010 - as the others


def _reflected(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y: operation(y, x)


for _name, _operation in {
    "floordiv": elementwise.floor_divide,
    "divmod": elementwise.divmod_,
    "matmul": contractions.matmul,
}.items():
    setattr(Tracer, f"__{_name}__", _operation)
    setattr(Tracer, f"__r{_name}__", _reflected(_operation))


def _comparison(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y: function(x._primal, raw(y))


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Tracer, f"__{_name}__", _comparison(getattr(operator, _name)))


def _cast(x: Any, dtype: Any) -> Any:
    return np.asarray(x).astype(dtype)[()]


def _as_constant(x: Any, dtype: Any, casting: Any) -> Any:
    return np.asarray(x).astype(dtype, casting=casting)


def _in_kind(x: Any, kind: type, dtype: Any) -> Any:
    return np.asarray(x, dtype) if kind is np.ndarray else kind(x)


in_kind = linear(_in_kind, lambda ct, shape, kind, dtype: ct, name="in_kind", batch=in_front(lambda x, kind, dtype: x.astype(dtype)))
"""A number as a Python float, a NumPy scalar or an array without axes: whichever the value is that it belongs to."""

_astype = linear(_cast, lambda ct, shape, dtype: ct, name="astype", batch=in_front(lambda x, dtype: x.astype(dtype)))


def astype(x: Tracer, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True) -> Any:
    """x.astype(dtype). Integers and booleans have nothing to differentiate: the result is a constant then."""
    wanted = np.dtype(dtype)
    if structural.is_constant(wanted) or x.dtype.kind not in "fc":
        value = x._primal if type(x) is Tracer else x
        if type(value) is Staged:
            return value.recorded(_as_constant, (value, wanted, casting), {})
        if type(value) is not Mapped:
            return _as_constant(value, wanted, casting)
        array = astype(value._primal, wanted) if type(value._primal) in TRACERS else value._primal.astype(wanted, casting=casting)
        return Mapped(array, value._scope)
    if not copy and wanted == x.dtype:
        return x
    if wanted.kind == "f" and x.dtype.kind == "c":
        np.zeros((), x.dtype).astype(wanted)  # NumPy's warning that the imaginary part is lost
        x = elementwise.real(x)
    return _astype(x, wanted)


def _iterate(x: Tracer) -> Iterator[Any]:
    if not x.shape:
        raise TypeError("iteration over a tracer of a number: it has no axes")
    return (x[n] for n in range(len(x)))


def _item(x: Tracer, *index: Any) -> Any:
    picked = structural.ravel(x)[index[0]] if len(index) == 1 and isinstance(index[0], int) else x[index] if index else x
    if picked.size != 1:
        raise ValueError(f"item() needs one element, the tracer has shape {picked.shape}")
    return structural.reshape(picked, ())


def _reshape(x: Tracer, *shape: Any, order: str = "C") -> Any:
    return structural.reshape(x, shape[0] if len(shape) == 1 else shape, order)


def _transposed(x: Tracer, *axes: Any) -> Any:
    return structural.transpose(x, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None)


def _tolist(x: Tracer) -> Any:
    return [part.tolist() if part.ndim else part for part in x] if x.ndim else x


_METHODS: dict[str, Any] = {
    "__neg__": elementwise.negative,
    "__pos__": elementwise.positive,
    "__abs__": elementwise.absolute,
    "__round__": elementwise.round,
    "round": elementwise.round,
    "searchsorted": extremes.searchsorted,
    "__getitem__": indexing.getitem,
    "__iter__": _iterate,
    "T": property(structural.transpose),
    "mT": property(structural.matrix_transpose),
    "at": property(updates.At),
    "all": extremes.all_,
    "any": extremes.any_,
    "argmax": extremes.argmax,
    "argmin": extremes.argmin,
    "argsort": extremes.argsort,
    "astype": astype,
    "clip": elementwise.clip,
    "real": property(elementwise.real),
    "imag": property(elementwise.imag),
    "conj": elementwise.conjugate,
    "conjugate": elementwise.conjugate,
    "copy": lambda x, order="C": structural.copy(x, order) if x.shape else elementwise.positive(x),
    "flat": property(structural.ravel),
    "compress": lambda x, condition, axis=None, out=None: np.compress(condition, x, axis, out),
    "cumsum": reductions.cumsum,
    "dot": contractions.dot,
    "flatten": structural.ravel,
    "item": _item,
    "max": extremes.max,
    "mean": reductions.mean,
    "min": extremes.min,
    "prod": reductions.prod,
    "ravel": structural.ravel,
    "repeat": indexing.repeat,
    "reshape": _reshape,
    "squeeze": structural.squeeze,
    "std": reductions.std,
    "sum": reductions.sum,
    "swapaxes": structural.swapaxes,
    "take": indexing.take,
    "tolist": _tolist,
    "transpose": _transposed,
    "var": reductions.var,
}
for _name, _method in _METHODS.items():
    setattr(Tracer, _name, _method)
for _name in writing.METHODS:
    setattr(Tracer, _name, writing.refuse_method(_name))
for _name, _symbol in {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**"}.items():
    setattr(Tracer, f"__i{_name}__", writing.in_place(_symbol, getattr(Tracer, f"__{_name}__")))


def _by_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method by NumPy's function, which finds the operation: its family is imported when it is first asked for."""
    return lambda x, *args, **options: function(x, *args, **options)


for _name in ("argpartition", "cumprod", "diagonal", "nonzero", "trace"):
    setattr(Tracer, _name, _by_numpy(getattr(np, _name)))
