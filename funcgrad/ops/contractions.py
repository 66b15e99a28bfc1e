"""Contractions: matmul, dot, einsum and what is made of them. All are linear in each operand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.errors import NoRuleError
from funcgrad.mapped import Mapped, is_mapped
from funcgrad.ops.elementwise import multiply
from funcgrad.ops.indexing import scatter
from funcgrad.ops.structural import normalized, reshape, transpose, unlisted
from funcgrad.primitive import register_all
from funcgrad.rules import bilinear, multilinear
from funcgrad.rules.values import raw, refuse_out, shape_of, unbroadcast
from funcgrad.tape import Scope

# ------------------------------------------------------------------------------------------------ matmul


def _flipped(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def _matmul_x(ct: Any, x: Any, y: Any) -> Any:
    if y.ndim == 1:
        return unbroadcast(np.expand_dims(ct, -1) * y, x.shape)
    if x.ndim == 1:
        return unbroadcast(np.matmul(y, np.expand_dims(ct, -1))[..., 0], x.shape)
    return unbroadcast(np.matmul(ct, _flipped(y)), x.shape)


def _matmul_y(ct: Any, x: Any, y: Any) -> Any:
    if x.ndim == 1:
        ct = np.expand_dims(ct, -1) if y.ndim == 1 else np.expand_dims(ct, -2)
        return unbroadcast(np.expand_dims(x, -1) * ct if y.ndim > 1 else x * ct, y.shape)
    if y.ndim == 1:
        return unbroadcast(np.matmul(_flipped(x), np.expand_dims(ct, -1))[..., 0], y.shape)
    return unbroadcast(np.matmul(_flipped(x), ct), y.shape)


def _matmul_mapped(scope: Scope, x: Any, y: Any) -> Any:
    if not is_mapped(y, scope):
        x = x._primal
        if y.ndim <= 2:  # all examples are the rows of one matrix
            flat = _as_rows(x) if x.ndim > 2 else x
            return Mapped(np.reshape(matmul(flat, y), (*x.shape[:-1], *y.shape[1:])), scope)
        return Mapped(matmul(_in_front_of(x, y.ndim - (x.ndim == 2)), y), scope) if x.ndim > 2 else NotImplemented
    if not is_mapped(x, scope):
        y = y._primal
        if y.ndim == 2:
            flat = matmul(y, _as_rows(x).T)
            return Mapped(np.reshape(flat, (y.shape[0], *x.shape[:-1])), scope)
        if x.ndim == 2 and y.ndim == 3 and y.shape[2] == 1:  # a column for each example: one product for all
            return Mapped(np.expand_dims(matmul(y[..., 0], x.T), -1), scope)
        return Mapped(matmul(x, _in_front_of(y, x.ndim)), scope) if x.ndim > 1 else _of_rows(scope, x, y)
    x, y = x._primal, y._primal
    is_row, is_column = x.ndim == 2, y.ndim == 2
    x = np.expand_dims(x, 1) if is_row else x
    y = np.expand_dims(y, -1) if is_column else y
    answer = matmul(_in_front_of(x, y.ndim - 1), _in_front_of(y, x.ndim - 1))
    answer = answer[..., 0] if is_column else answer
    return Mapped(answer[:, 0] if is_row and is_column else answer[..., 0, :] if is_row else answer, scope)


def _as_rows(x: Any) -> Any:
    return np.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))


def _of_rows(scope: Scope, x: Any, y: Any) -> Any:
    """A vector by stacks of matrices that are mapped."""
    return Mapped(matmul(x, y), scope)


def _in_front_of(x: Any, ndim: int) -> Any:
    """An array with the axis of the examples in front of as many others, new ones behind it."""
    shape = x.shape
    return x if len(shape) > ndim else np.reshape(x, (shape[0], *(1,) * (ndim + 1 - len(shape)), *shape[1:]))


_matmul_stacked = multilinear(np.matmul, _matmul_x, _matmul_y, batch=_matmul_mapped)


matmul = bilinear(  # of matrices `dot` is a shorter way to the same product
    np.matmul,
    "t.dot(y.T) if type(t) is type(y) is ndarray else t @ y.T",
    "x.T.dot(t) if type(t) is type(x) is ndarray else x.T @ t",
    name="matmul_2d",
    call="x.dot(y)",
    otherwise=_matmul_stacked,
)


# ------------------------------------------------------------------------------------------------ dot


def _dot_x(ct: Any, x: Any, y: Any) -> Any:
    if y.ndim == 1:
        return _outer(ct, y)
    return np.tensordot(ct, np.moveaxis(y, -2, -1), y.ndim - 1) if y.ndim > 2 else np.dot(ct, y.T)


def _dot_y(ct: Any, x: Any, y: Any) -> Any:
    before = tuple(range(x.ndim - 1))
    back = np.tensordot(x, ct, (before, before))
    return back if y.ndim < 3 else np.moveaxis(back, 0, -2)


def _outer(x: Any, y: Any) -> Any:
    return multiply(reshape(x, shape_of(x) + (1,) * len(shape_of(y))), y)


_dot_arrays = multilinear(
    np.dot, _dot_x, _dot_y, batch=lambda scope, x, y: _matmul_mapped(scope, x, y) if x.ndim <= 2 and y.ndim <= 2 else NotImplemented
)


def dot(a: Any, b: Any, out: None = None) -> Any:
    """np.dot."""
    refuse_out("dot", out)
    a, b = unlisted(a), unlisted(b)
    if shape_of(a) == () or shape_of(b) == ():
        for number, other in ((a, b), (b, a)):
            if type(raw(number)) in (float, int, complex) and hasattr(raw(other), "dtype"):
                # To NumPy's dot a Python number is of double precision, no weaker.
                return multiply(number, other.astype(np.promote_types(np.asarray(raw(number)).dtype, other.dtype)))
        return multiply(a, b)
    return _dot_arrays(a, b)


def outer(a: Any, b: Any, out: None = None) -> Any:
    """np.outer."""
    refuse_out("outer", out)
    return reshape(a, (-1, 1)) * reshape(b, (1, -1))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """np.tensordot: transposed and reshaped to a product of matrices."""
    a, b = unlisted(a), unlisted(b)
    shape_a, shape_b = shape_of(a), shape_of(b)
    if isinstance(axes, (int, np.integer)):
        axes = (tuple(range(len(shape_a) - axes, len(shape_a))), tuple(range(axes)))
    over_a, over_b = (
        tuple(normalized(int(n), len(shape)) for n in (one if isinstance(one, tuple | list | np.ndarray) else (one,)))
        for one, shape in zip(axes, (shape_a, shape_b), strict=True)
    )
    if [shape_a[n] for n in over_a] != [shape_b[n] for n in over_b]:
        raise ValueError(f"tensordot: shapes {shape_a} and {shape_b} do not match over the axes {over_a} and {over_b}")
    rows, columns = (tuple(n for n in range(len(shape)) if n not in over) for shape, over in ((shape_a, over_a), (shape_b, over_b)))
    inner = math.prod(shape_a[n] for n in over_a)
    left = reshape(transpose(a, rows + over_a), (math.prod(shape_a[n] for n in rows), inner))
    right = reshape(transpose(b, over_b + columns), (inner, math.prod(shape_b[n] for n in columns)))
    return reshape(dot(left, right), tuple(shape_a[n] for n in rows) + tuple(shape_b[n] for n in columns))


# ------------------------------------------------------------------------------------------------ einsum


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _letters(operands: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """The form einsum(x, [0, 1], y, [1, 2], [0, 2]) as a string of subscripts and the operands."""
    arrays, lists = list(operands[0:-1:2]), list(operands[1::2])
    terms = ["".join("..." if label is Ellipsis else _LETTERS[label] for label in labels) for labels in lists]
    joined = ",".join(terms)
    if len(operands) % 2:
        joined += "->" + "".join("..." if label is Ellipsis else _LETTERS[label] for label in operands[-1])
    return joined, arrays


def _explicit(subscripts: str, shapes: list[tuple[int, ...]]) -> tuple[list[str], str]:
    """The terms of the operands and of the result, a letter for each axis: no ellipsis and no implied result."""
    left, arrow, out = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    spare = [letter for letter in _LETTERS if letter not in subscripts]
    hidden = [len(shape) - len(term) + 3 if "..." in term else 0 for term, shape in zip(terms, shapes, strict=True)]
    widest = "".join(spare[: max(hidden)])
    if not arrow:
        seen = "".join(terms).replace(".", "")
        out = "..." * ("..." in left) + "".join(sorted(letter for letter in set(seen) if seen.count(letter) == 1))
    terms = [term.replace("...", widest[len(widest) - n :]) for term, n in zip(terms, hidden, strict=True)]
    return terms, out.replace("...", widest)


def _einsum_transpose(n: int, ct: Any, *operands: Any, subscripts: str, optimize: Any) -> Any:
    """Contract the cotangent with the other operands; then undo what operand n may have: axes summed alone, stretched, or repeated."""
    terms, out = _explicit(subscripts, [shape_of(operand) for operand in operands])
    sizes = dict(zip(terms[n], shape_of(operands[n]), strict=True))
    others = [m for m in range(len(operands)) if m != n]
    elsewhere = set(out).union(*(terms[m] for m in others))
    reached = [letter for letter, size in sizes.items() if letter in elsewhere and size != 1]
    equation = ",".join([out, *(terms[m] for m in others)]) + "->" + "".join(reached)
    part = np.einsum(equation, ct, *(operands[m] for m in others), optimize=optimize)
    found = iter(shape_of(part))
    part = np.reshape(part, tuple(next(found) if letter in reached else 1 for letter in sizes))
    part = np.broadcast_to(part, tuple(sizes.values()))
    if len(sizes) == len(terms[n]):
        return part
    along = {letter: np.arange(size).reshape(tuple(-1 if other == letter else 1 for other in sizes)) for letter, size in sizes.items()}
    return scatter(part, shape_of(operands[n]), tuple(along[letter] for letter in terms[n]))


def _einsum_mapped(scope: Scope, *operands: Any, subscripts: str, optimize: Any) -> Any:
    terms, out = _explicit(subscripts, [shape_of(operand) for operand in operands])
    examples = next(letter for letter in _LETTERS if letter not in subscripts and all(letter not in term for term in terms))
    mapped = [is_mapped(operand, scope) for operand in operands]
    equation = ",".join(examples + term if one else term for one, term in zip(mapped, terms, strict=True)) + "->" + examples + out
    arrays = [operand._primal if one else operand for one, operand in zip(mapped, operands, strict=True)]
    return Mapped(np.einsum(equation, *arrays, optimize=optimize), scope)


_einsum = multilinear(
    lambda *operands, subscripts, optimize: np.einsum(subscripts, *operands, optimize=optimize),
    each=_einsum_transpose,
    name="einsum",
    batch=_einsum_mapped,
)


def einsum(*operands: Any, out: None = None, optimize: Any = False, **others: Any) -> Any:
    """np.einsum, with subscripts as a string or as lists.

    Raises:
        NoRuleError: a dtype, an order or a casting is asked for.
    """
    refuse_out("einsum", out)
    if others:
        raise NoRuleError(f"np.einsum with {', '.join(others)} has no derivative rule: leave that out, or use astype")
    if isinstance(operands[0], str):
        subscripts, arrays = operands[0], list(operands[1:])
    else:
        subscripts, arrays = _letters(operands)
    return _einsum(*arrays, subscripts=subscripts, optimize=optimize)


_OPERATIONS: dict[Any, Any] = {
    np.matmul: matmul,
    np.dot: dot,
    np.outer: outer,
    np.tensordot: tensordot,
    np.einsum: einsum,
}
register_all(_OPERATIONS)
