"""Derivatives held against differences: for functions, and for rules, of your own.

Owns the checkers and the differences that they trust. A checker runs a function in random directions from a fixed seed, so that it answers
alike every time. Must not know any rule: what it checks reaches it through the public transforms.

Forward mode is held against differences, entry by entry; reverse mode by <ct, J t> = <J' ct, t>, with J t again by differences. A wrong
partial fails both, a wrong transpose fails the second.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.errors import CheckError, InputTypeError, InputValueError
from funcgrad.transforms.arguments import Argnums, checked_argnums, leaf, looks_like, named, positions
from funcgrad.transforms.forward import jvp
from funcgrad.transforms.recording import output_leaves
from funcgrad.transforms.reverse import vjp

EPS = 1e-3
"""The step of differences. With the second step of half the length their error is about 1e-12 where a function varies over lengths of 1."""
COMPLEX_EPS = 1e-20
"""The complex step, which no digits are lost to, however short."""
TOLERANCES = {"float16": 2e-2, "float32": 1e-3}
"""What a derivative of each dtype may differ by, relative and absolute; 1e-6 for the others."""

_SEED = 20


# ------------------------------------------------------------------------------------------------ differences


def _wide(value: Any) -> Any:
    """A leaf in which differences can be taken: float64 at least, so that they are as good for narrow dtypes."""
    if isinstance(value, np.ndarray | np.generic) and value.dtype.itemsize < 8:
        return value.astype(np.float64)
    return value


def _evaluated(name: str, f: Callable[..., Any], leaves: Sequence[Any], treedef: tree.TreeDef, wanted: tree.TreeDef | None) -> tuple[list[Any], tree.TreeDef]:
    found, structure = tree.flatten(f(*tree.unflatten(treedef, leaves)))
    if wanted is not None and structure != wanted:
        raise InputValueError(f"{name}: the structure of f's output changes with its arguments: {wanted} and {structure}")
    return [np.asarray(one) for one in found], structure


def _difference(name: str, f: Callable[..., Any], leaves: Sequence[Any], treedef: tree.TreeDef, tangents: Sequence[Any], eps: float) -> list[Any]:
    """The leaves of f's directional derivative: central differences of two steps, without their common error term."""
    leaves, tangents = [_wide(one) for one in leaves], [_wide(one) for one in tangents]
    structure: tree.TreeDef | None = None
    quotients = []
    for h in (eps / 2, eps):
        ahead, structure = _evaluated(name, f, [x + h * t for x, t in zip(leaves, tangents, strict=True)], treedef, structure)
        behind, structure = _evaluated(name, f, [x - h * t for x, t in zip(leaves, tangents, strict=True)], treedef, structure)
        with np.errstate(all="ignore"):
            quotients.append([(a - b) / (2 * h) for a, b in zip(ahead, behind, strict=True)])
    return [(4 * fine - coarse) / 3 for fine, coarse in zip(*quotients, strict=True)]


def _complex_step(name: str, f: Callable[..., Any], leaves: Sequence[Any], treedef: tree.TreeDef, tangents: Sequence[Any], eps: float) -> list[Any]:
    """The leaves of f's directional derivative, to all digits where f is analytic and takes complex numbers."""
    moved = [_wide(x) + 1j * eps * _wide(t) for x, t in zip(leaves, tangents, strict=True)]
    found, _ = _evaluated(name, f, moved, treedef, None)
    for one in found:
        if one.dtype.kind != "c":
            raise InputTypeError(
                f"{name}: the complex step needs an analytic f, but for complex arguments it gave {one.dtype}: it drops the imaginary part "
                'somewhere (abs, real, var, comparisons): use method="differences"'
            )
    return [one.imag / eps for one in found]


_METHODS: dict[str, tuple[Callable[..., list[Any]], float]] = {"differences": (_difference, EPS), "complex": (_complex_step, COMPLEX_EPS)}


