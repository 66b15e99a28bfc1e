"""What a case is, and the points to try functions at.

Points keep their distance from kinks, ties and the ends of domains, so that differences are a fair witness.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import funcgrad.numpy  # noqa: F401 - says which families there are
from funcgrad import tree
from funcgrad.primitive import LATE
from tests.witnesses import COARSE, DIFFERENCE

for _module, _family in tuple(LATE):
    if _module.partition(".")[0] == "numpy" or importlib.util.find_spec("scipy"):
        importlib.import_module(_family)


class Points:
    """Random arguments, the same for the same seed: each family of cases has its own, so that a case added to one moves no other's."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def _sizes(self, first: float, shape: tuple[int, ...]) -> np.ndarray:
        size = int(np.prod(shape, dtype=int))
        steps = np.arange(first, first + 2.2, 0.08)
        return (self._rng.choice(steps, size, replace=size > steps.size) + self._rng.uniform(-0.01, 0.01, size)).reshape(shape)

    def positive(self, *shape: int) -> np.ndarray:
        """Between 0.2 and 2.4; up to 28 of them, no two within 0.06 of each other."""
        return self._sizes(0.2, shape)

    def real(self, *shape: int) -> np.ndarray:
        """As `positive`, with signs."""
        return self.positive(*shape) * self._rng.choice([-1.0, 1.0], shape)

    def other(self, *shape: int) -> np.ndarray:
        """As `real`, no size within 0.02 of one of `real`: no ties."""
        return self._sizes(0.24, shape) * self._rng.choice([-1.0, 1.0], shape)

    def unit(self, *shape: int) -> np.ndarray:
        """Between -1 and 1, at least 0.06 from -1, 0 and 1."""
        return self.real(*shape) / 2.6

    def above_one(self, *shape: int) -> np.ndarray:
        return 1.0 + self.positive(*shape)

    def divisor(self, *shape: int) -> np.ndarray:
        """Above all of `real`, so that no quotient with one is near a whole number."""
        return self.positive(*shape) + 2.6

    def complex(self, *shape: int) -> np.ndarray:
        """Real and imaginary parts as of `real` and `other`: off the axes, where the branch cuts lie."""
        return self.real(*shape) + 1j * self.other(*shape)


@dataclass(frozen=True, eq=False)
class Case:
    """One way to call one function.

    Attributes:
        function: the function that it is a case of.
        args: the float or complex arrays or Python floats to differentiate with respect to.
        options: static keyword arguments.
        call: `(function, *args) -> result` where it is not `function(*args, **options)`.
        is_analytic: whether the complex step may be tried.
        is_elementwise: whether it was made by `_elementwise`.
        is_exact: whether its value is NumPy's to the last bit.
        is_wide: whether NumPy computes it in extended precision: not where LAPACK does, or SciPy.
        note: what tells it from other cases of the same function and shapes.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)
    call: Callable[..., Any] | None = None
    is_analytic: bool = True
    is_elementwise: bool = False
    is_wide: bool = True
    is_exact: bool = True
    note: str = ""

    def __call__(self, *args: Any) -> Any:
        if self.call is not None:
            return self.call(self.function, *args)
        return self.function(*args, **self.options)

    @property
    def tolerance(self) -> float:
        """How near differences come."""
        return DIFFERENCE if self.is_wide else COARSE

    @property
    def is_complex(self) -> bool:
        """Whether an argument is."""
        return any(np.iscomplexobj(arg) for arg in self.args)

    @property
    def is_real(self) -> bool:
        """Whether no output is complex."""
        return not any(map(np.iscomplexobj, tree.leaves(self(*self.fresh()))))

    def in_argument(self, n: int, args: tuple[Any, ...]) -> Callable[[Any], Any]:
        """The function of one argument alone."""
        return lambda x: self(*args[:n], x, *args[n + 1 :])

    def fresh(self, dtype: Any = None) -> tuple[Any, ...]:
        """Copies of the arguments, of another precision if a real dtype is given; Python floats stay."""

        def copied(arg: Any) -> Any:
            if dtype is None or not np.iscomplexobj(arg):
                return np.array(arg, dtype or arg.dtype)
            return np.array(arg, np.result_type(dtype, np.complex64))

        return tuple(arg if type(arg) is float else copied(arg) for arg in self.args)

    @property
    def key(self) -> Any:
        """What the function is registered as: itself, or a ufunc with the name of its method."""
        ufunc = getattr(self.function, "__self__", None)
        return (ufunc, self.function.__name__) if isinstance(ufunc, np.ufunc) else self.function

    @property
    def name(self) -> str:
        key = self.key
        return f"{key[0].__name__}.{key[1]}" if type(key) is tuple else str(key.__name__)

    def __str__(self) -> str:
        shapes = " ".join("float" if type(arg) is float else "x".join(map(str, arg.shape)) or "0d" for arg in self.args)
        return "-".join(filter(None, [self.name, shapes, self.note or " ".join(f"{k}={v}" for k, v in self.options.items())]))


def case(
    function: Any,
    *args: Any,
    call: Any = None,
    note: str = "",
    analytic: bool = True,
    wide: bool = True,
    exact: bool = True,
    **options: Any,
) -> Case:
    return Case(function, args, options, call, analytic, is_wide=wide, is_exact=exact, note=note)
