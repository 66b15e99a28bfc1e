"""The tracer: a value at a position of the tape, that NumPy and Python operators hand to the operations of funcgrad.

Owns how a tracer looks to Python and to NumPy (attributes, protocols, what it refuses). Its operators and array methods are attached by
`funcgrad.ops.operators`; how an operation is recorded belongs to `funcgrad.rules`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from funcgrad.errors import ConcretizationError, InputTypeError, NoRuleError
from funcgrad.primitive import OPERATIONS, operation_of
from funcgrad.tape import Scope, Tangent


def is_augmented(inputs: tuple[Any, ...], options: dict[str, Any]) -> bool:
    """Whether a call is `array += tracer` or its like, which comes as out=array: Python gives the name to the result."""
    out = options.get("out", ())
    return len(options) == len(out) == 1 and len(inputs) == 2 and type(out[0]) is np.ndarray and out[0] is inputs[0]


class Tracer:
    """A number or an array inside a transform: behaves as NumPy's, and records what is done with it.

    Attributes:
        value: the concrete number or array (an array comes read-only: the tape may need it as it is).
        shape, ndim, size, dtype: as of an array; a Python float has shape () and dtype float64.
    """

    __slots__ = ("_index", "_primal", "_scope", "_tangents")

    _tangents: list[Tangent]  # set inside forward scopes only: it keeps the tracer's tangents alive

    if TYPE_CHECKING:  # attached by funcgrad.ops.operators

        def __getattr__(self, name: str) -> Any: ...
        def __getitem__(self, index: Any) -> Any: ...
        def __iter__(self) -> Iterator[Any]: ...
        def __neg__(self) -> Any: ...
        def __pos__(self) -> Any: ...
        def __add__(self, other: Any) -> Any: ...
        def __radd__(self, other: Any) -> Any: ...
        def __sub__(self, other: Any) -> Any: ...
        def __rsub__(self, other: Any) -> Any: ...
        def __mul__(self, other: Any) -> Any: ...
        def __rmul__(self, other: Any) -> Any: ...
        def __truediv__(self, other: Any) -> Any: ...
        def __rtruediv__(self, other: Any) -> Any: ...
        def __pow__(self, other: Any) -> Any: ...
        def __rpow__(self, other: Any) -> Any: ...
        def __matmul__(self, other: Any) -> Any: ...
        def __rmatmul__(self, other: Any) -> Any: ...

    def __init__(self, primal: Any, scope: Scope, index: int) -> None:
        self._primal = primal
        self._scope = scope
        self._index = index

    @property
    def value(self) -> Any:
        """The concrete value; an array as a read-only view."""
        if type(self._primal) is np.ndarray:
            view = self._primal.view()
            view.setflags(False)
            return view
        return self._primal

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, () for a number."""
        return () if type(self._primal) is float else self._primal.shape

    @property
    def ndim(self) -> int:
        """The number of axes, 0 for a number."""
        return 0 if type(self._primal) is float else self._primal.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return 1 if type(self._primal) is float else self._primal.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype; float64 for a Python float."""
        return np.dtype(np.float64) if type(self._primal) is float else self._primal.dtype

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__":
            operation = OPERATIONS.get(ufunc) or operation_of(ufunc)
            if not kwargs or is_augmented(inputs, kwargs):
                return operation(*inputs)
            return self._with_options(ufunc, operation, inputs, kwargs)
        if method == "at":
            raise ConcretizationError(
                f"np.{ufunc.__name__}.at would write a tracer into an array: write a = funcgrad.numpy.at(a)[indices].add(values) (or "
                "subtract, multiply, divide, power, max, min)"
            )
        return operation_of((ufunc, method))(*inputs, **kwargs)

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return (OPERATIONS.get(function) or operation_of(function))(*args, **kwargs)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a tracer of a number: it has no axes")
        return self.shape[0]

    def __bool__(self) -> bool:
        return bool(self._primal)

    def __repr__(self) -> str:
        return f"Tracer({self._primal!r})"

    def __format__(self, spec: str) -> str:
        return format(self._primal, spec) if spec else repr(self)

    __hash__ = None  # type: ignore[assignment]  # as an array: == is elementwise

    def __copy__(self) -> Any:
        return +self

    def __deepcopy__(self, memo: Any) -> Any:
        return +self

    def __reduce__(self) -> NoReturn:
        self._refuse("pickling")

    def __delitem__(self, index: Any) -> NoReturn:
        raise ConcretizationError("an element of a tracer cannot be deleted: use indexing with what is to stay")

    @staticmethod
    def _with_options(ufunc: Any, operation: Any, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """A call of a ufunc with `where` (what it leaves out is 0 here: NumPy leaves chance there), `dtype` or `axis`."""
        name = ufunc.__name__
        if any(array is not None for array in options.pop("out", ())):
            remedy = f"np.where(mask, np.{name}(...), array)" if "where" in options else f"the value that np.{name} returns"
            raise ConcretizationError(f"np.{name}(..., out=array) would write a tracer into an array: use {remedy}")
        where, dtype = options.pop("where", True), options.pop("dtype", None)
        axis = {"axis": options.pop("axis")} if ufunc.signature is not None and "axis" in options else {}
        others = [option for option in options if option not in ("casting", "order", "subok")]
        if others:
            raise NoRuleError(f"np.{name} with {', '.join(others)} has no derivative rule: leave that out, or use astype")
        if dtype is not None:
            ufunc(
                *(np.empty(0, x.dtype) if isinstance(x, Tracer) else np.empty(0, np.result_type(x)) for x in inputs), dtype=dtype, **options
            )
            inputs = tuple(x.astype(dtype) if isinstance(x, Tracer) else np.asarray(x, dtype) for x in inputs)
        answer = operation(*inputs, **axis)
        return answer if where is True else np.where(where, answer, 0.0)

    def _refuse(self, what: str, remedy: str = "") -> NoReturn:
        raise ConcretizationError(
            f"{what} of a tracer (shape {self.shape}, {self.dtype}) would drop its derivative: {remedy}where the plain value is meant, use "
            "funcgrad.stop_gradient(x)"
        )

    def __float__(self) -> NoReturn:
        self._refuse(
            "float()",
            "use NumPy's functions instead of those of math; instead of a[i] = tracer collect the values in a list for np.stack, or use "
            "np.where or a = funcgrad.numpy.at(a)[i].set(tracer); ",
        )

    def __int__(self) -> NoReturn:
        self._refuse("int()")

    def __index__(self) -> NoReturn:  # noqa: PLE0305 - it raises
        self._refuse("int() or use as an index")

    def __complex__(self) -> NoReturn:
        self._refuse("complex()")

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise ConcretizationError(
            f"a tracer (shape {self.shape}, {self.dtype}) cannot be made into a NumPy array or written into one, its derivative would be "
            "lost: for np.array([...]) and np.asarray(x) use funcgrad.numpy.array and funcgrad.numpy.asarray (or np.stack), and for a "
            "function of NumPy or SciPy that cannot hand tracers over the one of that name in funcgrad.numpy or funcgrad.scipy; instead of "
            "a[i] = tracer write a = funcgrad.numpy.at(a)[i].set(tracer) (add for +=), or build the array with np.where, np.stack or "
            "np.concatenate; where the plain value is meant, use funcgrad.stop_gradient(x)"
        )

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise ConcretizationError(
            "a tracer cannot be changed in place: instead of x[i] = v write x = x.at[i].set(v), and x.at[i].add(v) for x[i] += v (or "
            "funcgrad.numpy.at(x)[i].set(v), which plain arrays take too)"
        )


class Many(Tracer):
    """What stands for more than one value: a mapped value for one of each example, a staged one for all that an argument may have."""

    __slots__ = ()

    def __index__(self) -> NoReturn:  # noqa: PLE0305 - it raises
        self._refuse(
            "int(), range() or an index",
            "to run a loop that often use funcgrad.fori_loop(0, n, step, start), to pick from a plain array by it "
            "funcgrad.numpy.take(array, i, axis=0) or funcgrad.numpy.at(array)[i].get(), and instead of a slice x[i:i + 3] "
            "x[i + np.arange(3)]",
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        if self.dtype.kind in "iub":
            self.__index__()
        self._refuse(
            "a NumPy array",
            "for np.array([...]) and np.asarray(x) use funcgrad.numpy.array and funcgrad.numpy.asarray (or np.stack), instead of a[i] = x "
            "a = funcgrad.numpy.at(a)[i].set(x), and for a function of NumPy or SciPy that cannot hand such values over the one of that "
            "name in funcgrad.numpy or funcgrad.scipy",
        )


TRACERS: set[type] = {Tracer}
"""The types of values that operations of funcgrad have to answer for: tracers, mapped and staged values."""


def innermost_of(values: Iterable[Any], found: Any = None) -> Any:
    """The value of the innermost scope among some values and what is in lists, tuples and dicts of them; `found` if there is none."""
    for value in values:
        kind = type(value)
        if kind in TRACERS:
            if found is None or value._scope.depth > found._scope.depth:
                found = value
        elif kind is tuple or kind is list:
            if value:
                found = innermost_of(value, found)
        elif kind is dict:
            if value:
                found = innermost_of(value.values(), found)
        elif isinstance(value, tuple):
            found = innermost_of(value, found)
    return found


def plain_array(array: np.ndarray) -> np.ndarray:
    """An array without the ways of its subclass.

    Raises:
        InputTypeError: it is masked, or a np.matrix, whose product is another one.
    """
    if isinstance(array, np.ma.MaskedArray):
        raise InputTypeError("a masked array meets a tracer, and its mask would be lost: use np.where(mask, ..., array.filled(0.0))")
    if isinstance(array, np.matrix):
        raise InputTypeError("a np.matrix meets a tracer, and means another product by *: use np.asarray(matrix), and @ for the product")
    return np.asarray(array)