def numerical_grad(f: Callable[..., Any], argnums: Argnums = 0, *, method: str = "differences", eps: float | None = None) -> Callable[..., Any]:
    """The function that gives f's gradient without differentiating: to compare with `grad(f)`.

    Args:
        f: function of numbers, arrays and trees of them, of any origin; its output is one real number.
        argnums: which positional arguments, as for `grad`.
        method: "differences": central ones of two step lengths, four calls of f for each number, good to about 1e-11 relative where f is
            smooth. "complex": the imaginary part of f(x + 1e-20 i), one call for each number, exact to rounding, for analytic f written in
            functions that take complex numbers.
        eps: the step, 1e-3 or 1e-20 if None. float16 and float32 arguments are widened to float64 first.

    Returns:
        A function with f's arguments; its result has the form of that of `grad(f, argnums)`.

    Raises:
        InputTypeError: an argument that is no real number or array; an output that is no real number, or not analytic.
        InputValueError: `argnums` out of range, an unknown method.

    Example:
        >>> numerical_grad(lambda x: x**3, method="complex")(2.0)
        12.0
        >>> print(numerical_grad(lambda x: np.sum(x * x))(np.array([1.0, -2.0])).round(9))
        [ 2. -4.]

    References:
        Squire & Trapp (1998), "Using complex variables to estimate derivatives of real functions".
    """
    if method not in _METHODS:
        raise InputValueError(f"numerical_grad: method must be one of {', '.join(map(repr, _METHODS))}, got {method!r}")
    derivative, step = _METHODS[method]
    step = step if eps is None else eps
    name = f"numerical_grad of {named(f)}"
    is_single = not isinstance(argnums, tuple | list | range)

    @looks_like(f, "Numerical gradient")
    def gradient_of(*args: Any, **kwargs: Any) -> Any:
        places = positions(name, checked_argnums(argnums), len(args))

        def partial(*chosen: Any) -> Any:
            full = list(args)
            for place, value in zip(places, chosen, strict=True):
                full[place] = value
            output = f(*full, **kwargs)
            if np.shape(output) != () or np.asarray(output).dtype.kind not in "fiuc":
                raise InputTypeError(f"{name} needs a function whose output is one real number, got {type(output).__name__} of shape {np.shape(output)}")
            return output

        chosen = tuple(args[place] for place in places)
        leaves, treedef = _leaves(name, chosen, places)
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
    """The unit directions of a leaf."""
    if type(value) is float:
        yield 1.0
        return
    for k in range(value.size):
        unit = np.zeros(value.size)
        unit[k] = 1.0
        yield unit.reshape(value.shape)


def _shaped(entries: list[Any], value: Any) -> Any:
    if type(value) is float:
        return float(entries[0])
    return np.asarray(entries, value.dtype).reshape(value.shape)[() if isinstance(value, np.generic) else ...]


def _leaves(name: str, args: Sequence[Any], places: Sequence[int]) -> tuple[list[Any], tree.TreeDef]:
    """The leaves of all arguments, checked as a transform checks them."""
    found = []
    for place, arg in zip(places, args, strict=True):
        found += [leaf(value, name, place, arg) for value in tree.leaves(arg)]
    return found, tree.structure(tuple(args))


# ------------------------------------------------------------------------------------------------ checkers


@dataclass(frozen=True)
class _Check:
    """What is the same throughout one call of a checker: its name, f's name, what may differ, and the source of directions."""

    name: str
    atol: float | None
    rtol: float | None
    eps: float
    rng: np.random.Generator

    def direction(self, value: Any) -> Any:
        """A random direction in the space of a leaf, no entry near zero."""
        shape = np.shape(value)
        numbers = self.rng.uniform(0.5, 1.5, shape) * self.rng.choice([-1.0, 1.0], shape)
        return float(numbers) if type(value) is float else np.asarray(numbers, value.dtype)[()]

    def tolerances(self, values: Sequence[Any]) -> tuple[float, float]:
        """atol and rtol, by default those of the narrowest dtype."""
        own = max([TOLERANCES.get(str(value.dtype), 1e-6) for value in values if isinstance(value, np.ndarray | np.generic)], default=1e-6)
        return own if self.atol is None else self.atol, own if self.rtol is None else self.rtol


