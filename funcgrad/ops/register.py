"""Which family of operations answers for which functions of NumPy and SciPy, and when it is imported.

The families of everyday operations are imported with the package, so that they are at hand; the others when one of their functions first
meets a tracer: together they would take longer to import than most programs take to run.
"""

from __future__ import annotations

from funcgrad.ops import contractions as contractions
from funcgrad.ops import elementwise as elementwise
from funcgrad.ops import indexing as indexing
from funcgrad.ops import operators as operators
from funcgrad.ops import queries as queries
from funcgrad.ops import reductions as reductions
from funcgrad.ops import structural as structural
from funcgrad.primitive import LATE

_FAMILIES = {
    "numpy": (
        "joining selections ranges creation functional padding running slopes statistics sorting order_statistics missing histograms "
        "signals polynomials linalg_products emath ufuncs"
    ),
    "numpy.linalg": "linalg linalg_norms decompositions linalg_svd linalg_products selections",
    "numpy.fft": "fft",
    "numpy.lib.scimath": "emath",
    "numpy.lib.stride_tricks": "selections",
    "scipy.special": "special",
}
LATE += [(module, f"funcgrad.ops.{family}") for module, families in _FAMILIES.items() for family in families.split()]
