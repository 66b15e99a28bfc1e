"""All families of operations: importing this lets each answer for its NumPy functions. SciPy's register when they are first asked for."""

from __future__ import annotations

from funcgrad.ops import construction as construction
from funcgrad.ops import contractions as contractions
from funcgrad.ops import elementwise as elementwise
from funcgrad.ops import indexing as indexing
from funcgrad.ops import operators as operators
from funcgrad.ops import reductions as reductions
from funcgrad.ops import structural as structural
from funcgrad.ops import ufuncs as ufuncs  # last: for all ufuncs that there are