def _error(expected: Any, got: Any, atol: float, rtol: float, scale: Any = None) -> str | None:
    """What to say of a derivative that is wrong; None if it is right."""
    expected, got = np.asarray(expected), np.asarray(got)
    allowed = atol + rtol * np.abs(expected if scale is None else scale)
    with np.errstate(all="ignore"):
        difference = np.abs(got - expected)
    wrong = ~(difference <= allowed)
    if not wrong.any():
        return None
    at = np.unravel_index(int(np.argmax(np.where(np.isnan(difference), np.inf, difference - allowed))), wrong.shape)
    place = f"entry [{', '.join(map(str, at))}]: " if wrong.shape else ""
    note = "" if np.isfinite(expected[at]) else " (f has no finite differences there: move the point, or give a smaller eps)"
    return (
        f"{place}expected {float(expected[at])!r} by differences{note}, got {float(got[at])!r}, difference {float(difference[at]):.3g}, "
        f"allowed {float(np.broadcast_to(allowed, wrong.shape)[at]):.3g}" + (f"; {wrong.sum()} of {wrong.size} entries are wrong" if wrong.size > 1 else "")
    )


def _same_spaces(what: str, found: Any, paths: Sequence[str], treedef: tree.TreeDef, values: Sequence[Any]) -> list[Any]:
    """The leaves of a derivative, which must be in the spaces of `values`: structure, shapes, dtypes."""
    leaves, got = tree.flatten(found)
    if got != treedef:
        raise CheckError(f"{what} has the structure {got}, expected {treedef}")
    for path, one, value in zip(paths, leaves, values, strict=True):
        kinds = [(np.shape(x), np.asarray(x).dtype) for x in (one, value)]
        if kinds[0] != kinds[1]:
            raise CheckError(f"{what}{' at ' + path if path else ''} has shape {kinds[0][0]} and dtype {kinds[0][1]}, expected {kinds[1][0]} and {kinds[1][1]}")
    return leaves


def _paths(args: Sequence[Any]) -> list[str]:
    """How messages name each leaf of the arguments."""
    found = []
    for n, arg in enumerate(args):
        found += [f"argument {n}" + (f" at {path}" if path else "") for path, _ in tree.flatten_with_path(arg)[0]]
    return found


def _output(check: _Check, f: Callable[..., Any], args: Sequence[Any]) -> tuple[list[str], list[Any], tree.TreeDef]:
    output = f(*args)
    paths = [f"output{path}" for path, _ in tree.flatten_with_path(output)[0]]
    return paths, *output_leaves(check.name, output)


def _compare_values(check: _Check, what: str, paths: Sequence[str], expected: Sequence[Any], got: Any, treedef: tree.TreeDef) -> None:
    atol, rtol = check.tolerances(expected)
    for path, one, other in zip(paths, expected, _same_spaces(f"{what}: the value", got, paths, treedef, expected), strict=True):
        both_odd = np.array_equal(one, other, equal_nan=True)
        error = None if both_odd else _error(one, other, atol, rtol)
        if error is not None:
            raise CheckError(f"{what}: the value is not that of f: {path}, {error.replace('by differences', 'as f gives it')}")


def _only(n: int, values: Sequence[Any]) -> list[Any]:
    """The directions with all but that of leaf n zero."""
    return [value if m == n else 0.0 * value for m, value in enumerate(values)]


def _blamed(paths: Sequence[str], fails: Callable[[int], bool]) -> str:
    """Which arguments fail on their own."""
    found = [path for n, path in enumerate(paths) if fails(n)]
    return ", ".join(found) if found else "all arguments together"


def _check_jvp(check: _Check, what: str, f: Callable[..., Any], f_jvp: Callable[..., Any], args: tuple[Any, ...]) -> None:
    leaves, treedef = _leaves(check.name, args, range(len(args)))
    out_paths, outputs, out_tree = _output(check, f, args)
    tangents = [check.direction(value) for value in leaves]
    atol, rtol = check.tolerances([*leaves, *outputs])

    def errors(directions: list[Any]) -> list[str]:
        value, pushed = f_jvp(args, tree.unflatten(treedef, directions))
        _compare_values(check, what, out_paths, outputs, value, out_tree)
        got = _same_spaces(f"{what}: the tangent", pushed, out_paths, out_tree, outputs)
        expected = _difference(check.name, f, leaves, treedef, directions, check.eps)
        found = [(path, _error(one, other, atol, rtol)) for path, one, other in zip(out_paths, expected, got, strict=True)]
        return [f"{path}, {error}" for path, error in found if error is not None]

    wrong = errors(tangents)
    if wrong:
        blamed = _blamed(_paths(args), lambda n: bool(errors(_only(n, tangents))))
        raise CheckError(f"{what}: the tangent is wrong with respect to {blamed}: " + "; ".join(wrong))


