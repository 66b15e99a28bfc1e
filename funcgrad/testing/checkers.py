"""The checkers: a derivative by a transform, or by a rule of your own, held against differences in random directions.

The directions come from a fixed seed, so that a checker answers alike every time. Forward mode is held against differences entry by entry;
reverse mode by <ct, J t> = <J' ct, t>, with J t again by differences: a wrong partial fails both, a wrong transpose fails the second.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad import tree
from funcgrad.errors import CheckError, InputTypeError, InputValueError
from funcgrad.testing.differences import EPS, central, leaves_of, wide
from funcgrad.transforms.arguments import at, named
from funcgrad.transforms.forward import jvp
from funcgrad.transforms.recording import output_leaves
from funcgrad.transforms.reverse import vjp

TOLERANCES = {"float16": 2e-2, "float32": 1e-3, "complex64": 1e-3}
"""What a derivative of each dtype may differ by, relative and absolute; `TOLERANCE` for the others."""
TOLERANCE = 1e-6

_SEED = 20


def tolerance_of(value: Any) -> float:
    """What a value of that dtype may differ by, if nothing else is said."""
    return TOLERANCES.get(str(getattr(value, "dtype", "float64")), TOLERANCE)


class _Check:
    """What is the same throughout one call of a checker: what it is called, what may differ, and the source of directions."""

    def __init__(self, checker: str, f: Callable[..., Any], atol: float | None, rtol: float | None, eps: float | None) -> None:
        self.name = f"{checker} of {named(f)}"
        self.atol = atol
        self.rtol = rtol
        self.eps = EPS if eps is None else eps
        self.rng = np.random.default_rng(_SEED)

    def args(self, args: Any) -> tuple[Any, ...]:
        if not isinstance(args, tuple | list):
            raise InputTypeError(
                f"{self.name}: args must be a tuple with an entry for each argument of f, got {type(args).__name__}: write (x,) for one"
            )
        return tuple(args)

    def directions(self, values: Sequence[Any]) -> list[Any]:
        """A random direction in the space of each leaf, no entry near zero."""
        found = []
        for value in values:
            numbers = self._draw(np.shape(value))
            if np.iscomplexobj(value):
                numbers = numbers + 1j * self._draw(np.shape(value))
            found.append(float(numbers) if type(value) is float else np.asarray(numbers, value.dtype)[()])
        return found

    def _draw(self, shape: tuple[int, ...]) -> Any:
        return self.rng.uniform(0.5, 1.5, shape) * self.rng.choice([-1.0, 1.0], shape)

    def tolerances(self, values: Sequence[Any]) -> tuple[float, float]:
        """atol and rtol, by default those of the narrowest dtype."""
        own = max(map(tolerance_of, (0.0, *values)))
        return own if self.atol is None else self.atol, own if self.rtol is None else self.rtol


class _Space(NamedTuple):
    """The leaves of arguments or of an output, with the structure and what messages call each of them."""

    leaves: list[Any]
    treedef: tree.TreeDef
    paths: list[str]

    def take(self, what: str, found: Any) -> list[Any]:
        """The leaves of a value that must be in this space.

        Raises:
            CheckError: its structure, a shape or a dtype differs.
        """
        leaves, got = tree.flatten(found)
        if got != self.treedef:
            raise CheckError(f"{what} has the structure {got}, expected {self.treedef}")
        for path, one, own in zip(self.paths, leaves, self.leaves, strict=True):
            (shape, dtype), (own_shape, own_dtype) = ((np.shape(x), np.asarray(x).dtype) for x in (one, own))
            if shape != own_shape or dtype != own_dtype:
                raise CheckError(f"{what} at {path} has shape {shape} and dtype {dtype}, expected shape {own_shape} and dtype {own_dtype}")
        return leaves


def _spaces(check: _Check, f: Callable[..., Any], args: tuple[Any, ...]) -> tuple[_Space, _Space]:
    """The spaces of f's arguments and of its output."""
    leaves, treedef = leaves_of(check.name, args, range(len(args)))
    paths = []
    for n, arg in enumerate(args):
        paths += [f"argument {n}" + at(path) for path, _ in tree.flatten_with_path(arg)[0]]
    output = f(*args)
    outputs, out_tree = output_leaves(check.name, output)
    return _Space(leaves, treedef, paths), _Space(outputs, out_tree, [f"output{path}" for path, _ in tree.flatten_with_path(output)[0]])


def _error(expected: Any, got: Any, atol: float, rtol: float, source: str, scale: Any = None) -> str | None:
    """What to say of numbers that are wrong; None if they are right."""
    expected, got = np.asarray(expected), np.asarray(got)
    allowed = np.broadcast_to(atol + rtol * np.abs(expected if scale is None else scale), expected.shape)
    with np.errstate(all="ignore"):
        difference = np.abs(got - expected)
    wrong = ~(difference <= allowed)
    if not wrong.any():
        return None
    worst = np.unravel_index(int(np.argmax(np.where(np.isnan(difference), np.inf, difference - allowed))), wrong.shape)
    place = f"entry [{', '.join(map(str, worst))}]: " if wrong.shape else ""
    note = (
        "" if np.isfinite(expected[worst]) else " (f has no finite derivative there by differences: move the point, or give a smaller eps)"
    )
    rest = f"; {np.count_nonzero(wrong)} of {wrong.size} entries are wrong" if wrong.size > 1 else ""
    return (
        f"{place}expected {expected[worst].item()!r} {source}{note}, got {got[worst].item()!r}, difference {float(difference[worst]):.3g}, "
        f"allowed {float(allowed[worst]):.3g}{rest}"
    )


