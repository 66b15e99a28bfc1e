"""Continuous distributions on the line: all functions of all of them, from a few derivatives of each one's standard form.

SciPy computes every value. A distribution adds the derivative of its logarithmic density in z = (x - loc) / scale (the score) and in its
shapes, and what each shape does to a quantile, -dz/dshape (`along`). The rest follows:

| function of z | derivative in z | in a shape |
|---|---|---|
| logpdf | score | shape score |
| pdf | pdf * score | pdf * shape score |
| cdf, sf | pdf, -pdf | pdf * along, -pdf * along |
| logcdf, logsf | pdf / cdf, -pdf / sf | pdf / cdf * along, -pdf / sf * along |
| ppf, isf | 1 / pdf, -1 / pdf at the quantile | -along at the quantile |

Location and scale are ordinary operations before and after, by SciPy's own steps: values are SciPy's bit for bit.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.errors import NoRuleError
from funcgrad.mapped import TRACERS, is_any
from funcgrad.ops.arrays.creation import asarray
from funcgrad.ops.elementwise import divide, exp, where
from funcgrad.ops.scipy.examples import is_differentiated
from funcgrad.rules import general
from funcgrad.rules.batching import broadcasting
from funcgrad.rules.values import as_array, holds_tracer, is_complex, keep_zeros, raw, shape_of, stretch, unbroadcast
from funcgrad.scipy.fallback import WithoutRule

Function = Callable[..., Any]


def pointwise(name: str, function: Function, partials: Sequence[Function | None]) -> Function:
    """An elementwise primitive whose partials `(ans, *operands) -> derivative` may use the answer; None for an operand without a rule."""

    def rules(multiply: Function) -> tuple[list[Function], list[Function]]:
        def jvp(partial: Function) -> Function:
            return lambda t, ans, *operands: stretch(multiply(t, partial(ans, *operands)), shape_of(ans))

        def vjp(n: int, partial: Function) -> Function:
            return lambda ct, ans, *operands: unbroadcast(multiply(ct, partial(ans, *operands)), shape_of(operands[n]))

        known = [partial or _none for partial in partials]
        return [jvp(partial) for partial in known], [vjp(n, partial) for n, partial in enumerate(known)]

    strong = rules(lambda t, factor: keep_zeros(t, factor * t))
    batch = broadcasting(lambda *operands: operation(*operands))
    operation = general(function, *rules(lambda t, factor: factor * t), name=name, strong=strong, batch=batch)
    return operation


def _none(*operands: Any) -> Any:
    raise NoRuleError("a derivative without a closed form was asked for")  # Distribution refuses such operands before they are recorded


def double(value: Any) -> Any:
    """An argument in double precision, which is what SciPy computes in.

    Raises:
        NoRuleError: it is complex.
    """
    if is_complex(raw(value)):
        raise NoRuleError("distributions have no derivative rules for complex numbers: give real ones")
    if type(value) is float or type(value) is np.float64:
        return value
    if type(value) in TRACERS:
        return value if value.dtype.itemsize >= 8 else value.astype(np.float64)
    value = asarray(value)
    return double(value) if type(value) in TRACERS else np.asarray(value, np.promote_types(value.dtype, np.float64))


def _is_low(dtype: Any) -> bool:
    """Whether it is single or half precision."""
    return dtype is not None and dtype.kind == "f" and dtype.itemsize < 8


def _as_given(value: Any) -> Any:
    """Double precision, but for what was given in a lower one."""
    return value if _is_low(getattr(value, "dtype", None)) else double(value)


def _alike(x: Any, y: Any) -> tuple[Any, Any]:
    """Both in double precision, unless NumPy's result for arrays of them is of a lower one: in that SciPy standardizes them."""
    dtype = np.result_type(as_array(raw(x)), as_array(raw(y)))
    return (asarray(x).astype(dtype), asarray(y).astype(dtype)) if _is_low(dtype) else (double(x), double(y))


class Distribution:
    """One of SciPy's distributions with derivatives: `norm.logpdf(x, loc, scale)`, or frozen, `norm(loc, scale).logpdf(x)`.

    What has no rule (`rvs`, `mean`, `fit`, ...) is SciPy's own on plain values and raises NoRuleError by name on tracers.
    """

    functions: tuple[str, ...] = ()

    def __init__(self, distribution: Any, name: str) -> None:
        self._scipy = distribution
        self._guarded = WithoutRule(distribution, f"scipy.stats.{name}")
        self._name = name
        self.__doc__ = distribution.__doc__
        self.__module__ = "funcgrad.scipy.stats"  # where it is found under its name, by pickle for one

    def __reduce__(self) -> str:
        return self._name

    def __call__(self, *args: Any, **kwds: Any) -> Frozen:
        """The distribution with its parameters fixed."""
        return Frozen(self, args, kwds)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._guarded, name)

    def __repr__(self) -> str:
        return f"<scipy.stats.{self._name}, with derivatives>"

    def _refuse(self, function: str, parameter: str) -> None:
        raise NoRuleError(
            f"scipy.stats.{self._name}.{function} has no derivative in {parameter}: it has no closed form. Use "
            f"funcgrad.stop_gradient({parameter}) where it is to count as a constant"
        )


