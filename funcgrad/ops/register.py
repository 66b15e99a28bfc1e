"""Which family of operations answers for which functions of NumPy and SciPy, and when it is imported.

The families of everyday operations are imported with the package, so that they are at hand; the others when one of their functions first
meets a tracer: together they would take longer to import than most programs take to run.
"""

from __future__ import annotations

from funcgrad.ops import contractions as contractions
from funcgrad.ops import elementwise as elementwise
from funcgrad.ops import extremes as extremes
from funcgrad.ops import indexing as indexing
from funcgrad.ops import operators as operators
from funcgrad.ops import queries as queries
from funcgrad.ops import reductions as reductions
from funcgrad.ops import structural as structural
from funcgrad.primitive import LATE

_FAMILIES = {
    "numpy": (
        "arrays.joining arrays.selections arrays.ranges arrays.creation arrays.functional arrays.padding analysis.running analysis.slopes "
        "statistics.averages statistics.sorting statistics.order statistics.missing statistics.histograms analysis.signals "
        "analysis.polynomials analysis.emath linalg.products ufuncs"
    ),
    "numpy.linalg": ("linalg.systems linalg.determinants linalg.norms linalg.decompositions linalg.svd linalg.products arrays.selections"),
    "numpy.fft": "analysis.fft",
    "numpy.lib.scimath": "analysis.emath",
    "numpy.lib.stride_tricks": "arrays.selections",
    "scipy.special": "scipy.special",
}
LATE += [(module, f"funcgrad.ops.{family}") for module, families in _FAMILIES.items() for family in families.split()]