def _compare_values(check: _Check, what: str, output: _Space, value: Any) -> None:
    atol, rtol = check.tolerances(output.leaves)
    for path, one, other in zip(output.paths, output.leaves, output.take(f"{what}: the value", value), strict=True):
        error = None if np.array_equal(one, other, equal_nan=True) else _error(one, other, atol, rtol, "as f gives it")
        if error is not None:
            raise CheckError(f"{what}: the value is not that of f: {path}, {error}")


def _only(n: int, directions: Sequence[Any]) -> list[Any]:
    """The directions with all but that of leaf n zero."""
    return [value if m == n else 0.0 * value for m, value in enumerate(directions)]


def _check_jvp(check: _Check, what: str, f: Callable[..., Any], f_jvp: Callable[..., Any], args: tuple[Any, ...]) -> None:
    inputs, output = _spaces(check, f, args)
    atol, rtol = check.tolerances([*inputs.leaves, *output.leaves])

    def errors(directions: list[Any]) -> list[str]:
        value, tangent = f_jvp(args, tree.unflatten(inputs.treedef, directions))
        _compare_values(check, what, output, value)
        got = output.take(f"{what}: the tangent", tangent)
        expected = central(check.name, f, inputs.leaves, inputs.treedef, directions, check.eps)
        found = zip(output.paths, (_error(*pair, atol, rtol, "by differences") for pair in zip(expected, got, strict=True)), strict=True)
        return [f"{path}, {error}" for path, error in found if error is not None]

    tangents = check.directions(inputs.leaves)
    wrong = errors(tangents)
    if wrong:
        blamed = [path for n, path in enumerate(inputs.paths) if errors(_only(n, tangents))]
        raise CheckError(
            f"{what}: the tangent is wrong with respect to {', '.join(blamed) or 'all arguments together'}: {'; '.join(wrong)}"
        )


def _check_vjp(check: _Check, what: str, f: Callable[..., Any], f_vjp: Callable[..., Any], args: tuple[Any, ...]) -> None:
    inputs, output = _spaces(check, f, args)
    atol, rtol = check.tolerances([*inputs.leaves, *output.leaves])
    cotangents = check.directions(output.leaves)
    value, pullback = f_vjp(*args)
    _compare_values(check, what, output, value)
    got = inputs.take(f"{what}: the cotangent", pullback(tree.unflatten(output.treedef, cotangents)))

    def error(directions: list[Any]) -> str | None:
        """By <ct, J t> = <J' ct, t> (their real parts), relative to what the terms add up to without their signs."""
        pushed = central(check.name, f, inputs.leaves, inputs.treedef, directions, check.eps)
        with np.errstate(all="ignore"):
            terms = [wide(ct) * t for ct, t in zip(cotangents, pushed, strict=True)]
            expected, scale = sum(float(np.sum(one).real) for one in terms), sum(float(np.sum(np.abs(one))) for one in terms)
            product = sum(float(np.sum(wide(x) * wide(t)).real) for x, t in zip(got, directions, strict=True))
        return _error(expected, product, atol, rtol, "by differences", scale)

    tangents = check.directions(inputs.leaves)
    wrong = error(tangents)
    if wrong is not None:
        found = [(path, error(_only(n, tangents))) for n, path in enumerate(inputs.paths)]
        blamed = [f"{path}, {one}" for path, one in found if one is not None] or [f"all arguments together, {wrong}"]
        raise CheckError(f"{what}: the cotangent is wrong (its product with a random direction is shown) at {'; '.join(blamed)}")


def _check_orders(
    check: _Check, nesting: tuple[str, ...], f: Callable[..., Any], args: tuple[Any, ...], order: int, modes: Sequence[str]
) -> None:
    """Check f's first derivative by each mode, then the derivative of that, as far as `order`. `nesting` is how f itself was made."""
    for mode in modes:
        inner = (mode, *nesting)
        what = f"{check.name}, order {len(inner)}, mode {' over '.join(inner)}"
        if mode == "fwd":
            _check_jvp(check, what, f, functools.partial(jvp, f), args)
        else:
            _check_vjp(check, what, f, functools.partial(vjp, f), args)
        if order > 1:
            _check_orders(check, inner, _derivative(check, f, args, mode), args, order - 1, modes)


