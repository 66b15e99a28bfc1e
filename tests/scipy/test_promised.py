"""The names of SciPy that are promised: each is differentiable, not one that only says it has no rule."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

pytest.importorskip("scipy")

from funcgrad.primitive import OPERATIONS
from funcgrad.scipy.fallback import WithoutRule

PROMISED = {
    "special": """
        gamma gammaln loggamma rgamma digamma psi polygamma beta betaln betainc gammainc gammaincc erf erfc erfcx erfinv erfcinv expit
        logit xlogy xlog1py entr rel_entr kl_div logsumexp softmax log_softmax ndtr log_ndtr ndtri j0 j1 jn y0 y1 i0 i1 iv ive kv kve
        zeta lambertw i0e diric sinc
    """,
    "linalg": "solve solve_triangular cho_factor cho_solve cholesky expm logm sqrtm inv det block_diag toeplitz solve_sylvester",
    "stats": """
        norm multivariate_normal t gamma beta chi2 dirichlet poisson binom expon laplace logistic uniform lognorm weibull_min cauchy
    """,
    "signal": "convolve correlate fftconvolve",
    "integrate": "odeint solve_ivp trapezoid simpson cumulative_trapezoid",
    "optimize": "minimize root",
    "interpolate": "interp1d CubicSpline",
    "ndimage": "map_coordinates",
}


@pytest.mark.parametrize(("module", "name"), [(module, name) for module, names in PROMISED.items() for name in names.split()])
def test_what_is_promised_differentiates(module: str, name: str):
    found = getattr(importlib.import_module(f"funcgrad.scipy.{module}"), name)
    assert not isinstance(found, WithoutRule)
    if isinstance(found, np.ufunc):
        assert found in OPERATIONS
