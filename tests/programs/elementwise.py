"""Operations for random programs: one number at a time, and what is broadcast.

An operation is a function of a draft that adds a step to it, or answers None where there is no fit operand. Its expressions stand in a
table: texts with the operands as fields, one of which is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.programs.draft import Draft

Operation = Callable[[Draft], "str | None"]
Condition = Callable[[Any], Any]


def table(text: str) -> tuple[str, ...]:
    """The expressions of a text, which semicolons part."""
    return tuple(" ".join(one.split()) for one in text.split(";"))


def where(condition: Condition, text: str) -> list[tuple[str, Condition]]:
    """The expressions of a text, with what must hold for their operand."""
    return [(one, condition) for one in table(text)]


SMOOTH = table("""
    np.sin({x}); np.cos({x}); np.tanh({x}); np.arctan({x}); -{x}; {x} * {x}; {x} ** 2; np.square({x}); 0.2 * {x} ** 3; np.exp(-({x} * {x}));
    np.log({x} * {x} + 1.5); np.sqrt({x} * {x} + 0.5); np.exp(np.tanh({x})); 1.0 / ({x} * {x} + 2.0); {x} - 1.0; 1.0 - {x}; 2 * {x};
    {x} / 3.0; +{x}; np.multiply({x}, 0.5); np.negative({x}); np.sinh(0.3 * {x}); np.cosh(0.3 * {x}); 0.5 * {x} + {x} * {x};
    np.reciprocal({x} * {x} + 1.5); np.expm1(0.2 * {x}); np.positive({x}); np.subtract(0.3, {x}); np.true_divide({x}, 1.5); np.add({x}, {x})
""")
"""Functions that are smooth and moderate everywhere."""

REAL = table("""
    nn.sigmoid({x}); nn.softplus({x}); nn.silu({x}); nn.gelu({x}); np.logaddexp({x}, 0.3); np.logaddexp2(0.5, {x}); np.hypot({x}, 1.5);
    np.arctan2({x}, 2.0); np.arcsinh({x}); np.sinc({x}); np.deg2rad({x}); nn.log_sigmoid({x}); np.real({x}); np.conj({x}); np.i0(0.5 * {x});
    np.imag(1j * {x}); np.nan_to_num({x}); np.degrees(0.02 * {x})
