"""scipy.signal and scipy.ndimage, where SciPy is installed."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tests.cases.case import Case, Points, case

try:
    from funcgrad.scipy import ndimage, signal
except ImportError:
    CASES: list[Case] = []
else:
    points = Points(72)
    real, complex_ = points.real, points.complex

    def sp(function: Any, *args: Any, note: str = "", analytic: bool = True, **options: Any) -> Case:
        def call(f: Any, *args: Any) -> Any:
            if any(arg.dtype.char not in "fdFD" for arg in args):
                raise TypeError("single and double precision only")
            return f(*args, **options)

        is_exact = function in (signal.convolve, signal.convolve2d, signal.lfilter)  # the others conjugate, or use an FFT
        kinds = "".join(arg.dtype.char for arg in args)
        named = " ".join([note, *(f"{key}={value}" for key, value in options.items() if not note), kinds])
        return case(function, *args, call=call, note=f"scipy {named.strip()}", analytic=analytic and is_exact, wide=False)

    SECTIONS = np.array([[0.4, 0.3, 0.1, 1.0, -0.5, 0.2], [0.7, 0.2, 0.3, 1.0, 0.3, 0.1]])

    def sosfilt_with(axis: int) -> Any:
        def call(x: Any) -> Any:
            return signal.sosfilt(SECTIONS, x, axis)

        call.__name__ = "sosfilt"
        return call

    PLACES = np.array([[0.3, 2.7, -1.2, 4.6, 1.4], [1.2, 3.3, 0.4, -2.3, 6.7]])
    FILTERING: list[tuple[Any, dict[str, Any]]] = [
        (ndimage.gaussian_filter, {"sigma": 0.7}), (ndimage.gaussian_filter, {"sigma": 0.7, "order": 1}),
        (ndimage.gaussian_filter, {"sigma": 0.8, "truncate": 2.0}),
        (ndimage.gaussian_filter1d, {"sigma": 1.7}), (ndimage.gaussian_laplace, {"sigma": 0.7}), (ndimage.uniform_filter, {"size": 2}),
        (ndimage.uniform_filter, {"size": 3, "origin": 1}), (ndimage.uniform_filter1d, {"size": 4}), (ndimage.laplace, {}),
        (ndimage.sobel, {"axis": 0}), (ndimage.prewitt, {}),
    ]  # fmt: skip

    def homogeneous(x: Any, rows: Any) -> Any:
        return ndimage.affine_transform(x, np.concatenate([rows, [[0.0, 0.0, 1.0]]]), mode="reflect")

    def diagonal(x: Any, matrix: Any, offset: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old versions tell of what still older ones did
            return ndimage.affine_transform(x, matrix, offset, mode="nearest", output_shape=(3, 3))

    PAIRS = [((5,), (3,)), ((4,), (2,)), ((3,), (4,)), ((3, 4), (2, 2)), ((2, 2), (3, 2))]
    FILTERS: list[tuple[Any, Any]] = [(np.array([0.4, 0.3]), np.array([1.3, -0.6, 0.2])), (np.array([0.4, 0.3, 0.7]), np.array([2.0]))]

    CASES = [
        *(sp(f, make(*x), make(*y), mode=mode)
          for f in (signal.convolve, signal.correlate, signal.fftconvolve, signal.oaconvolve) for x, y in PAIRS
          for mode in ("full", "same", "valid") for make in ((real, complex_) if f is not signal.oaconvolve else (real,))),
        *(sp(f, real(5), complex_(3), method=method, analytic=False)
          for f in (signal.convolve, signal.correlate) for method in ("direct", "fft")),
        sp(signal.convolve, real(), real()), sp(signal.fftconvolve, real(2, 5), real(2, 3), axes=1),
        sp(signal.fftconvolve, real(2, 5), real(1, 3), axes=[-1], mode="same"), sp(signal.oaconvolve, real(1, 5), real(2, 3), axes=1),
        *(sp(f, make(*x), make(*y), mode=mode, boundary=boundary)
          for f in (signal.convolve2d, signal.correlate2d) for x, y in (((3, 4), (2, 3)), ((4, 4), (4, 2)), ((2, 3), (3, 4)))
          for mode in ("full", "same", "valid") for boundary in ("fill", "wrap", "symm")
          for make in ((real, complex_) if x == (3, 4) else (real,)) if mode != "valid" or boundary == "fill"),
        *(sp(signal.lfilter, b, a, real(*shape), note=f"{n} {axis}", axis=axis)
          for n, (b, a) in enumerate(FILTERS) for shape, axis in (((6,), -1), ((6, 2), 0), ((2,), 0))),
        sp(signal.lfilter, complex_(2), complex_(2) + 2, complex_(5)),
        *(sp(sosfilt_with(axis), real(*shape), note=f"{axis}") for shape, axis in (((6,), -1), ((5, 2), 0))),
        *(sp(signal.detrend, real(*shape), type=kind, axis=axis)
          for kind in ("linear", "constant") for shape, axis in (((6,), -1), ((5, 2), 0))),
        sp(signal.detrend, real(6), bp=[2]),
        *(sp(f, real(*shape), mode=mode, cval=0.7, **options)
          for f, options in FILTERING for shape in ((6,), (4, 5)) for mode in ("reflect", "constant", "nearest", "mirror", "wrap")),
        sp(ndimage.gaussian_filter, real(4, 5), sigma=(0.5, 1.0)), sp(ndimage.gaussian_filter, complex_(5), sigma=0.7),
        sp(ndimage.gaussian_filter, real(4, 5), sigma=0.6, axes=(1,)),
        sp(ndimage.gaussian_filter1d, real(4, 5), sigma=0.6, axis=0, order=1),
        sp(ndimage.uniform_filter1d, real(4, 5), size=2, axis=0, origin=-1),
        *(sp(f, real(5), real(k), mode=mode, origin=origin, cval=0.7)
          for f in (ndimage.correlate, ndimage.convolve, ndimage.correlate1d, ndimage.convolve1d)
          for mode in ("reflect", "constant", "nearest", "mirror", "wrap") for k, origin in ((3, 0), (2, 0), (4, 1))),
        *(sp(f, real(4, 5), real(2, 3)) for f in (ndimage.correlate, ndimage.convolve)),
        *(sp(f, real(4, 5), real(3), axis=0) for f in (ndimage.correlate1d, ndimage.convolve1d)),
        sp(ndimage.correlate, complex_(5), real(3)),
        *(sp(ndimage.map_coordinates, real(4, 5), PLACES + 0.5 * (order % 2 == 0), order=order, mode=mode, cval=0.7)
          for order in range(6) for mode in ("constant", "nearest", "mirror", "reflect", "grid-wrap", "grid-constant", "wrap")),
        sp(ndimage.map_coordinates, complex_(4, 5), PLACES, order=3),
        sp(ndimage.map_coordinates, real(6), PLACES[:1], order=2, prefilter=False),
        sp(ndimage.map_coordinates, real(70), PLACES[1:], order=3, mode="reflect"),
        *(sp(ndimage.shift, real(4, 5), np.array([0.3, -0.7]), order=order, mode=mode)
          for order in (1, 3) for mode in ("nearest", "mirror")),
        sp(ndimage.shift, real(5), np.array(0.4)),
        sp(ndimage.affine_transform, real(4, 5), np.array([[0.9, 0.13], [-0.21, 1.1]]), np.array([0.23, -0.31]), mode="mirror"),
        sp(diagonal, real(4, 5), np.array([0.93, 1.11]), np.array([0.23, 0.31])),
        sp(homogeneous, real(4, 5), np.array([[1.01, 0.01, 0.19], [-0.51, 1.01, -0.23]]), note="homogeneous"),
        *(sp(f, real(5, 4), order=3, mode=mode) for f in (ndimage.spline_filter1d, ndimage.spline_filter)
          for mode in ("mirror", "reflect", "grid-wrap")),
        sp(ndimage.spline_filter1d, real(70), order=3, mode="reflect"), sp(ndimage.spline_filter1d, real(5, 4), axis=0),
    ]  # fmt: skip
