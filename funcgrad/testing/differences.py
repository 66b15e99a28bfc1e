"""Derivatives without differentiating: central differences and the complex step, along a direction or for each number of a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.errors import InputTypeError, InputValueError
from funcgrad.transforms.arguments import Argnums, at, checked_argnums, checked_function, looks_like, named, positions

EPS = 1e-3
"""The step of differences. With a second step of half the length the error is about 1e-12 where a function varies over lengths of 1."""
COMPLEX_EPS = 1e-20
"""The complex step: no digits are lost to it, however short."""


def wide(value: Any) -> Any:
    """A leaf that differences can be taken at: float64 or complex128 at least, so that they are as good for narrow dtypes."""
    if isinstance(value, np.ndarray | np.generic):
        return value.astype(np.result_type(value.dtype, np.float64), copy=False)
    return value


def leaves_of(name: str, args: Sequence[Any], places: Sequence[int]) -> tuple[list[Any], tree.TreeDef]:
    """The leaves of all arguments, Python ints as floats, Python complex numbers as NumPy's, and the structure of the tuple of arguments.

    Raises:
        InputTypeError: a leaf is no floating-point number or array; says at which argument and tree path.
    """
    found: list[Any] = []
    for place, arg in zip(places, args, strict=True):
        for path, value in tree.flatten_with_path(arg)[0]:
            if type(value) in (float, int):
                found.append(float(value))
            elif type(value) is complex:
                found.append(np.complex128(value))
            elif isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "fc":
                found.append(value)
            else:
                got = f"an array of dtype {value.dtype}" if isinstance(value, np.ndarray) else f"{value!r:.60} ({type(value).__name__})"
                where = f"argument {place}" + at(path)
                raise InputTypeError(f"{name}: {where} is {got}, wanted a floating-point number or array of them")
    return found, tree.structure(tuple(args))


def central(
    name: str, f: Callable[..., Any], leaves: Sequence[Any], treedef: tree.TreeDef, tangents: Sequence[Any], eps: float = EPS
) -> list[Any]:
    """The leaves of f's directional derivative: central differences of two steps, without their common error term.

    Raises:
        InputValueError: the structure of f's output changes with the arguments.
    """
    leaves, tangents = [wide(one) for one in leaves], [wide(one) for one in tangents]
    structures = set()

    def at(step: float) -> list[Any]:
        found, structure = tree.flatten(f(*tree.unflatten(treedef, [x + step * t for x, t in zip(leaves, tangents, strict=True)])))
        structures.add(structure)
        if len(structures) > 1:
            raise InputValueError(f"{name}: the structure of the output changes with the arguments: {' and '.join(map(repr, structures))}")
        return [np.asarray(one) for one in found]

    quotients = []
    for h in (eps / 2, eps):
        ahead, behind = at(h), at(-h)
        with np.errstate(all="ignore"):
            quotients.append([(a - b) / (2 * h) for a, b in zip(ahead, behind, strict=True)])
    return [(4 * fine - coarse) / 3 for fine, coarse in zip(*quotients, strict=True)]


def complex_step(
    name: str, f: Callable[..., Any], leaves: Sequence[Any], treedef: tree.TreeDef, tangents: Sequence[Any], eps: float = COMPLEX_EPS
) -> list[Any]:
    """The leaves of f's directional derivative, to all digits where f is analytic and takes complex numbers.

    Raises:
        InputTypeError: an argument is complex already, or f is not analytic: its output is real.
    """
    if any(map(np.iscomplexobj, leaves)):
        raise InputTypeError(f'{name}: the complex step is for real arguments: use method="differences"')
    moved = [wide(x) + 1j * eps * wide(t) for x, t in zip(leaves, tangents, strict=True)]
    found = [np.asarray(one) for one in tree.leaves(f(*tree.unflatten(treedef, moved)))]
    for one in found:
        if one.dtype.kind != "c":
            raise InputTypeError(
                f"{name}: the complex step needs an analytic function, but for complex arguments this one gives {one.dtype}: it drops the "
                'imaginary part somewhere (abs, real, var, comparisons): use method="differences"'
            )
    return [one.imag / eps for one in found]


_METHODS: dict[str, tuple[Callable[..., list[Any]], float]] = {"differences": (central, EPS), "complex": (complex_step, COMPLEX_EPS)}


def numerical_grad(
    f: Callable[..., Any], argnums: Argnums = 0, *, method: str = "differences", eps: float | None = None
) -> Callable[..., Any]:
    """The function that gives f's gradient without differentiating: to compare with `grad(f)`.

    Args:
        f: function of numbers, arrays and trees of them, of any origin; its output is one real number.
        argnums: which positional arguments, as for `grad`.
        method: "differences": central ones of two step lengths, four calls of f for each number, good to about 1e-11 relative where f is
            smooth (float16 and float32 arguments are widened to float64). "complex": the imaginary part of f(x + 1e-20 i), one call for
            each number, exact to rounding, for analytic f written in functions that take complex numbers.
        eps: the step; if None 1e-3 for differences and 1e-20 for the complex step.

    Returns:
        A function with f's arguments; its result has the form of that of `grad(f, argnums)`: df/dx - i df/dy for a complex x + iy.

    Raises:
        InputTypeError: an argument that is no floating-point number or array; an output that is no real number, or not analytic.
        InputValueError: `argnums` out of range, an unknown method.

    Example:
        >>> numerical_grad(lambda x: x**3, method="complex")(2.0)
        12.0
        >>> print(numerical_grad(lambda x: np.sum(x * x))(np.array([1.0, -2.0])).round(9))
        [ 2. -4.]

    References:
        Squire & Trapp (1998), "Using complex variables to estimate derivatives of real functions".
    """
    checked_function(f, "numerical_grad")
    if method not in _METHODS:
        raise InputValueError(f"numerical_grad: method must be one of {', '.join(map(repr, _METHODS))}, got {method!r}")
    numbers, is_single = checked_argnums(argnums)
    derivative, step = _METHODS[method]
    step = step if eps is None else eps
    name = f"numerical_grad of {named(f)}"

    @looks_like(f, "Numerical gradient")
    def gradient_of(*args: Any, **kwargs: Any) -> Any:
        places = positions(name, numbers, len(args))

        def partial(*chosen: Any) -> Any:
            full = list(args)
            for place, value in zip(places, chosen, strict=True):
                full[place] = value
            output = f(*full, **kwargs)
            if np.shape(output) != () or np.asarray(output).dtype.kind not in "iufc":
                got = f"{type(output).__name__} of shape {np.shape(output)}"
                raise InputTypeError(f"{name} needs a function whose output is one real number, got {got}: reduce it (np.sum, np.mean)")
            return output

        leaves, treedef = leaves_of(name, [args[place] for place in places], places)
        gradients = []
        for n, value in enumerate(leaves):
            entries = []
            for unit in _units(value):
                tangents = [unit if m == n else 0.0 * one for m, one in enumerate(leaves)]
                entries.append(derivative(name, partial, leaves, treedef, tangents, step)[0])
            gradients.append(_shaped(entries, value))
        gradient = tree.unflatten(treedef, gradients)
        return gradient[0] if is_single else gradient

    return gradient_of


def _units(value: Any) -> Iterator[Any]:
    """The unit directions of a leaf, of a complex one those of all real and then those of all imaginary parts."""
    if type(value) is float:
        yield 1.0
        return
    for one in (1.0, 1.0j) if np.iscomplexobj(value) else (1.0,):
        for k in range(value.size):
            unit = np.zeros(value.size, type(one))
            unit[k] = one
            yield unit.reshape(value.shape)


def _shaped(entries: list[Any], value: Any) -> Any:
    """The derivatives for each number of a leaf, in the form of the leaf."""
    if type(value) is float:
        return float(entries[0])
    if np.iscomplexobj(value):
        entries = [x - 1j * y for x, y in zip(entries[: value.size], entries[value.size :], strict=True)]
    array = np.asarray(entries, value.dtype).reshape(value.shape)
    return array[()] if isinstance(value, np.generic) else array