""")
"""Likewise, but not of complex numbers, or not analytic."""

WITHIN = [
    *where(lambda x: x > 0.2, """
        np.log({x}); np.sqrt({x}); {x} ** 1.5; {x} ** -0.5; np.log2({x}); np.log10({x}); np.float_power({x}, 1.3); np.power({x}, 0.7);
        {x} ** np.tanh({x}); 1.3 ** {x}"""),
    *where(lambda x: np.abs(x) > 0.3, "1 / {x}; np.reciprocal({x}); {x} ** -2; 0.5 / {x}; np.divide(1.2, {x})"),
    *where(lambda x: np.abs(x) < 0.85, "np.arcsin({x}); np.arccos({x}); np.arctanh({x}); np.tan({x})"),
    *where(lambda x: np.abs(x) < 3.0, "np.exp({x}); np.exp2({x}); 2.0 ** {x}; np.sinh({x}); np.cosh({x})"),
    *where(lambda x: x > -0.7, "np.log1p({x})"),
    *where(lambda x: x > 1.3, "np.arccosh({x})"),
]  # fmt: skip
"""Analytic functions, and where."""

KINKED = [
    *where(lambda x: np.abs(x) > 0.06, """
        np.abs({x}); abs({x}); np.fabs({x}); np.sign({x}) * {x}; nn.relu({x}); nn.leaky_relu({x}); nn.elu({x}); np.cbrt({x});
        np.heaviside({x}, 0.5) * {x}; ({x} > 0) * {x}; np.maximum({x}, 0.0); np.where({x} < 0, {x} * {x}, {x}); np.copysign(1.3, {x}) + {x};
        np.clip({x}, 0.0, None); np.fmin({x}, 0); np.where({x} > 0, np.sqrt(np.abs({x})), 0.0); np.float_power(np.abs({x}), 0.7);
        np.hypot({x}, 0.0)"""),
    *where(lambda x: np.abs(x - np.round(x)) > 0.06, """
        {x} - np.floor({x}); {x} % 1.0; np.fmod({x}, 1); np.ceil({x}) * {x}; np.modf({x})[0]; {x} * np.trunc({x}); {x} // 1 + {x};
        np.divmod({x}, 1.0)[1]; np.maximum({x}, 1.0) * {x}; np.clip({x}, -1, 1); np.minimum({x}, np.ones_like({x}));
        np.remainder({x}, -1.0);
        np.interp({x}, [-2.0, -1.0, 0.0, 1.0, 2.0], [0.3, -0.2, 0.7, 1.0, -0.4])"""),
    *where(lambda x: np.abs(x - np.round(x)) < 0.44, "{x} * np.round({x}); np.rint({x}) + {x}"),
]  # fmt: skip
"""Functions with kinks or jumps, and where they are far."""

COMPLEX = [
    *where(lambda z: np.abs(z) >= 0.0, """
        {x} * {x}; np.conj({x}); {x} * np.conj({x}); {x}.real; {x}.imag; np.real({x}); np.imag({x}); np.sin(0.5 * {x}); np.exp(0.3 * {x});
        1j * {x}; ({x} * 0.5) ** 2; {x} / (np.abs({x}) ** 2 + 1.0); np.cos({x} * 0.3); {x} - 1.0j; 2.0 * {x}; np.conjugate({x}) + 0.5;
        np.square({x}); -{x}; {x}.real * {x}"""),
    *where(lambda z: np.abs(z) > 0.2, "np.abs({x}); abs({x}); 1 / {x}; {x} / np.abs({x})"),
    *where(lambda z: (np.abs(z) > 0.2) & ((np.abs(z.imag) > 0.05) | (z.real > 0.05)), """
        np.log({x}); np.sqrt({x}); np.angle({x}); {x} ** 1.5; np.power({x}, 0.5j)"""),
]  # fmt: skip

INTO_COMPLEX = table("{x} + 1j * {y}; np.exp(1j * {x}); {x} * (1.0 + 0.5j); {x} * 1j - {y}; np.fft.fft({x}); np.sqrt({x} * {x} + 1j)")

BINARY = table("""
    {x} + {y}; {x} - {y}; {x} * {y}; np.add({x}, {y}); np.multiply({x}, {y}); {x} / (1.7 + {y} * {y}); np.sin({x}) * {y};
    np.tanh({x} + {y});
    np.tanh({x}) * np.exp(np.tanh({y})); np.subtract({x}, {y} * {y}); {x} * 0.5 + {y} * {y}
""")

REAL_BINARY = table("""
    np.hypot({x}, np.cosh({y})); np.arctan2({x}, {y} * {y} + 1.0); np.logaddexp({x}, {y}); np.where(np.arange(3) > 1, {x}, {y});
    np.logaddexp2({x}, {y}); np.arctan2(np.cosh({x}), {y})
""")

WITH_CONSTANT = table("{c} * {x}; {x} * {c}; {x} + {c}; {c} - {x}; np.multiply({c}, {x}); {x} / (2.5 + {c}); np.add({x}, {c})")

APART = table("""
    np.maximum({x}, {y}); np.minimum({x}, {y}); np.fmax({x}, {y}); np.where({x} > {y}, {x}, {y} * {y}); np.abs({x} - {y})
