"""What SciPy has and funcgrad has no rule for: SciPy's own on plain values, an error by name on tracers.

Owns that one mechanism, for all modules of `funcgrad.scipy`. SciPy's functions do not hand a call to us as NumPy's do, so each module gives
its own functions and lets the rest pass through here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import numpy as np

from funcgrad.errors import NoRuleError
from funcgrad.mapped import OPEN
from funcgrad.ops.scipy.examples import is_differentiated, over_examples
from funcgrad.primitive import operation_of
from funcgrad.rules.batching import inner_mapping
from funcgrad.rules.values import holds_tracer
from funcgrad.staged import Staged
from funcgrad.tracer import innermost_of


class WithoutRule:
    """A function or class of SciPy that refuses tracers by name, and so do its methods (`scipy.stats.norm.entropy`).

    Of mapped values it is called for each example.
    """

    def __init__(self, wrapped: Any, name: str) -> None:
        functools.update_wrapper(self, wrapped, updated=())
        self.__name__ = name

    def __call__(self, *args: Any, **options: Any) -> Any:
        """SciPy's own, unless a tracer is among the arguments."""
        if not holds_tracer(args, options):
            return self.__wrapped__(*args, **options)
        staged = innermost_of((args, options)) if OPEN else None
        if type(staged) is Staged:
            return staged.recorded(self.__wrapped__, args, options)
        if inner_mapping(args, options) is None or is_differentiated(args, options):
            raise NoRuleError(
                f"{self.__name__} has no derivative rule yet: compose it from operations that have one, or use "
                "funcgrad.stop_gradient(x) where its result is to count as a constant"
            )
        return over_examples(self)(*args, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return guarded(getattr(self.__wrapped__, name), f"{self.__name__}.{name}")

    def __repr__(self) -> str:
        return f"<{self.__name__}, without a derivative rule>"

    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, self.__wrapped__)

    def __subclasscheck__(self, kind: type) -> bool:
        return issubclass(kind, self.__wrapped__)

    def __mro_entries__(self, bases: Any) -> tuple[Any, ...]:
        return (self.__wrapped__,)


def guarded(value: Any, name: str) -> Any:
    """A callable that refuses tracers; exceptions, constants, submodules, and ufuncs that have a rule, as they are."""
    is_exception = isinstance(value, type) and issubclass(value, BaseException)
    if not callable(value) or is_exception or _has_operation(value):
        return value
    return WithoutRule(value, name)


def _has_operation(value: Any) -> bool:
    """Whether NumPy hands a call over to us (`scipy.special.sinc` is NumPy's), and we have an operation for it."""
    if not isinstance(value, np.ufunc) and not hasattr(value, "_implementation"):
        return False
    try:
        operation_of(value)
    except NoRuleError:
        return False
    return True


def without_rules(module: ModuleType, own: Iterable[str] = ()) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """What a module of `funcgrad.scipy` takes for its `__getattr__` and `__dir__`.

    Args:
        module: SciPy's module of that name.
        own: names that the module defines beyond those of SciPy.

    Returns:
        `__getattr__`, which gives SciPy's functions and classes so that tracers among their arguments raise NoRuleError, and all else
        as it is; `__dir__`, which lists all public names.

    Example:
        >>> import scipy.linalg
        >>> from funcgrad import grad
        >>> __getattr__, __dir__ = without_rules(scipy.linalg)
        >>> print(__getattr__("pascal")(3))
        [[1 1 1]
         [1 2 3]
         [1 3 6]]
        >>> grad(lambda x: __getattr__("circulant")([x, 1.0])[0, 0])(2.0)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        funcgrad.errors.NoRuleError: scipy.linalg.circulant has no derivative rule yet: compose it from ...
    """
    extra = list(own)

    @functools.cache
    def attribute(name: str) -> Any:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(name)  # __path__ would let Python import SciPy's files anew, under our name
        if name == "__all__":
            return names()
        try:
            value = getattr(module, name)
        except AttributeError:
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}", name=name, obj=module) from None
        return guarded(value, f"{module.__name__}.{name}")

    def names() -> list[str]:
        return sorted({*getattr(module, "__all__", ()), *extra} - {"test"})

    return attribute, names


def _is_beside(names: Iterable[str], arguments: dict[str, Any]) -> bool:
    """Whether a mapped value is in other arguments than those."""
    return inner_mapping([value for name, value in arguments.items() if name not in names]) is not None


def in_place_of(function: Callable[..., Any], mapped: str | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for what answers for a function of SciPy on tracers: on plain values SciPy's own answers.

    Args:
        function: SciPy's.
        mapped: the names of those arguments that may be mapped; where others are, it is called for each example. None for all names.

    Returns:
        The decorator.

    Example:
        >>> import numpy as np, scipy.special
        >>> @in_place_of(scipy.special.xlogy)
        ... def xlogy(x, y):
        ...     return x * np.log(y)
        >>> print(xlogy(0.0, 0.0))
        0.0
    """

    def decorate(operation: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(operation)
        def either(*args: Any, **options: Any) -> Any:
            if not holds_tracer(args, options):
                return function(*args, **options)
            staged = innermost_of((args, options)) if OPEN else None
            if type(staged) is Staged:
                return staged.recorded(function, args, options)
            if OPEN and signature is not None and _is_beside(names, signature.bind(*args, **options).arguments):
                return looped(*args, **options)
            return operation(*args, **options)

        looped, names = over_examples(either), (mapped or "").split()
        signature = None if mapped is None else inspect.signature(operation)
        return either

    return decorate
