"""The names of scipy.special. Its ufuncs take tracers as they are, once this module has been imported; its functions are replaced here.

So `from funcgrad.scipy import special` and `from scipy import special` do the same, but for functions of SciPy that are no ufuncs and
cannot hand a call over: logsumexp, softmax, polygamma, spherical_jn, comb, ... Here they work. What has no derivative rule raises
NoRuleError on tracers, by name.
"""

from __future__ import annotations

from typing import Any

import numpy as _numpy
from scipy import special as _special

from funcgrad.ops.scipy.special.elementary import softplus as softplus
from funcgrad.ops.scipy.special.gamma import comb as comb
from funcgrad.ops.scipy.special.gamma import factorial as factorial
from funcgrad.ops.scipy.special.gamma import multigammaln as multigammaln
from funcgrad.ops.scipy.special.gamma import perm as perm
from funcgrad.ops.scipy.special.gamma import polygamma as polygamma
from funcgrad.ops.scipy.special.gamma import zeta as zeta
from funcgrad.ops.scipy.special.integrals import diric as diric
from funcgrad.ops.scipy.special.integrals import lambertw as lambertw
from funcgrad.ops.scipy.special.kinds import ufunc as _ufunc
from funcgrad.ops.scipy.special.spherical import h1vp as h1vp
from funcgrad.ops.scipy.special.spherical import h2vp as h2vp
from funcgrad.ops.scipy.special.spherical import ivp as ivp
from funcgrad.ops.scipy.special.spherical import jvp as jvp
from funcgrad.ops.scipy.special.spherical import kvp as kvp
from funcgrad.ops.scipy.special.spherical import spherical_in as spherical_in
from funcgrad.ops.scipy.special.spherical import spherical_jn as spherical_jn
from funcgrad.ops.scipy.special.spherical import spherical_kn as spherical_kn
from funcgrad.ops.scipy.special.spherical import spherical_yn as spherical_yn
from funcgrad.ops.scipy.special.spherical import yvp as yvp
from funcgrad.ops.scipy.special.sums import log_softmax as log_softmax
from funcgrad.ops.scipy.special.sums import logsumexp as logsumexp
from funcgrad.ops.scipy.special.sums import softmax as softmax
from funcgrad.primitive import OPERATIONS as _OPERATIONS
from funcgrad.scipy.fallback import without_rules as _without_rules

_without_rule, __dir__ = _without_rules(_special)


def __getattr__(name: str) -> Any:
    found = _ufunc(name) if not name.startswith("_") and hasattr(_special, name) else None
    return found if isinstance(found, _numpy.ufunc) and found in _OPERATIONS else _without_rule(name)
