"""scipy.interpolate, where SciPy is installed."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.cases.case import Case, Points, case

try:
    from funcgrad.scipy import interpolate
except ImportError:
    CASES: list[Case] = []
else:
    points = Points(74)
    real, complex_ = points.real, points.complex

    def sp(name: str, call: Any, *args: Any, note: str = "") -> Case:
        """SciPy computes splines in double precision only."""

        def guarded(f: Any, *args: Any) -> Any:
            if any(arg.dtype.char not in "fdFD" for arg in args):
                raise TypeError("single and double precision only")
            return f(*args)

        function = lambda *args: call(*args)
        function.__name__ = name
        kinds = "".join(arg.dtype.char for arg in args)
        return case(function, *args, call=guarded, note=f"scipy {note} {kinds}".replace("  ", " "), analytic=False, wide=False)

    def spline(name: str, *args: Any, nu: int = 0, note: str = "", **options: Any) -> Case:
        """The data, then the points."""
        told = " ".join([note, *(f"{key}={value}" for key, value in options.items()), f"{nu or ''}"]).strip()
        more = (nu,) if nu else ()
        return sp(name, lambda *args: getattr(interpolate, name)(*args[:-1], **options)(args[-1], *more), *args, note=told)

    X, AT = np.array([0.6, 2.7, 3.9, 7.2, 9.3]), np.array([0.93, 3.81, 8.4, 5.7, -0.9, 10.1])
    GRIDS = (np.array([0.2, 0.9, 1.3]), np.array([3.1, 1.9, 1.2, 0.4]))
    INSIDE = np.array([[0.31, 0.7], [1.2, 2.3], [0.61, 1.7]])
    RISING = np.array([0.3, 0.7, 0.4, 1.9, 2.2])

    def periodic(x: Any, y: Any, at: Any) -> Any:
        return interpolate.CubicSpline(x, np.concatenate([y, y[:1]]), bc_type="periodic")(at)

    def grid(fill: Any) -> Any:
        def call(values: Any, at: Any, first: Any, second: Any) -> Any:
            return interpolate.RegularGridInterpolator((first, second), values, bounds_error=False, fill_value=fill)(at)

        return call

    CASES = [
        *(spline("CubicSpline", X, real(5), AT, bc_type=kind, nu=nu)
          for kind in ("not-a-knot", "natural", "clamped", ((1, 0.3), (2, -0.4))) for nu in (0, 1, 2)),
        spline("CubicSpline", X, real(5, 2), AT, note="matrix"), spline("CubicSpline", X, real(2, 5), AT.reshape(2, 3), axis=1),
        spline("CubicSpline", X, complex_(5), AT), spline("CubicSpline", X[:3], real(3), AT), spline("CubicSpline", X[:2], real(2), AT),
        spline("CubicSpline", X[:2], real(2), AT, bc_type="natural"), spline("CubicSpline", X, real(5), AT[:4], extrapolate=False),
        sp("CubicSpline", periodic, X, real(4), AT, note="periodic"), sp("CubicSpline", periodic, X[:3], real(2), AT, note="periodic"),
        *(spline("PchipInterpolator", X, y, AT, nu=nu, note=note)
          for note, y in (("rising", RISING), ("any", real(5))) for nu in (0, 1)),
        spline("PchipInterpolator", X, np.cumsum(points.positive(5)), AT, note="monotonic"),
        spline("PchipInterpolator", X[:2], real(2), AT), spline("PchipInterpolator", X, real(3, 5), AT, axis=-1),
        *(spline("CubicHermiteSpline", X, real(5), real(5), AT, nu=nu) for nu in (0, 2)),
        *(spline("PPoly", real(3, 4), X, AT, nu=nu) for nu in (0, 1, 3)), spline("PPoly", real(2, 3, 4), X, AT, axis=1),
        spline("PPoly", real(3, 4, 2), X, AT, extrapolate="periodic"),
        sp("derivative", lambda x, y, at: interpolate.CubicSpline(x, y).derivative()(at), X, real(5), AT),
        sp("derivative", lambda x, y, at: interpolate.CubicSpline(x, y).derivative(5)(at), X, real(5), AT, note="none left"),
        sp("antiderivative", lambda x, y, at: interpolate.CubicSpline(x, y).antiderivative(2)(at), X, real(5), AT),
        *(sp("integrate", lambda x, y, a, b: interpolate.CubicSpline(x, y).integrate(a, b), X, real(5), a, b, note=str(n))
          for n, (a, b) in enumerate([(np.array(1.4), np.array(8.9)), (np.array(9.8), np.array(1.5))])),
        sp("c", lambda x, y: interpolate.CubicSpline(x, y).c, X, real(5)),
        sp("pchip_interpolate", lambda x, y, at: interpolate.pchip_interpolate(x, y, at, 1), X, real(5), AT),
        spline("interp1d", X, real(5), AT[:4]), spline("interp1d", X, real(5), AT, bounds_error=False, fill_value=0.7),
        spline("interp1d", X, real(5, 2), AT, axis=0, fill_value="extrapolate"), spline("interp1d", X[::-1].copy(), real(2, 5), AT[:4]),
        *(sp("RegularGridInterpolator", grid(fill), real(3, 4), at, *GRIDS, note=f"{fill} {at[0, 0]:.2f}")
          for fill, at in ((None, INSIDE), (None, INSIDE - 1.15), (0.7, INSIDE + 0.6))),
        sp("RegularGridInterpolator", grid(None), real(3, 4, 2), INSIDE[0], *GRIDS),
        sp("RegularGridInterpolator", lambda values, at: interpolate.RegularGridInterpolator(GRIDS[:1], values)(at), real(3), INSIDE[:, 0]),
        sp("interpn", lambda values, a, b: interpolate.interpn(GRIDS, values, (a, b)), real(3, 4), INSIDE[:, 0], INSIDE[:, 1]),
    ]  # fmt: skip
