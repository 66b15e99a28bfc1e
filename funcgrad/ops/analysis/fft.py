"""Discrete Fourier transforms: eight linear primitives, and what is composed from them.

The matrix of a transform is symmetric, so a transform of complex numbers is its own transpose. Transforms from and to real numbers keep one
of each pair of conjugate frequencies. They are each other's transposes but for these pairs, which count twice on the way to real numbers,
and for a conjugation, since cotangents are not conjugated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.errors import NoRuleError
from funcgrad.ops.structural import along, normalized_axes
from funcgrad.primitive import register_all
from funcgrad.rules import linear
from funcgrad.rules.batching import in_front
from funcgrad.rules.values import raw, real_part, refuse_out, shape_of

Sizes = Sequence[int | None] | None
Axes = Sequence[int] | None

_OPPOSITE: dict[Any, Any] = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}
"""The norm that scales the transform back as this one scales the transform forth."""


def _over(s: Sizes, axes: Axes, ndim: int) -> tuple[int, ...]:
    """The axes of a transform, counted from the front."""
    if axes is None:
        return tuple(range(0 if s is None else ndim - len(s), ndim))
    return normalized_axes(tuple(axes), ndim)


def _fitted(x: Any, shape: tuple[int, ...]) -> Any:
    """Cut, or padded with zeros, at the end of each axis: the transpose of what a transform does to reach its sizes."""
    if any(own > size for own, size in zip(shape_of(x), shape, strict=True)):
        x = x[tuple(map(slice, shape))]
    missing = [(0, size - own) for own, size in zip(shape_of(x), shape, strict=True)]
    return np.pad(x, missing) if any(after for _, after in missing) else x


def _pairs(x: Any, size: int, axis: int, weight: float) -> Any:
    """Spectrum x of `size` real numbers with the frequencies that stand for two times the weight: not the first, not the middle one."""
    weights = np.full(size // 2 + 1, weight, raw(x).real.dtype)
    weights[0] = 1.0
    if size % 2 == 0:
        weights[-1] = 1.0
    return x * weights.reshape((-1,) + (1,) * (len(shape_of(x)) - 1 - axis))


def _of_complex(transform: Any) -> Any:
    """The transpose of a transform of complex numbers."""

    def transpose(ct: Any, shape: tuple[int, ...], s: Sizes, axes: Axes, norm: str | None) -> Any:
        return _fitted(transform(ct, None, _over(s, axes, len(shape)), norm), shape)

    return transpose


def _from_real(ct: Any, shape: tuple[int, ...], s: Sizes, axes: Axes, norm: str | None) -> Any:
    """The transpose of np.fft.rfftn."""
    over = _over(s, axes, len(shape))
    last = None if s is None else s[-1]
    sizes = [shape_of(ct)[axis] for axis in over[:-1]] + [shape[over[-1]] if last in (None, -1) else last]
    halved = _pairs(np.conj(ct), sizes[-1], over[-1], 0.5)
    return _fitted(np.fft.irfftn(halved, sizes, over, _OPPOSITE[norm]), shape)


def _to_real(ct: Any, shape: tuple[int, ...], s: Sizes, axes: Axes, norm: str | None) -> Any:
    """The transpose of np.fft.irfftn."""
    over = _over(s, axes, len(shape))
    back = np.conj(np.fft.rfftn(real_part(ct), None, over, _OPPOSITE[norm]))
    return _fitted(_pairs(back, shape_of(ct)[over[-1]], over[-1], 2.0), shape)


def _several_axes(function: Any, transpose: Any) -> Any:
    """The operation of a transform over several axes."""

    def in_stack(x: Any, s: Sizes, axes: Axes, norm: str | None) -> Any:
        return primitive(x, s, tuple(n + 1 for n in _over(s, axes, x.ndim - 1)), norm)

    primitive = linear(function, transpose, batch=in_front(in_stack))

    def operation(a: Any, s: Sizes = None, axes: Axes = None, norm: str | None = None, out: None = None) -> Any:
        refuse_out(function.__name__, out)
        ndim = max(1, len(shape_of(a)))
        if axes is not None and len({axis % ndim for axis in axes}) < len(axes):
            raise NoRuleError(f"np.fft.{function.__name__}(axes={axes}) names an axis twice, and has no derivative rule: take one by one")
        return primitive(a, s if s is None else tuple(s), axes if axes is None else tuple(axes), norm)

    return operation


def _one_axis(function: Any, transpose: Any) -> Any:
    """The operation of a transform over one axis."""
    primitive = linear(
        function,
        lambda ct, shape, n, axis, norm: transpose(ct, shape, (n,), (axis,), norm),
        batch=in_front(lambda x, n, axis, norm: primitive(x, n, along(axis, x.ndim - 1), norm)),
    )

    def operation(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: None = None) -> Any:
        refuse_out(function.__name__, out)
        return primitive(a, n, axis, norm)

    return operation


def _two_axes(operation: Any) -> Any:
    """The same over the last two axes."""

    def over_two(a: Any, s: Sizes = None, axes: Axes = (-2, -1), norm: str | None = None, out: None = None) -> Any:
        return operation(a, s, axes, norm, out)

    return over_two


_OF_FFT, _OF_IFFT = _of_complex(np.fft.fftn), _of_complex(np.fft.ifftn)
fft, ifft = _one_axis(np.fft.fft, _OF_FFT), _one_axis(np.fft.ifft, _OF_IFFT)
rfft, irfft = _one_axis(np.fft.rfft, _from_real), _one_axis(np.fft.irfft, _to_real)
fftn, ifftn = _several_axes(np.fft.fftn, _OF_FFT), _several_axes(np.fft.ifftn, _OF_IFFT)
rfftn, irfftn = _several_axes(np.fft.rfftn, _from_real), _several_axes(np.fft.irfftn, _to_real)


def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: None = None) -> Any:
    """np.fft.hfft, as NumPy composes it."""
    size = 2 * (shape_of(a)[axis] - 1) if n is None else n
    return irfft(np.conj(a), size, axis, _OPPOSITE.get(norm, norm), out)


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: None = None) -> Any:
    """np.fft.ihfft, as NumPy composes it."""
    size = shape_of(a)[axis] if n is None else n
    return np.conj(rfft(a, size, axis, _OPPOSITE.get(norm, norm), out))


def _halfway(x: Any, axes: int | Sequence[int] | None, sign: int) -> Any:
    """Rolled by half the size of each axis, rounded down; sign -1 rolls it back."""
    over = normalized_axes(axes if axes is None or isinstance(axes, int | np.integer) else tuple(axes), len(shape_of(x)))
    return np.roll(x, tuple(sign * (shape_of(x)[axis] // 2) for axis in over), over)


def fftshift(x: Any, axes: int | Sequence[int] | None = None) -> Any:
    """np.fft.fftshift."""
    return _halfway(x, axes, 1)


def ifftshift(x: Any, axes: int | Sequence[int] | None = None) -> Any:
    """np.fft.ifftshift."""
    return _halfway(x, axes, -1)


_OPERATIONS: dict[Any, Any] = {
    np.fft.fft: fft,
    np.fft.ifft: ifft,
    np.fft.rfft: rfft,
    np.fft.irfft: irfft,
    np.fft.hfft: hfft,
    np.fft.ihfft: ihfft,
    np.fft.fftn: fftn,
    np.fft.ifftn: ifftn,
    np.fft.rfftn: rfftn,
    np.fft.irfftn: irfftn,
    np.fft.fft2: _two_axes(fftn),
    np.fft.ifft2: _two_axes(ifftn),
    np.fft.rfft2: _two_axes(rfftn),
    np.fft.irfft2: _two_axes(irfftn),
    np.fft.fftshift: fftshift,
    np.fft.ifftshift: ifftshift,
}
register_all(_OPERATIONS)
