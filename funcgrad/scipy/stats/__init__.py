"""SciPy's distributions with derivatives; all else of `scipy.stats` is SciPy's own, and refuses tracers by name.

The continuous ones (`norm`, `expon`, `laplace`, `logistic`, `uniform`, `cauchy`, `t`, `gamma`, `chi2`, `beta`, `lognorm`, `weibull_min`)
have logpdf, pdf, cdf, sf, logcdf, logsf, ppf and isf; the discrete ones (`poisson`, `binom`) logpmf, pmf, cdf, sf, logcdf and logsf;
`multivariate_normal` and `dirichlet` logpdf and pdf. All take SciPy's arguments, and may be frozen: `norm(loc, scale).logpdf(x)`.

>>> import numpy as np
>>> from funcgrad import grad
>>> from funcgrad.scipy.stats import norm
>>> data = np.array([1.0, 2.0, 6.0])
>>> print(grad(lambda mean: np.sum(norm.logpdf(data, mean, 2.0)))(2.0))
0.75
"""

from __future__ import annotations

import scipy.stats as _stats

from funcgrad.scipy.fallback import without_rules
from funcgrad.scipy.stats.continuous import beta as beta
from funcgrad.scipy.stats.continuous import cauchy as cauchy
from funcgrad.scipy.stats.continuous import chi2 as chi2
from funcgrad.scipy.stats.continuous import expon as expon
from funcgrad.scipy.stats.continuous import gamma as gamma
from funcgrad.scipy.stats.continuous import laplace as laplace
from funcgrad.scipy.stats.continuous import logistic as logistic
from funcgrad.scipy.stats.continuous import lognorm as lognorm
from funcgrad.scipy.stats.continuous import norm as norm
from funcgrad.scipy.stats.continuous import t as t
from funcgrad.scipy.stats.continuous import uniform as uniform
from funcgrad.scipy.stats.continuous import weibull_min as weibull_min
from funcgrad.scipy.stats.discrete import binom as binom
from funcgrad.scipy.stats.discrete import poisson as poisson
from funcgrad.scipy.stats.multivariate import dirichlet as dirichlet
from funcgrad.scipy.stats.multivariate import multivariate_normal as multivariate_normal

__getattr__, __dir__ = without_rules(_stats)
