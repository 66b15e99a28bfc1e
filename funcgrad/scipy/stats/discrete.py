"""The discrete distributions, differentiable in their continuous parameters; counts have nothing to differentiate.

Derivatives of the probabilities are differences of probabilities, exact where powers of a parameter that is 0 would not be:
d pmf(k; mu) / d mu = pmf(k - 1; mu) - pmf(k; mu) for Poisson's, n (pmf(k - 1; n - 1, p) - pmf(k; n - 1, p)) in p for the binomial one.
Summed, only one term is left: d cdf(k; mu) / d mu = -pmf(k; mu), and -n pmf(k; n - 1, p).

References: Johnson, Kemp, Kotz, Univariate Discrete Distributions (2005).
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import scipy.stats as _stats

from funcgrad.mapped import is_all, is_any
from funcgrad.ops.arrays.creation import asarray
from funcgrad.ops.elementwise import divide, exp, where
from funcgrad.ops.scipy.examples import is_differentiated
from funcgrad.rules.values import holds_tracer, raw
from funcgrad.scipy.stats.family import Distribution, Function, double, pointwise


class Discrete(Distribution):
    """A distribution of counts k with one continuous parameter, the last before loc.

    Args:
        distribution: SciPy's.
        score: `(k, *counts, parameter)` -> derivative of logpmf in the parameter.
        lower: for the derivatives of sums: the same arguments -> (what multiplies the probability that is left, its counts after k).
    """

    functions = ("logpmf", "pmf", "cdf", "sf", "logcdf", "logsf")

    def __init__(self, distribution: Any, score: Function, lower: Function) -> None:
        super().__init__(distribution, distribution.name)
        self._score, self._lower = score, lower
        names = ["k", *distribution.shapes.split(", "), "loc"]
        self._counts = [name for name in names if name != names[-2]]
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self._signature = inspect.Signature(
            [inspect.Parameter(name, kind, default=0 if name == "loc" else inspect.Parameter.empty) for name in names]
        )
        self._rules: dict[str, Function] = {
            "logpmf": self._of_logpmf,
            "pmf": self._of_pmf,
            "cdf": lambda ans, *operands: self._of_tail(operands, -1.0),
            "sf": lambda ans, *operands: self._of_tail(operands, 1.0),
            "logcdf": lambda ans, *operands: self._of_log_tail(ans, operands, -1.0, 0.0),
            "logsf": lambda ans, *operands: self._of_log_tail(ans, operands, 1.0, 1.0),
        }
        self._standard = {function: self._primitive(function) for function in self.functions}

    def _primitive(self, function: str) -> Function:
        """The primitive of the parameter alone; the counts are static."""
        value, rule = getattr(self._scipy, function), self._rules[function]
        return pointwise(
            f"{self._name}.{function}",
            lambda parameter, *counts: value(*counts, parameter),
            [lambda ans, parameter, *counts: rule(ans, *counts, parameter)],
        )

    def _of_logpmf(self, ans: Any, *operands: Any) -> Any:
        """0 where k is impossible, whatever the parameter."""
        possible = np.isfinite(raw(ans))
        if is_all(possible):
            return self._score(*operands)
        return where(possible, self._score(*operands), where(np.isnan(raw(ans)), np.nan, 0.0))

    def _of_pmf(self, ans: Any, *operands: Any) -> Any:
        k, *_, parameter = operands
        at_end = (raw(parameter) == 0) | (raw(parameter) == 1)
        if not is_any(at_end):
            return ans * self._score(*operands)
        factor, counts = self._lower(*operands)
        pmf = self._standard["pmf"]
        difference = factor * (pmf(parameter, k - 1, *counts) - pmf(parameter, k, *counts))
        return where(at_end, difference, ans * self._score(k, *operands[1:-1], where(at_end, 0.5, parameter)))

    def _term(self, operands: Any, function: str = "pmf") -> tuple[Any, Any]:
        k, *_, parameter = operands
        factor, counts = self._lower(*operands)
        return factor, self._standard[function](parameter, np.floor(k), *counts)

    def _of_tail(self, operands: Any, sign: float) -> Any:
        factor, probability = self._term(operands)
        return sign * factor * probability

    def _of_log_tail(self, ans: Any, operands: Any, sign: float, step: float) -> Any:
        """The term over the sum that `ans` is the logarithm of; where that underflows, its limit: the score at the sum's largest term."""
        factor, logarithm = self._term(operands, "logpmf")
        lost = np.isneginf(raw(ans))
        if not is_any(lost):
            return sign * factor * exp(logarithm - ans)
        k, *_, parameter = operands
        largest = (np.floor(k) + step, *operands[1:])
        limit = self._of_logpmf(self._standard["logpmf"](parameter, *largest[:-1]), *largest)
        return where(lost, limit, sign * factor * exp(logarithm - where(lost, 0.0, ans)))

    def _call(self, function: str, args: tuple[Any, ...], kwds: dict[str, Any]) -> Any:
        if not holds_tracer(args, kwds):
            return getattr(self._scipy, function)(*args, **kwds)
        bound = self._signature.bind(*args, **kwds)
        bound.apply_defaults()
        for name in self._counts:
            if is_differentiated(bound.arguments[name]):
                self._refuse(function, name)
        k, *shapes, loc = bound.args
        *counts, parameter = shapes
        return self._standard[function](double(parameter), np.subtract(asarray(k), asarray(loc)), *map(asarray, counts))

    def logpmf(self, *args: Any, **kwds: Any) -> Any:
        """Logarithm of the probability of k: `logpmf(k, *shapes, loc=0)`."""
        return self._call("logpmf", args, kwds)

    def pmf(self, *args: Any, **kwds: Any) -> Any:
        """Probability of k: `pmf(k, *shapes, loc=0)`."""
        return self._call("pmf", args, kwds)

    def cdf(self, *args: Any, **kwds: Any) -> Any:
        """Probability of at most k: `cdf(k, *shapes, loc=0)`."""
        return self._call("cdf", args, kwds)

    def sf(self, *args: Any, **kwds: Any) -> Any:
        """Probability of more than k: `sf(k, *shapes, loc=0)`."""
        return self._call("sf", args, kwds)

    def logcdf(self, *args: Any, **kwds: Any) -> Any:
        """Logarithm of cdf: `logcdf(k, *shapes, loc=0)`."""
        return self._call("logcdf", args, kwds)

    def logsf(self, *args: Any, **kwds: Any) -> Any:
        """Logarithm of sf: `logsf(k, *shapes, loc=0)`."""
        return self._call("logsf", args, kwds)


def _ratio(count: Any, parameter: Any) -> Any:
    """count / parameter, 0 where the count is, whatever the parameter."""
    return where(count == 0, 0.0, divide(count, where(count == 0, 1.0, parameter)))


poisson = Discrete(
    _stats.poisson,
    score=lambda k, mu: _ratio(k, mu) - 1.0,
    lower=lambda k, mu: (1.0, ()),
)

binom = Discrete(
    _stats.binom,
    score=lambda k, n, p: _ratio(k, p) - _ratio(n - k, 1.0 - p),
    lower=lambda k, n, p: (n * 1.0, (np.maximum(n - 1, 0),)),
)
