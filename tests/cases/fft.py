"""Discrete Fourier transforms: of odd and even length, cut and padded, of every norm, of real and of complex numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.cases.case import Case, Points, case
from tests.witnesses import NUMPY

points = Points(31)
real, complex_ = points.real, points.complex
IS_WIDE = NUMPY >= (2, 0)  # NumPy 1 transforms in double precision only


def _transform(function: Any, args: list[Any], **options: Any) -> list[Case]:
    return [
        case(function, arg, wide=IS_WIDE, analytic=False, note=f"{arg.dtype} {options or ''}".strip(), call=lambda f, x: f(x, **options))
        for arg in args
    ]


def _one_axis(function: Any, *makes: Any, least: int = 1) -> list[Case]:
    found: list[Case] = []
    for make in makes:
        found += _transform(function, [make(4), make(5), make(2), make(2, 3), make(3, 2, 2)])
        found += _transform(function, [make(3)], norm="ortho") + _transform(function, [make(3)], norm="forward")
        found += _transform(function, [make(4)], norm="ortho") + _transform(function, [make(4)], norm="backward")
        found += _transform(function, [make(5)], n=3) + _transform(function, [make(3)], n=6) + _transform(function, [make(3)], n=7)
        found += _transform(function, [make(3, 2)], axis=0) + _transform(function, [make(2, 3, 2)], n=4, axis=-2, norm="forward")
        found += _transform(function, [make(2)], n=1)
        found += _transform(function, [make(1)]) if least == 1 else []
    return found


def _several_axes(function: Any, *makes: Any) -> list[Case]:
    found: list[Case] = []
    for make in makes:
        found += _transform(function, [make(3, 4), make(2, 2, 3)])
        found += _transform(function, [make(2, 3)], norm="ortho") + _transform(function, [make(3, 2)], norm="forward")
        found += _transform(function, [make(2, 3, 2)], axes=(2, 0)) + _transform(function, [make(2, 3, 2)], axes=[0, 1], norm="forward")
        found += _transform(function, [make(3, 4)], s=(5, 3), axes=(0, 1)) + _transform(function, [make(3, 4)], s=(2, 6), axes=(-1, -2))
    return found


CASES = [
    *_one_axis(np.fft.fft, real, complex_), *_one_axis(np.fft.ifft, real, complex_),
    *_one_axis(np.fft.rfft, real), *_one_axis(np.fft.ihfft, real),
    *_one_axis(np.fft.irfft, real, complex_, least=2), *_one_axis(np.fft.hfft, real, complex_, least=2),
    *(one for function in (np.fft.fftn, np.fft.ifftn, np.fft.irfftn, np.fft.fft2, np.fft.ifft2, np.fft.irfft2)
      for one in _several_axes(function, real, complex_)),
    *_several_axes(np.fft.rfftn, real), *_several_axes(np.fft.rfft2, real),
    *(one for function in (np.fft.fftn, np.fft.ifftn, np.fft.irfftn)
      for one in [*_transform(function, [complex_(3)]), *_transform(function, [complex_(2, 3)], axes=(1,))]),
    *_transform(np.fft.fftn, [complex_(2)], axes=()), *_transform(np.fft.fft, [complex_(0, 3)]), *_transform(np.fft.rfft, [real(0, 3)]),
    *(case(function, x, note=f"{x.dtype} {options or ''}", **options) for function in (np.fft.fftshift, np.fft.ifftshift)
      for x in (real(2, 3), complex_(3, 2)) for options in ({}, {"axes": 1}, {"axes": (0, -1)}, {"axes": [-2]})),
    case(np.fft.fftshift, real(5)), case(np.fft.ifftshift, real(5)), case(np.fft.fftshift, real(4)),
]  # fmt: skip
