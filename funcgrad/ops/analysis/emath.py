"""numpy.emath: functions whose result is complex where the argument leaves the real domain; and np.real_if_close, which goes the other way.

All are composed: a real argument is made complex first if one of its elements asks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.dependence import refuse_dtypes
from funcgrad.mapped import TRACERS, inmost, is_all, is_any
from funcgrad.primitive import register_all
from funcgrad.rules.values import as_array, is_complex, raw
from funcgrad.staged import Staged

_SINGLE = frozenset({np.single, np.byte, np.short, np.ubyte, np.ushort, np.csingle})
"""What NumPy makes a complex number of single precision of."""


def _complex_if(name: str, x: Any, is_outside: Callable[[np.ndarray], Any]) -> Any:
    """x as NumPy takes it: an array, and complex where a real number in it is outside of the domain."""
    plain = as_array(raw(x))
    wanted = plain.dtype
    inside = inmost(plain)
    if type(inside) is Staged and wanted.kind != "c":
        refuse_dtypes(f"np.emath.{name}", inside._scope.name)
    if is_any(np.isreal(plain) & is_outside(plain)):
        wanted = np.dtype(np.csingle if wanted.type in _SINGLE else np.cdouble)
    return x.astype(wanted, copy=False) if type(x) in TRACERS else plain.astype(wanted)


def _nonnegative(name: str, x: Any) -> Any:
    return _complex_if(name, x, lambda plain: plain < 0)


def _within_one(name: str, x: Any) -> Any:
    return _complex_if(name, x, lambda plain: np.abs(plain) > 1)


def logn(n: Any, x: Any) -> Any:
    """np.emath.logn: the logarithm to the base n."""
    x, n = _nonnegative("logn", x), _nonnegative("logn", n)
    return np.log(x) / np.log(n)


def power(x: Any, p: Any) -> Any:
    """np.emath.power: an integer exponent is taken as a float where one is negative."""
    x, p = _nonnegative("power", x), p if type(p) in TRACERS else np.asarray(p)
    return np.power(x, p * 1.0 if is_any(np.isreal(raw(p)) & (raw(p) < 0)) else p)


def real_if_close(a: Any, tol: float = 100) -> Any:
    """np.real_if_close."""
    if not is_complex(a):
        return a
    inside = inmost(a)
    if type(inside) is Staged:
        refuse_dtypes("np.real_if_close", inside._scope.name)
    if tol > 1:
        tol = float(np.finfo(a.dtype).eps * tol)
    return np.real(a) if is_all(np.abs(np.imag(raw(a))) < tol) else a


_OPERATIONS: dict[Any, Any] = {
    np.emath.sqrt: lambda x: np.sqrt(_nonnegative("sqrt", x)),
    np.emath.log: lambda x: np.log(_nonnegative("log", x)),
    np.emath.log2: lambda x: np.log2(_nonnegative("log2", x)),
    np.emath.log10: lambda x: np.log10(_nonnegative("log10", x)),
    np.emath.arccos: lambda x: np.arccos(_within_one("arccos", x)),
    np.emath.arcsin: lambda x: np.arcsin(_within_one("arcsin", x)),
    np.emath.arctanh: lambda x: np.arctanh(_within_one("arctanh", x)),
    np.emath.logn: logn,
    np.emath.power: power,
    np.real_if_close: real_if_close,
}
register_all(_OPERATIONS)
