"""Special functions of SciPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.cases.case import Case, Points, case

try:
    from funcgrad.ops.scipy.special import bessel, entropy, error_functions, integrals, kinds
    from funcgrad.scipy import special
except ImportError:  # SciPy is not installed
    special = None  # type: ignore[assignment]

points = Points(31)
real, other, positive, unit, above_one = points.real, points.other, points.positive, points.unit, points.above_one


def share(*shape: int) -> np.ndarray:
    """Between 0.28 and 0.77."""
    return positive(*shape) / 4.5 + 0.24


def large(*shape: int) -> np.ndarray:
    return positive(*shape) + 3.0


def negative(*shape: int) -> np.ndarray:
    return -positive(*shape)


def apart(*shape: int) -> np.ndarray:
    """At least 0.27 from whole numbers, where gamma functions have their poles."""
    return np.floor(real(*shape)) + 0.3 + 0.2 * share(*shape)


Maker = Callable[..., np.ndarray]

UNARY: dict[str, Maker] = {
    "gamma": apart, "gammaln": apart, "loggamma": positive, "rgamma": apart, "psi": apart, "erf": real, "erfc": real, "erfcx": real,
    "erfi": unit, "erfinv": unit, "erfcinv": share, "dawsn": real, "ndtr": real, "log_ndtr": real, "ndtri": share, "ndtri_exp": negative,
    "expit": real, "log_expit": real, "logit": share, "exp2": real, "exp10": unit, "expm1": real, "log1p": positive, "cbrt": real,
    "exprel": real, "cosm1": real, "sindg": real, "cosdg": real, "tandg": real, "cotdg": large, "entr": positive,
    "j0": real, "j1": real, "y0": positive, "y1": positive, "i0": real, "i1": real, "k0": positive, "k1": positive,
    "i0e": real, "i1e": real, "k0e": positive, "k1e": positive, "expi": positive, "exp1": positive, "spence": positive,
    "wrightomega": real, "ellipk": share, "ellipkm1": share, "ellipe": share,
}  # fmt: skip
PARTS: dict[str, Maker] = {"airy": real, "fresnel": real, "sici": positive, "shichi": positive}
BINARY: dict[str, tuple[Maker, Maker]] = {
    "beta": (positive, positive), "betaln": (positive, positive), "poch": (positive, positive), "binom": (large, positive),
    "xlogy": (real, positive), "xlog1py": (real, positive), "rel_entr": (positive, large), "kl_div": (positive, large),
    "huber": (positive, large), "pseudo_huber": (positive, real), "owens_t": (real, other), "powm1": (positive, other),
    "boxcox": (positive, other), "boxcox1p": (positive, other), "inv_boxcox": (positive, share), "inv_boxcox1p": (positive, share),
}  # fmt: skip

FIVE = np.array([5])  # float32 will not do for a number of trials
IN_ORDER: dict[str, tuple[tuple[float, ...], Maker]] = {
    "gammainc": ((1.7,), positive), "gammaincc": ((1.7,), positive), "gammaincinv": ((1.7,), share), "gammainccinv": ((1.7,), share),
    "betainc": ((1.7, 0.6), share), "betaincc": ((1.7, 0.6), share), "betaincinv": ((1.7, 0.6), share),
    "betainccinv": ((1.7, 0.6), share),
    "chdtr": ((3.0,), positive), "chdtrc": ((3.0,), positive), "chdtri": ((3.0,), share), "pdtr": ((2,), positive),
    "pdtrc": ((2,), positive),
    "bdtr": ((2, FIVE), share), "bdtrc": ((2, FIVE), share), "nbdtr": ((2, FIVE), share), "nbdtrc": ((2, FIVE), share),
    "fdtr": ((3.0, 4.0), positive), "fdtrc": ((3.0, 4.0), positive), "fdtri": ((3.0, 4.0), share), "stdtr": ((3.0,), real),
    "stdtrit": ((3.0,), share), "hyp0f1": ((1.3,), real), "hyp1f1": ((0.7, 1.9), real), "hyp2f1": ((0.7, 1.2, 1.9), unit),
    "hyperu": ((0.7, 1.9), positive), "jv": ((1.5,), positive), "yv": ((1.5,), positive), "yn": ((2,), above_one), "iv": ((1.5,), positive),
    "kv": ((1.5,), above_one), "kn": ((0,), positive), "jve": ((1.5,), positive), "yve": ((1.5,), positive), "ive": ((1.5,), positive),
    "kve": ((1.5,), positive), "struve": ((1.5,), positive), "modstruve": ((1.5,), positive), "expn": ((3,), positive),
    "eval_jacobi": ((3, 0.4, 0.7), unit), "eval_gegenbauer": ((3, 0.7), unit), "eval_genlaguerre": ((3, 0.7), real),
    "eval_chebyt": ((4,), unit), "eval_chebyu": ((4,), unit), "eval_chebyc": ((4,), real), "eval_chebys": ((4,), real),
    "eval_sh_chebyt": ((4,), share), "eval_sh_chebyu": ((4,), share), "eval_legendre": ((4,), unit), "eval_sh_legendre": ((4,), share),
    "eval_laguerre": ((4,), real), "eval_hermite": ((4,), real), "eval_hermitenorm": ((4,), real),
}  # fmt: skip
"""Functions of orders and one argument: the orders, and the argument."""


INEXACT = {
    "gamma", "rgamma", "psi", "loggamma", "expi", "exp1", "sici", "shichi", "hyp0f1", "hyp1f1", "hyp2f1", "jv", "yv", "iv", "kv", "jve",
    "yve",
    "ive", "kve", "hankel1", "hankel2", "hankel1e", "hankel2e", "wofz", "airy", "spence", "wrightomega",
}  # fmt: skip
"""What SciPy computes too coarsely at complex numbers for the complex step, not as the analytic continuation, or complex at real ones."""


def _float(make: Maker) -> float:
    return float(make(1)[0])


def _case(name: str, *args: Any, call: Any = None, note: str = "") -> Case:
    if hasattr(np, name):
        note = f"SciPy {note}".rstrip()
    return case(kinds.ufunc(name), *args, call=call, note=note, analytic=name not in INEXACT, wide=False)


def _cases() -> Iterator[Case]:
    for name, make in UNARY.items():
        yield from (_case(name, args) for args in (make(2, 3), _float(make)))
    yield from (_case("expit", np.asarray(each)) for each in (real(), real(0), real(0, 2)))
    for name, make in PARTS.items():
        yield from (_case(name, args) for args in (make(2, 2), _float(make)))
    for name, makers in BINARY.items():
        for shapes in (((2, 3), (2, 3)), ((3,), (2, 1))):
            yield _case(name, *(make(*shape) for make, shape in zip(makers, shapes)))
        yield _case(name, *map(_float, makers))
    for name, (orders, make) in IN_ORDER.items():
        for args in (make(2, 3), _float(make)):
            yield _case(name, args, call=lambda f, x, orders=orders: f(*orders, x))
        rows = (np.array([[orders[0]], [orders[0] + 1]]), *orders[1:])
        yield _case(name, make(2), call=lambda f, x, orders=rows: f(*orders, x), note="orders")
    yield from _with_orders_elsewhere()
    yield from _sums()
    yield from _functions()


def _with_orders_elsewhere() -> Iterator[Case]:
    for name in ("gdtr", "gdtrc"):
        yield _case(name, positive(2, 3), positive(3), call=lambda f, a, x: f(a, 1.7, x))
        yield _case(name, _float(positive), _float(positive), call=lambda f, a, x: f(a, 1.7, x))
    for name in ("ellipkinc", "ellipeinc", "ellipj"):
        yield from (_case(name, args, call=lambda f, x: f(x, 0.7)) for args in (real(2, 3), _float(real)))
        yield _case(name, real(3), call=lambda f, x: f(x, np.array([[0.3], [0.0]])), note="parameters")
    yield _case("radian", real(2, 3), real(3), real(2, 1))
    yield _case("radian", _float(real), _float(real), _float(real))
    yield _case("voigt_profile", real(2, 3), positive(3), positive(2, 1))
    yield _case("voigt_profile", _float(real), _float(positive), _float(positive))


def _function(function: Any, *args: Any, call: Any = None, note: str = "", **options: Any) -> Case:
    """A case of a function that is no ufunc: ours stands for itself."""
    return case(function, *args, call=call, note=note, analytic=False, wide=False, **options)


def _sums() -> Iterator[Case]:
    weights = real(2, 3)
    for axis in (None, 0, -1, (0, 1), (1,)):
        yield _function(special.logsumexp, real(2, 3), axis=axis)
        yield _function(special.logsumexp, real(2, 3), axis=axis, keepdims=True)
        yield _function(special.logsumexp, real(2, 3), positive(3), call=lambda f, a, b, axis=axis: f(a, axis, b), note=f"b axis={axis}")
    yield _function(special.logsumexp, real(3), real(2, 1), call=lambda f, a, b: f(a, 1, b, True, True)[0], note="signs")
    yield _function(special.logsumexp, real(2, 3), call=lambda f, a: f(a, 0, weights, return_sign=True)[0], note="constant weights")
    yield _function(special.logsumexp, real(2, 3), call=lambda f, a: f(a, 0, return_sign=True)[0], note="sign")
    yield _function(special.logsumexp, positive(2, 3), call=lambda f, b: f(weights, 0, b), note="weights alone")
    yield _function(special.logsumexp, real(2, 3), call=lambda f, a: f([a[0], a[1]], axis=0), note="list")
    yield _function(special.logsumexp, np.asarray(real()), note="number")
    for function in (special.softmax, special.log_softmax):
        yield from (_function(function, real(2, 3), axis=axis) for axis in (None, 0, -1, (0, 1)))


def _functions() -> Iterator[Case]:
    for args in (positive(2, 3), _float(positive)):
        for n in (0, 1, 3):
            yield _function(special.polygamma, args, call=lambda f, x, n=n: f(n, x), note=f"n={n}")
            yield _function(special.jvp, args, call=lambda f, x, n=n: f(1.5, x, n), note=f"n={n}")
        yield from (_function(function, args, call=lambda f, x: f(1.5, x)) for function in (special.yvp, special.ivp, special.kvp))
        yield _function(special.zeta, args, call=lambda f, x: f(2.5, x))
        yield _function(special.factorial, args)
        yield _function(special.multigammaln, args + 1.0, d=3)
        yield from (_function(special.diric, args, n=n) for n in (1, 4, 5))
        for function in (special.spherical_jn, special.spherical_yn, special.spherical_in, special.spherical_kn):
            for is_slope in (False, True):
                yield _function(function, args, call=lambda f, x, d=is_slope: f(2, x, d), note=f"derivative={is_slope}")
        if hasattr(special, "softplus"):
            yield _function(special.softplus, args)
        yield _function(special.comb, args + 3.0, call=lambda f, x: f(x, 2))
        yield _function(special.perm, args + 3.0, call=lambda f, x: f(x, 2))
        yield _function(special.comb, args + 1.5, call=lambda f, x: f(x, 2, repetition=True), note="repetition")
    degrees = np.array([[0], [1], [2]])
    yield _function(special.polygamma, positive(3), call=lambda f, x: f(degrees, x), note="orders")
    yield _function(special.zeta, positive(3), call=lambda f, x: f(degrees + 2.0, x + 0.5), note="orders")
    yield _function(special.spherical_jn, positive(3), call=lambda f, x: f(degrees, x), note="orders")
    yield _function(special.comb, real(3) + 2.5, call=lambda f, x: f(x, degrees), note="some zero")
    yield _function(special.comb, positive(3) + 1.5, call=lambda f, x: f(x, degrees, repetition=True), note="repetition, orders")
    yield _function(special.comb, large(3), positive(3))
    yield _function(special.perm, large(3), positive(3))


COMPLEX = [
    "gamma", "loggamma", "rgamma", "psi", "erf", "erfc", "erfcx", "erfi", "dawsn", "wofz", "ndtr", "log_ndtr", "expm1", "log1p", "airy",
    "fresnel", "sici", "shichi", "expi", "exp1", "spence", "wrightomega",
]  # fmt: skip
COMPLEX_IN_ORDER = {
    "jv": (1.5,), "yv": (1.5,), "iv": (1.5,), "kv": (1.5,), "kve": (1.5,), "hankel1": (1.5,), "hankel2": (1.5,), "hankel1e": (1.5,),
    "hankel2e": (1.5,), "hyp0f1": (1.3,), "hyp1f1": (0.7, 1.9), "hyp2f1": (0.7, 1.2, 1.9), "eval_legendre": (4,), "eval_chebyt": (4,),
}  # fmt: skip


def _complex_cases() -> Iterator[Case]:
    for name in COMPLEX:
        yield _case(name, points.complex(2, 3) * 0.7, note="complex")
    for name in ("xlogy", "xlog1py"):
        yield _case(name, points.complex(2, 3), points.complex(3), note="complex")
    for name, orders in COMPLEX_IN_ORDER.items():
        yield _case(name, points.complex(2, 3) * 0.7, call=lambda f, z, orders=orders: f(*orders, z), note="complex")
    for name in ("hankel1", "hankel2", "hankel1e", "hankel2e"):
        yield _case(name, positive(2, 3), call=lambda f, x: f(1.5, x), note="real")
    yield _case("wofz", real(2, 3), note="real")
    for function in (special.spherical_jn, special.spherical_yn, special.spherical_in, special.spherical_kn):
        yield _function(function, points.complex(3), call=lambda f, z: f(2, z), note="complex")
    for k in (0, -1, 2):
        yield _function(special.lambertw, points.complex(2, 3), call=lambda f, z, k=k: f(z, k), note=f"complex k={k}")
    yield _function(special.lambertw, positive(3), note="real")
    for function in (special.h1vp, special.h2vp):
        yield _function(function, positive(3), call=lambda f, x: f(1.5, x), note="real")
    yield _function(special.logsumexp, points.complex(2, 3), axis=1, note="complex")


def _derivatives() -> Iterator[Case]:
    """The primitives that rules are made of."""
    yield _function(entropy.share, real(2, 3), positive(3))
    for function in (error_functions.erfcx_derivative, error_functions.dawsn_derivative):
        yield from (_function(function, np.append(real(3), 9.0), call=lambda f, x, n=n: f(n, x), note=f"n={n}") for n in (1, 3))
    for function in (bessel.ive_derivative, bessel.kve_derivative):
        for n in (1, 3):
            yield _function(function, np.append(above_one(3), 40.0), call=lambda f, x, n=n: f(n, 1.5, x), note=f"n={n}")
    yield _function(integrals.diric_derivative, real(2, 3), call=lambda f, x: f(1, x, 4))


CASES = [*_cases(), *_complex_cases(), *_derivatives()] if special else []
CONSTANT = [_case("gammasgn", apart(2, 3)), _case("round", real(2, 3) + 0.01)] if special else []