def _derivative(check: _Check, f: Callable[..., Any], args: tuple[Any, ...], mode: str) -> Callable[..., Any]:
    """The function of f's arguments that gives f's derivative in a fixed direction, or for a fixed cotangent."""
    inputs, output = _spaces(check, f, args)
    if mode == "fwd":
        tangents = tree.unflatten(inputs.treedef, check.directions(inputs.leaves))
        return lambda *args: jvp(f, args, _cast(tangents, args))[1]
    cotangents = tree.unflatten(output.treedef, check.directions(output.leaves))

    def pulled(*args: Any) -> Any:
        value, pullback = vjp(f, *args)
        return pullback(_cast(cotangents, value))

    return pulled


def _cast(directions: Any, values: Any) -> Any:
    """Directions in the dtypes of these values: differences are taken in wider ones than the directions were drawn for."""

    def cast(direction: Any, value: Any) -> Any:
        if type(value) is float:
            return float(direction)
        return direction if type(direction) is float else direction.astype(value.dtype)

    return tree.map(cast, directions, values)


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Check f's derivatives up to an order, in every nesting of the modes, each against differences of the one before.

    Args:
        f: function of numbers, arrays and trees of them, with outputs likewise; smooth within `eps` of the point.
        args: tuple of f's arguments: where to check.
        order: the highest order, 1 or more.
        modes: which of "fwd" (jvp) and "rev" (vjp) to use.
        atol: what may differ, absolute; if None 1e-6, but 1e-3 with a float32 or complex64 among arguments and outputs, 2e-2 with a
            float16.
        rtol: what may differ, relative; if None as `atol`.
        eps: the step of differences, 1e-3 if None.

    Raises:
        CheckError: a derivative is wrong, or not of the structure, shape and dtype it should have, or f's value changes under a transform.
            Says at which order, by which nesting of modes, with respect to which argument, what was expected and what was got.
        InputTypeError: an argument or an output that is no floating-point number or array.
        InputValueError: an unknown mode, an order below 1.

    Example:
        >>> check_grads(lambda x, y: np.sum(x * np.exp(y)), (np.array([0.5, 2.0]), 1.0))
        >>> check_grads(lambda params: np.tanh(params["w"] @ params["x"]), ({"w": np.eye(2), "x": np.ones(2)},), order=1, modes=("rev",))
    """
    check = _Check("check_grads", f, atol, rtol, eps)
    modes = tuple(modes)
    if not modes or not set(modes) <= {"fwd", "rev"}:
        raise InputValueError(f'{check.name}: modes must be some of "fwd" and "rev", got {modes!r}')
    if isinstance(order, bool) or not isinstance(order, int) or order < 1:
        raise InputValueError(f"{check.name}: order must be 1 or more, got {order!r}")
    _check_orders(check, (), f, check.args(args), order, modes)


def check_jvp(
    f: Callable[..., Any], f_jvp: Any, args: Any = None, atol: float | None = None, rtol: float | None = None, eps: float | None = None
) -> None:
    """Check a directional derivative against differences: `check_jvp(f, args)` that of `jvp(f)`, `check_jvp(f, f_jvp, args)` yours.

    Args:
        f: function of numbers, arrays and trees of them, with outputs likewise.
        f_jvp: function `(primals, tangents) -> (value, tangent)`; may be left out.
        args: tuple of f's arguments.
        atol: what may differ, absolute, as for `check_grads`.
        rtol: what may differ, relative.
        eps: the step of differences.

    Raises:
        CheckError: the value or the tangent is wrong; says where and by how much.
        InputTypeError: an argument or an output that is no floating-point number or array.

    Example:
        >>> check_jvp(np.sin, (0.5,))
        >>> check_jvp(np.sin, lambda primals, tangents: (np.sin(primals[0]), np.cos(primals[0]) * tangents[0]), (np.ones(3),))
    """
    if args is None and not callable(f_jvp):
        f_jvp, args = functools.partial(jvp, f), f_jvp
    check = _Check("check_jvp", f, atol, rtol, eps)
    _check_jvp(check, check.name, f, f_jvp, check.args(args))


def check_vjp(
    f: Callable[..., Any], f_vjp: Any, args: Any = None, atol: float | None = None, rtol: float | None = None, eps: float | None = None
) -> None:
    """Check a pullback against differences: `check_vjp(f, args)` that of `vjp(f, ...)`, `check_vjp(f, f_vjp, args)` yours.

    Args:
        f: function of numbers, arrays and trees of them, with outputs likewise.
        f_vjp: function `(*args) -> (value, pullback)`, where `pullback(cotangent)` gives a tuple with a cotangent for each argument; may be
            left out.
        args: tuple of f's arguments.
        atol: what may differ, absolute, as for `check_grads`.
        rtol: what may differ, relative.
        eps: the step of differences.

    Raises:
        CheckError: the value or a cotangent is wrong; says where and by how much.
        InputTypeError: an argument or an output that is no floating-point number or array.

    Example:
        >>> check_vjp(np.multiply, (0.5, 2.0))
        >>> check_vjp(np.sin, lambda x: (np.sin(x), lambda ct: (np.cos(x) * ct,)), (np.ones(3),))
    """
    if args is None and not callable(f_vjp):
        f_vjp, args = functools.partial(vjp, f), f_vjp
    check = _Check("check_vjp", f, atol, rtol, eps)
    _check_vjp(check, check.name, f, f_vjp, check.args(args))
