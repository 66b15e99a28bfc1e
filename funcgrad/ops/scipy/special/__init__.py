"""SciPy's special functions: importing this lets each answer for its ufunc of `scipy.special`. Needs SciPy.

| module | functions |
|---|---|
| `kinds` | how functions with orders, which have no derivative in them, are defined |
| `gamma` | gamma, psi, polygamma, zeta, beta, and what counts: binom, comb, perm, factorial |
| `incomplete` | the incomplete gamma and beta functions and their inverses |
| `distributions` | distribution functions that are incomplete gamma and beta functions, and Student's t |
| `error_functions` | erf and its relatives, the normal distribution, Dawson's and Voigt's functions |
| `elementary` | logistic, exponential and trigonometric functions, Box and Cox's transforms |
| `entropy` | x log y and its relatives, Huber's losses |
| `sums` | logsumexp, softmax, log_softmax |
| `bessel` | Bessel, Hankel, Airy and Struve functions |
| `spherical` | spherical Bessel functions, and the n-th derivatives jvp, yvp, ... |
| `integrals` | exponential, trigonometric and Fresnel integrals, Lambert's W |
| `hypergeometric` | hypergeometric functions and elliptic integrals |
| `orthogonal` | orthogonal polynomials |

Rules are compositions of these operations, of one another: so they can be differentiated to any order. Formulas without a reference are
in F. W. J. Olver et al., NIST Handbook of Mathematical Functions (2010).
"""

from funcgrad.ops.scipy.special import bessel as bessel
from funcgrad.ops.scipy.special import distributions as distributions
from funcgrad.ops.scipy.special import elementary as elementary
from funcgrad.ops.scipy.special import entropy as entropy
from funcgrad.ops.scipy.special import error_functions as error_functions
from funcgrad.ops.scipy.special import gamma as gamma
from funcgrad.ops.scipy.special import hypergeometric as hypergeometric
from funcgrad.ops.scipy.special import incomplete as incomplete
from funcgrad.ops.scipy.special import integrals as integrals
from funcgrad.ops.scipy.special import orthogonal as orthogonal
from funcgrad.ops.scipy.special import spherical as spherical
from funcgrad.ops.scipy.special import sums as sums
