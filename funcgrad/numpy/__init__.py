"""NumPy's public names. On plain arrays each is NumPy itself; on tracers NumPy hands the call to funcgrad.

So `import funcgrad.numpy as np` and `import numpy as np` do the same, but for the few functions that NumPy cannot hand over, because no
argument of theirs is an array: `array`, `asarray` of a list that holds tracers. Here they work.
"""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from funcgrad.ops import register as _register  # noqa: F401 - makes NumPy's functions take tracers
from funcgrad.ops.construction import array as array
from funcgrad.ops.construction import asarray as asarray


def __getattr__(name: str) -> Any:
    return getattr(_numpy, name)


def __dir__() -> list[str]:
    return sorted({*dir(_numpy), "array", "asarray"})
