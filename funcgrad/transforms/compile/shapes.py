"""Shapes: reshapes of reshapes, transpositions of transpositions, and those that leave everything where it is.

Owns rules for `funcgrad.transforms.compile.algebra`: functions of the program as it is rewritten, an instruction, its arguments and its
options, that give what stands for the result, another instruction, or None.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.instructions import Instruction, Variable
from funcgrad.ops.indexing import elements_of
from funcgrad.transforms.compile.program import is_like


def _shaped(done: Any, one: Instruction, args: Any, options: Any) -> Any:
    """What keeps the numbers in their order is a reshape, one of a reshape the last one, one to the same shape nothing."""
    x, output = args[0], one.output
    if type(x) is not Variable or x.kind is not np.ndarray or output.kind is not np.ndarray or not _keeps_order(one, args, options):
        return None
    while True:
        maker = done.maker(x, np.reshape)
        if maker is None or type(maker.args[0]) is not Variable or not _keeps_order(maker, maker.args, maker.options):
            break
        x = maker.args[0]
    if is_like(x, output):
        return x
    if one.function is np.reshape and x is args[0]:
        return None
    return Instruction(np.reshape, (x, output.shape), {}, output, one.line)


def _keeps_order(one: Instruction, args: Any, options: Any) -> bool:
    function = one.function
    if function is np.reshape:
        return len(args) == 2 and not options
    if function is np.ravel:
        return len(args) == 1 and not options
    if function is elements_of:
        return not options and _drops_ones(args[1], args[0].shape)
    if function is np.broadcast_to:
        return bool(math.prod(args[0].shape) == math.prod(one.output.shape))
    return bool(function is np.squeeze or function is np.expand_dims)


def _drops_ones(index: Any, shape: tuple[int, ...]) -> bool:
    """Whether an index takes everything, but for axes of one element."""
    parts = index if type(index) is tuple else (index,)
    if not all(each is Ellipsis or each is None or type(each) in (int, slice) for each in parts) or parts.count(Ellipsis) > 1:
        return False
    used = sum(each is not None and each is not Ellipsis for each in parts)
    if Ellipsis in parts:
        place = parts.index(Ellipsis)
        parts = (*parts[:place], *[slice(None)] * (len(shape) - used), *parts[place + 1 :])
    axes = iter(shape)
    for each in parts:
        if each is None:
            continue
        size = next(axes)
        if type(each) is int:
            if size != 1:
                return False
        elif each.indices(size) != (0, size, 1):
            return False
    return True


def _permutation(one: Instruction, args: Any, options: Any) -> tuple[int, ...] | None:
    """The axes of the argument in the order of the result."""
    function, ndim = one.function, len(args[0].shape)
    if options:
        return None
    if function is np.transpose:
        axes = args[1] if len(args) > 1 else None
        if axes is None:
            return tuple(reversed(range(ndim)))
        return tuple(axis % ndim for axis in axes) if isinstance(axes, (tuple, list)) and len(axes) == ndim else None
    if function is np.swapaxes:
        order = list(range(ndim))
        order[args[1]], order[args[2]] = order[args[2]], order[args[1]]
        return tuple(order)
    given, wanted = ([each] if isinstance(each, int) else list(each) for each in args[1:3])
    taken = [axis % ndim for axis in given]
    order = [axis for axis in range(ndim) if axis not in taken]
    for place, axis in sorted((place % ndim, axis) for place, axis in zip(wanted, taken, strict=True)):
        order.insert(place, axis)
    return tuple(order)


def _turned(done: Any, one: Instruction, args: Any, options: Any) -> Any:
    """One transposition in place of several; none where no axis moves."""
    x, output = args[0], one.output
    if type(x) is not Variable or x.kind is not np.ndarray or output.kind is not np.ndarray:
        return None
    order = _permutation(one, args, options)
    if order is None:
        return None
    source = x
    while (maker := done.maker(source, np.transpose, np.swapaxes, np.moveaxis)) is not None:
        before = _permutation(maker, maker.args, maker.options) if type(maker.args[0]) is Variable else None
        if before is None:
            break
        source, order = maker.args[0], tuple(before[axis] for axis in order)
    if order == tuple(range(len(order))) and is_like(source, output):
        return source
    if source is x:
        return None
    return Instruction(np.transpose, (source, order), {}, output, one.line)


SHAPES: dict[Any, Callable[[Any, Instruction, Any, Any], Any]] = {
    **dict.fromkeys((np.reshape, np.ravel, np.squeeze, np.expand_dims, np.broadcast_to, elements_of), _shaped),
    **dict.fromkeys((np.transpose, np.swapaxes, np.moveaxis), _turned),
}