class Frozen:
    """A distribution with its parameters fixed, as SciPy's."""

    def __init__(self, distribution: Distribution, args: tuple[Any, ...], kwds: dict[str, Any]) -> None:
        self.dist = distribution
        self.args = args
        self.kwds = kwds

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        function = getattr(self.dist, name)
        if name in self.dist.functions:
            return lambda *x, **named: function(*x, *named.values(), *self.args, **self.kwds)
        if holds_tracer(self.args, self.kwds):
            return functools.partial(function, *self.args, **self.kwds)  # which refuses
        frozen = self.dist._scipy(*self.args, **self.kwds)
        return getattr(WithoutRule(frozen, f"scipy.stats.{self.dist._name}"), name)

    def __repr__(self) -> str:
        given = [repr(value) for value in self.args] + [f"{key}={value!r}" for key, value in self.kwds.items()]
        return f"scipy.stats.{self.dist._name}({', '.join(given)})"


class Continuous(Distribution):
    """A continuous distribution with location and scale.

    Args:
        distribution: SciPy's.
        score: `(z, *shapes)` -> derivative of the logarithmic density in z.
        shape_scores: the same in each shape.
        along: for each shape `(z, *shapes)` -> derivative of the distribution function in that shape over the density; None where that
            has no closed form.
        reversed_hazard: `(z, *shapes)` -> pdf / cdf where the general way loses digits.
        hazard: `(z, *shapes)` -> pdf / sf likewise.
        density: `(z, *shapes)` -> pdf where that is simpler than to ask SciPy, for derivatives.
    """

    functions = ("logpdf", "pdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf")

    def __init__(
        self,
        distribution: Any,
        score: Function,
        shape_scores: Sequence[Function] = (),
        along: Sequence[Function | None] = (),
        reversed_hazard: Function | None = None,
        hazard: Function | None = None,
        density: Function | None = None,
    ) -> None:
        super().__init__(distribution, distribution.name)
        self._low, self._high = float(distribution.a), float(distribution.b)
        self._score, self._along = score, along
        self._density: Function = density or (lambda *operands: self._standard["pdf"](*operands))
        self._shapes = shapes = distribution.shapes.split(", ") if distribution.shapes else []
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = [inspect.Parameter(name, kind) for name in ("x", *shapes)]
        parameters += [inspect.Parameter("loc", kind, default=0), inspect.Parameter("scale", kind, default=1)]
        self._signature = inspect.Signature(parameters)

        scores = [self._of_logpdf(one) for one in (score, *shape_scores)]
        height = self._in_support(_without_answer(self._density))
        falling = self._in_support(_without_answer(hazard) if hazard else self._hazard)
        rising = self._in_support(_without_answer(reversed_hazard) if reversed_hazard else self._reversed_hazard)
        self._standard = {
            "logpdf": self._primitive("logpdf", scores),
            "pdf": self._primitive("pdf", [self._of_pdf(one) for one in (score, *shape_scores)]),
            "cdf": self._primitive("cdf", self._through(height)),
            "sf": self._primitive("sf", self._through(lambda ans, *operands: -height(ans, *operands))),
            "logcdf": self._primitive("logcdf", self._through(rising)),
            "logsf": self._primitive("logsf", self._through(lambda ans, *operands: -falling(ans, *operands))),
            "ppf": self._primitive("ppf", self._of_quantiles(1.0)),
            "isf": self._primitive("isf", self._of_quantiles(-1.0)),
        }

    # -------------------------------------------------------------------------------------------- rules of the standard form

    def _primitive(self, function: str, partials: Sequence[Function | None]) -> Function:
        return pointwise(f"{self._name}.{function}", getattr(self._scipy, function), partials)

    def _in_support(self, partial: Function) -> Function:
        """The partial in the support, 0 outside; where it is not finite, 0 at an end (or infinity), and where ans has left its range."""
        low, high = self._low, self._high
        middle = 0.5 if (low, high) == (0.0, 1.0) else 1.0

        def masked(ans: Any, z: Any, *shapes: Any) -> Any:
            plain, value = raw(z), raw(ans)
            outside = (plain < low) | (plain > high)
            found = partial(ans, where(outside, middle, z) if is_any(outside) else z, *shapes)
            at_end = (plain == low) | (plain == high) | (value == 0) | np.isinf(value)
            zero = outside | at_end & ~np.isfinite(raw(found))
            found = where(zero, 0.0, found) if is_any(zero) else found
            return where(np.isnan(value), np.nan, found) if is_any(np.isnan(value)) else found

        return masked

    def _of_logpdf(self, score: Function) -> Function:
        return self._in_support(_without_answer(score))

    def _of_pdf(self, score: Function) -> Function:
        return self._in_support(lambda ans, *operands: ans * score(*operands))

    def _through(self, slope: Function) -> list[Function | None]:
        """The partials of a function of cdf(z), given that in z."""

        def in_shape(along: Function) -> Function:
            return self._in_support(lambda ans, *operands: slope(ans, *operands) * along(*operands))

        return [slope, *(in_shape(along) if along else None for along in self._along)]

    def _of_quantiles(self, sign: float) -> list[Function | None]:
        def in_shape(along: Function) -> Function:
            return self._at_quantile(lambda z, q, *shapes: -along(z, *shapes))

        slope = self._at_quantile(lambda z, q, *shapes: divide(sign, self._density(z, *shapes)))
        return [slope, *(in_shape(along) if along else None for along in self._along)]

    def _at_quantile(self, partial: Function) -> Function:
        """0 where the quantile is infinite: at probabilities 0 and 1."""

        def masked(ans: Any, *operands: Any) -> Any:
            infinite = np.isinf(raw(ans))
            if not is_any(infinite):
                return partial(ans, *operands)
            return where(infinite, 0.0, partial(where(infinite, 1.0, ans), *operands))

        return masked

    def _hazard(self, ans: Any, *operands: Any) -> Any:
        return self._over_tail(ans, operands, -1.0)

    def _reversed_hazard(self, ans: Any, *operands: Any) -> Any:
        return self._over_tail(ans, operands, 1.0)

    def _over_tail(self, ans: Any, operands: Any, sign: float) -> Any:
        """The density over a tail that `ans` is the logarithm of; where that underflows, its limit far out: the score, or its negative."""
        lost = np.isneginf(raw(ans))
        if not is_any(lost):
            return exp(self._standard["logpdf"](*operands) - ans)
        ratio = exp(self._standard["logpdf"](*operands) - where(lost, 0.0, ans))
        return where(lost, sign * self._score(*operands), ratio)

    # -------------------------------------------------------------------------------------------- functions

    def _call(self, function: str, args: tuple[Any, ...], kwds: dict[str, Any]) -> Any:
        """SciPy's function; on tracers by the steps by which SciPy computes it."""
        if not holds_tracer(args, kwds):
            return getattr(self._scipy, function)(*args, **kwds)
        is_quantile = function in ("ppf", "isf")
        if is_quantile and "q" in kwds:
            kwds = {"x": kwds["q"], **{key: value for key, value in kwds.items() if key != "q"}}
        bound = self._signature.bind(*args, **kwds)
        is_shifted, is_scaled = "loc" in bound.arguments, "scale" in bound.arguments
        bound.apply_defaults()
        x, *shapes, loc, scale = (double(value) if is_quantile else _as_given(value) for value in bound.args)
        if function not in ("logpdf", "pdf"):
            for name, shape, along in zip(self._shapes, shapes, self._along, strict=True):
                if along is None and is_differentiated(shape):
                    self._refuse(function, name)
        standard = self._standard[function]
        if is_scaled and is_any(raw(scale) <= 0):
            scale = scale * where(raw(scale) > 0, 1.0, np.nan)  # whose derivative is NaN too
        if is_quantile:
            z = standard(x, *shapes)
            z = z * scale if is_scaled else z
            return z + loc if is_shifted else z
        z = np.subtract(*_alike(x, loc)) if is_shifted else double(x)
        value = standard(double(divide(*_alike(z, scale)) if is_scaled else z), *shapes)
        if not is_scaled or function not in ("logpdf", "pdf"):
            return value
        return value - np.log(scale) if function == "logpdf" else divide(value, scale)

    def logpdf(self, *args: Any, **kwds: Any) -> Any:
        """Logarithm of the density at x: `logpdf(x, *shapes, loc=0, scale=1)`."""
        return self._call("logpdf", args, kwds)

    def pdf(self, *args: Any, **kwds: Any) -> Any:
        """Density at x: `pdf(x, *shapes, loc=0, scale=1)`."""
        return self._call("pdf", args, kwds)

    def cdf(self, *args: Any, **kwds: Any) -> Any:
        """Probability of at most x: `cdf(x, *shapes, loc=0, scale=1)`."""
        return self._call("cdf", args, kwds)

    def sf(self, *args: Any, **kwds: Any) -> Any:
        """Probability of more than x: `sf(x, *shapes, loc=0, scale=1)`."""
        return self._call("sf", args, kwds)

    def logcdf(self, *args: Any, **kwds: Any) -> Any:
        """Logarithm of cdf: `logcdf(x, *shapes, loc=0, scale=1)`."""
        return self._call("logcdf", args, kwds)

    def logsf(self, *args: Any, **kwds: Any) -> Any:
        """Logarithm of sf: `logsf(x, *shapes, loc=0, scale=1)`."""
        return self._call("logsf", args, kwds)

    def ppf(self, *args: Any, **kwds: Any) -> Any:
        """Inverse of cdf: `ppf(q, *shapes, loc=0, scale=1)`."""
        return self._call("ppf", args, kwds)

    def isf(self, *args: Any, **kwds: Any) -> Any:
        """Inverse of sf: `isf(q, *shapes, loc=0, scale=1)`."""
        return self._call("isf", args, kwds)


def _without_answer(partial: Function) -> Function:
    return lambda ans, *operands: partial(*operands)
