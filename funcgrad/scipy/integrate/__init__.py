"""SciPy's integrators with derivatives; all else of `scipy.integrate` is SciPy's own, and refuses tracers by name.

Differential equations (`odeint`, `solve_ivp`), the integral of a function (`quad`), and integrals of samples (`trapezoid`, `simpson`,
`romb`, `cumulative_trapezoid`, `cumulative_simpson`). Functions that are integrated are plain NumPy. What is traced must come through their
arguments: a solver runs them on plain numbers, and a traced value that one brings along raises ConcretizationError. Under `vmap` a solver
runs once for each example.
"""

from __future__ import annotations

import scipy.integrate as _integrate

from funcgrad.scipy.fallback import without_rules
from funcgrad.scipy.integrate.equations import odeint as odeint
from funcgrad.scipy.integrate.equations import solve_ivp as solve_ivp
from funcgrad.scipy.integrate.quadrature import quad as quad
from funcgrad.scipy.integrate.samples import cumulative_simpson as cumulative_simpson
from funcgrad.scipy.integrate.samples import cumulative_trapezoid as cumulative_trapezoid
from funcgrad.scipy.integrate.samples import romb as romb
from funcgrad.scipy.integrate.samples import simpson as simpson
from funcgrad.scipy.integrate.samples import trapezoid as trapezoid

__getattr__, __dir__ = without_rules(_integrate)