""")
BY_NONZERO = table("{x} / {y}; np.divide({x}, {y}); np.hypot({x}, {y}); {x} / {y}")
OF_POSITIVE = table("{x} ** {y}; np.power({x}, {y}); np.float_power({x}, {y})")


def add_one_of(d: Draft, expressions: Sequence[str], *traits: str, **fields: Any) -> str | None:
    """A step for one of some expressions."""
    return d.add(str(d.one(expressions)).format(**fields), *traits) if expressions else None


def add_where(d: Draft, expressions: Sequence[tuple[str, Condition]], x: str | None, *traits: str) -> str | None:
    """A step for one of some functions that have their domain where x is."""
    if x is None:
        return None
    return add_one_of(d, [text for text, condition in expressions if d.is_true(x, condition)], *traits, x=x)


def smooth(d: Draft) -> str | None:
    x = d.pick()
    return None if x is None else add_one_of(d, SMOOTH, x=x)


def real(d: Draft) -> str | None:
    x = d.pick()
    return None if x is None else add_one_of(d, REAL, "kinked", x=x)


def within(d: Draft) -> str | None:
    return add_where(d, WITHIN, d.pick())


def kinked(d: Draft) -> str | None:
    return add_where(d, KINKED, d.pick(), "kinked")


def complex_numbers(d: Draft) -> str | None:
    """A function of a complex variable; if there is none, one is made."""
    z = d.pick(d.is_complex, complex_too=True)
    if z is not None:
        return add_where(d, COMPLEX, z, "kinked")
    x, y = d.pick(), d.pick()
    return None if x is None or y is None else add_one_of(d, INTO_COMPLEX, "kinked", "complex", x=x, y=y)


def scale(d: Draft) -> str | None:
    """An operation with a constant."""
    x = d.pick(complex_too=True)
    if x is None:
        return None
    shape = d.shape(x)
    constants = [str(d.number(0.3, 1.5)), d.array(*shape[-1:]), f"np.float64({d.number(-1, 1)})", "np.int64(2)", "True", "3"]
    if shape:
        constants += [d.array(*shape), d.array(shape[0], *(1,) * (len(shape) - 1)), d.array(2, *shape), f"np.arange({shape[-1]})"]
    return add_one_of(d, WITH_CONSTANT, c=d.one(constants), x=x)


def pair(d: Draft, complex_too: bool = False) -> tuple[str, str] | None:
    """Two variables that can be broadcast; seldom the same."""
    for _ in range(4):
        x, y = d.pick(complex_too=complex_too), d.pick(complex_too=complex_too)
        if x is None or y is None:
            return None
        try:
            np.broadcast_shapes(d.shape(x), d.shape(y))
        except ValueError:
            continue
        if x != y or d.chance(0.3):
            return x, y
    return None


def binary(d: Draft) -> str | None:
    found = pair(d, complex_too=True)
    return None if found is None else add_one_of(d, BINARY, x=found[0], y=found[1])


def real_binary(d: Draft) -> str | None:
    found = pair(d)
    return None if found is None else add_one_of(d, REAL_BINARY, "kinked", x=found[0], y=found[1])


def apart(d: Draft) -> str | None:
    """Functions of two variables that are not smooth where they meet, or where one is zero."""
    found = pair(d)
    if found is None:
        return None
    x, y = found
    pairs = list(zip(d.at_all(x), d.at_all(y), strict=True))
    texts: list[str] = []
    if all(np.all(np.abs(a - b) > 0.06) for a, b in pairs):
        texts += APART
    if d.is_true(y, lambda b: np.abs(b) > 0.3):
        texts += BY_NONZERO
    if d.is_true(y, lambda b: b > 0.3):
        texts += ["np.arctan2({x}, {y})"]
    if d.is_true(x, lambda a: a > 0.2):
        texts += OF_POSITIVE
    return add_one_of(d, texts, "kinked", x=x, y=y)


OPERATIONS: dict[Operation, float] = {
    smooth: 5, real: 2, within: 4, kinked: 2.5, complex_numbers: 1.2, scale: 2, binary: 6, real_binary: 1, apart: 2.5,
}  # fmt: skip
"""How often each is tried, beside the others."""
