"""SciPy's names: on plain arrays each is SciPy itself, on tracers it differentiates or says by name that it has no rule.

Submodules are imported when they are first used, as SciPy's are: special, stats, linalg, integrate, optimize, signal, ndimage, interpolate.
They need SciPy, which `pip install funcgrad[scipy]` brings; `import funcgrad` alone does without.
"""

from __future__ import annotations

import importlib
from typing import Any

try:
    import scipy as _scipy  # noqa: F401 - only whether it is there
except ImportError as error:
    raise ImportError("funcgrad.scipy needs SciPy, which is not installed: pip install funcgrad[scipy]") from error

_MODULES = ("integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "special", "stats")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"funcgrad.scipy.{name}")
    raise AttributeError(f"module 'funcgrad.scipy' has no attribute {name!r}: it has {', '.join(_MODULES)}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