def _check_vjp(check: _Check, what: str, f: Callable[..., Any], f_vjp: Callable[..., Any], args: tuple[Any, ...]) -> None:
    leaves, treedef = _leaves(check.name, args, range(len(args)))
    out_paths, outputs, out_tree = _output(check, f, args)
    tangents = [check.direction(value) for value in leaves]
    cotangents = [check.direction(value) for value in outputs]
    value, pullback = f_vjp(*args)
    _compare_values(check, what, out_paths, outputs, value, out_tree)
    pulled = pullback(tree.unflatten(out_tree, cotangents))
    got = _same_spaces(f"{what}: the cotangent", pulled, _paths(args), treedef, leaves)
    atol, rtol = check.tolerances([*leaves, *outputs])

    def error(directions: list[Any]) -> str | None:
        """By <ct, J t> = <J' ct, t>, relative to what its terms add up to without their signs."""
        pushed = _difference(check.name, f, leaves, treedef, directions, check.eps)
        terms = [(ct * t).ravel() for ct, t in zip(cotangents, pushed, strict=True)]
        expected, scale = (sum(float(part(one).sum()) for one in terms) for part in (np.asarray, np.abs))
        return _error(expected, sum(float(np.sum(_wide(x) * _wide(t))) for x, t in zip(got, directions, strict=True)), atol, rtol, scale)

    wrong = error(tangents)
    if wrong is not None:
        paths = _paths(args)
        found = [(path, error(_only(n, tangents))) for n, path in enumerate(paths)]
        detail = [f"{path}, {one}" for path, one in found if one is not None] or [f"all arguments together, {wrong}"]
        raise CheckError(f"{what}: the cotangent is wrong, in its product with a random direction, at " + "; ".join(detail))


def _check_orders(check: _Check, chain: tuple[str, ...], f: Callable[..., Any], args: tuple[Any, ...], order: int, modes: Sequence[str]) -> None:
    for mode in modes:
        nesting = " over ".join((mode, *chain))
        what = f"{check.name}, order {len(chain) + 1}, mode {nesting}"
        if mode == "fwd":
            _check_jvp(check, what, f, functools.partial(jvp, f), args)
        else:
            _check_vjp(check, what, f, functools.partial(vjp, f), args)
        if order > 1:
            _check_orders(check, (mode, *chain), _derivative(check, f, args, mode), args, order - 1, modes)


def _derivative(check: _Check, f: Callable[..., Any], args: tuple[Any, ...], mode: str) -> Callable[..., Any]:
    """The function of f's arguments that gives f's derivative in a fixed direction, or for a fixed cotangent."""
    if mode == "fwd":
        leaves, treedef = _leaves(check.name, args, range(len(args)))
        tangents = tree.unflatten(treedef, [check.direction(value) for value in leaves])
        return lambda *args: jvp(f, args, _cast(tangents, args))[1]
    _, outputs, out_tree = _output(check, f, args)
    cotangents = tree.unflatten(out_tree, [check.direction(value) for value in outputs])

    def pulled(*args: Any) -> Any:
        value, pullback = vjp(f, *args)
        return pullback(_cast(cotangents, value))

    return pulled


def _cast(directions: Any, values: Any) -> Any:
    """Directions in the dtypes of these values: differences are taken in wider ones than the directions were drawn for."""
    return tree.map(lambda one, value: one if type(one) is float else one.astype(value.dtype), directions, values)


def _checker(name: str, atol: float | None, rtol: float | None, eps: float | None) -> _Check:
    return _Check(name, atol, rtol, EPS if eps is None else eps, np.random.default_rng(_SEED))


