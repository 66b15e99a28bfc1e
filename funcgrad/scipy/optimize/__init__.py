"""SciPy's optimizers with derivatives; all else of `scipy.optimize` is SciPy's own, and refuses tracers by name.

`minimize`, `least_squares` and `curve_fit` get their derivatives supplied. Roots (`root`, `fsolve`, `root_scalar`, `newton`, `brentq`,
`brenth`, `ridder`, `bisect`, `toms748`) and fixed points (`fixed_point`) are differentiable functions of args, by the implicit function
theorem. Under `vmap` a solver runs once for each example: what is mapped must come through args, as what is traced; messages are lists.
"""

from __future__ import annotations

import scipy.optimize as _optimize

from funcgrad.scipy.fallback import without_rules
from funcgrad.scipy.optimize.minima import curve_fit as curve_fit
from funcgrad.scipy.optimize.minima import least_squares as least_squares
from funcgrad.scipy.optimize.minima import minimize as minimize
from funcgrad.scipy.optimize.roots import bisect as bisect
from funcgrad.scipy.optimize.roots import brenth as brenth
from funcgrad.scipy.optimize.roots import brentq as brentq
from funcgrad.scipy.optimize.roots import fixed_point as fixed_point
from funcgrad.scipy.optimize.roots import fsolve as fsolve
from funcgrad.scipy.optimize.roots import newton as newton
from funcgrad.scipy.optimize.roots import ridder as ridder
from funcgrad.scipy.optimize.roots import root as root
from funcgrad.scipy.optimize.roots import root_scalar as root_scalar
from funcgrad.scipy.optimize.roots import toms748 as toms748

__getattr__, __dir__ = without_rules(_optimize)
