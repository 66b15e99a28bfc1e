"""NumPy's public names. On plain arrays each is NumPy itself; on tracers NumPy hands the call to funcgrad.

So `import funcgrad.numpy as np` and `import numpy as np` do the same, but for the functions that NumPy cannot hand over, because they look
for arrays in lists or make arrays of what they get. Here they work: `array`, `asarray` and their like, `arange`, `full`, `full_like`, `r_`,
`c_`, `piecewise`, `select`, `vectorize`, `apply_along_axis`, `pad` with traced constants, `interp` with traced ends, `kaiser`, `polyint`,
`polynomial.polynomial.polyval` and `polynomial.chebyshev.chebval`, and `take` of a plain array by an index that `vmap` maps. And one that
NumPy has not: `at(x)[index].set(v)`, which takes arrays as well as tracers.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as _numpy

from funcgrad.ops import register as _register  # noqa: F401 - makes NumPy's functions take tracers

if TYPE_CHECKING:
    from funcgrad.ops.arrays.creation import array as array
    from funcgrad.ops.arrays.creation import asarray as asarray
    from funcgrad.ops.updates import at as at

_OWN = {
    "funcgrad.ops.arrays.creation": (
        "array asarray asanyarray asarray_chkfinite ascontiguousarray asfortranarray require full full_like r_ c_"
    ),
    "funcgrad.ops.arrays.ranges": "arange",
    "funcgrad.ops.arrays.padding": "pad",
    "funcgrad.ops.arrays.selections": "select",
    "funcgrad.ops.arrays.functional": "piecewise apply_along_axis vectorize",
    "funcgrad.ops.indexing": "take",
    "funcgrad.ops.updates": "at",
    "funcgrad.ops.analysis.signals": "interp kaiser",
    "funcgrad.ops.analysis.polynomials": "polyint",
}
_HOMES = {name: module for module, names in _OWN.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name == "polynomial":
        value: Any = importlib.import_module("funcgrad.numpy.polynomial")
    elif name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    else:
        try:
            return getattr(_numpy, name)
        except AttributeError:
            raise AttributeError(f"module 'funcgrad.numpy' has no attribute {name!r}, nor has numpy") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*dir(_numpy), *_HOMES})