def _checked_args(name: str, args: Any) -> tuple[Any, ...]:
    if not isinstance(args, tuple | list):
        raise InputTypeError(f"{name}: args must be a tuple with an entry for each argument of f, got {type(args).__name__}: write (x,) for one")
    return tuple(args)


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Check f's derivatives up to an order, in every nesting of the modes, against differences of the derivative before.

    Args:
        f: function of numbers, arrays and trees of them, with outputs likewise; smooth within `eps` of the point.
        args: tuple of f's arguments: where to check.
        order: the highest order, 1 or more.
        modes: which of "fwd" (jvp) and "rev" (vjp) to use.
        atol, rtol: what may differ, absolute and relative; each 1e-6 if None, 1e-3 with a float32 among arguments and outputs, 2e-2 with a
            float16.
        eps: the step of differences, 1e-3 if None.

    Raises:
        CheckError: a derivative is wrong, or not of the structure, shape and dtype it should have, or f's value changes under a transform.
            Says at which order, by which nesting of modes, with respect to which argument, what was expected and what was got.
        InputTypeError: an argument or an output that is no real number or array.
        InputValueError: an unknown mode, an order below 1.

    Example:
        >>> check_grads(lambda x, y: np.sum(x * np.exp(y)), (np.array([0.5, 2.0]), 1.0))
        >>> check_grads(np.floor_divide, (2.5, 1.0), order=1)  # a constant almost everywhere, and so is its derivative
    """
    name = f"check_grads of {named(f)}"
    modes = tuple(modes)
    if not modes or not set(modes) <= {"fwd", "rev"}:
        raise InputValueError(f'{name}: modes must be some of "fwd" and "rev", got {modes!r}')
    if isinstance(order, bool) or not isinstance(order, int) or order < 1:
        raise InputValueError(f"{name}: order must be 1 or more, got {order!r}")
    _check_orders(_checker(name, atol, rtol, eps), (), f, _checked_args(name, args), order, modes)


def check_jvp(
    f: Callable[..., Any], f_jvp: Any, args: Any = None, atol: float | None = None, rtol: float | None = None, eps: float | None = None
) -> None:
    """Check a directional derivative against differences: `check_jvp(f, args)` that of `funcgrad.jvp`, `check_jvp(f, f_jvp, args)` yours.

    Args:
        f: function of numbers, arrays and trees of them, with outputs likewise.
        f_jvp: function `(primals, tangents) -> (value, tangent)`; may be left out.
        args: tuple of f's arguments.
        atol, rtol, eps: as for `check_grads`.

    Raises:
        CheckError: the value or the tangent is wrong; says where and by how much.
        InputTypeError: an argument or an output that is no real number or array.

    Example:
        >>> check_jvp(np.sin, (0.5,))
        >>> check_jvp(np.sin, lambda primals, tangents: (np.sin(primals[0]), np.cos(primals[0]) * tangents[0]), (0.5,))
    """
    if args is None and not callable(f_jvp):
        f_jvp, args = functools.partial(jvp, f), f_jvp
    name = f"check_jvp of {named(f)}"
    _check_jvp(_checker(name, atol, rtol, eps), name, f, f_jvp, _checked_args(name, args))


def check_vjp(
    f: Callable[..., Any], f_vjp: Any, args: Any = None, atol: float | None = None, rtol: float | None = None, eps: float | None = None
) -> None:
    """Check a pullback against differences: `check_vjp(f, args)` that of `funcgrad.vjp`, `check_vjp(f, f_vjp, args)` yours.

    Args:
        f: function of numbers, arrays and trees of them, with outputs likewise.
        f_vjp: function `(*args) -> (value, pullback)`, where `pullback(cotangent)` gives a tuple with a cotangent for each argument; may be
            left out.
        args: tuple of f's arguments.
        atol, rtol, eps: as for `check_grads`.

    Raises:
        CheckError: the value or a cotangent is wrong; says where and by how much.
        InputTypeError: an argument or an output that is no real number or array.

    Example:
        >>> check_vjp(np.multiply, (0.5, 2.0))
        >>> check_vjp(np.sin, lambda x: (np.sin(x), lambda ct: (np.cos(x) * ct,)), (0.5,))
    """
    if args is None and not callable(f_vjp):
        f_vjp, args = functools.partial(vjp, f), f_vjp
    name = f"check_vjp of {named(f)}"
    _check_vjp(_checker(name, atol, rtol, eps), name, f, f_vjp, _checked_args(name, args))
