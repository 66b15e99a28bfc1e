"""`make_tape`: a function's records, values and gradient, to look at; `count_records`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from funcgrad import tree
from funcgrad.show.table import operation_text, table
from funcgrad.tape import Scope
from funcgrad.tracer import Tracer
from funcgrad.transforms.arguments import checked_function, looks_like, named, ones, settled
from funcgrad.transforms.recording import Kept
from funcgrad.transforms.stop import stop_gradient


class Row(NamedTuple):
    """One record, as a person reads it.

    Attributes:
        name: of the argument for a leaf, n and the position for any other record.
        operation: "leaf", an operator, or the name of a primitive.
        parents: the names of the operands that are on the tape.
        value: what came out, a number or an array.
        gradient: derivative of the function's output (of the sum of its outputs) with respect to it.
    """

    name: str
    operation: str
    parents: tuple[str, ...]
    value: Any
    gradient: Any


class Tape:
    """The records of one run of a function, in order. `print(tape)` shows them as a table.

    Attributes:
        rows: a `Row` for each record.
        value: the function's output.
    """

    def __init__(self, rows: list[Row], value: Any) -> None:
        self.rows = rows
        self.value = value

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        return table(self)

    def __repr__(self) -> str:
        return f"<Tape of {len(self.rows)} records>"


def _leaf_names(f: Callable[..., Any], args: tuple[Any, ...]) -> list[str]:
    try:
        parameters = list(inspect.signature(f).parameters.values())
        names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        names = []
    names += [f"x{n}" for n in range(len(names), len(args))]
    return [name + path for name, argument in zip(names, args, strict=False) for path, _ in tree.flatten_with_path(argument)[0]]


def make_tape(f: Callable[..., Any]) -> Callable[..., Tape]:
    """The function that gives the tape of one run of f, with all values and the gradient with respect to each.

    Args:
        f: function of numbers, arrays and trees of them, with outputs likewise.

    Returns:
        A function with f's arguments that returns a `Tape`.

    Raises:
        InputTypeError: an argument or an output that is no real number or array.

    Example:
        >>> print(make_tape(lambda x, y: (x * y + x) ** 2)(2.0, -3.0))
        name  operation  parents  value  gradient
        x     leaf                    2        16
        y     leaf                   -3       -16
        n2    *          x y         -6        -8
        n3    +          n2 x        -4        -8
        n4    **2        n3          16         1
    """
    checked_function(f, "make_tape")

    @looks_like(f, "Tape")
    def tape_of(*args: Any, **kwargs: Any) -> Tape:
        args = stop_gradient(args)
        values: dict[int, Any] = {}

        def make(value: Any, scope: Scope, index: int) -> Tracer:
            values[index] = value
            return Tracer(value, scope, index)

        kept = Kept(f"make_tape of {named(f)}", f, args, kwargs, make=make)
        records, offset = kept.piece.records, kept.piece.offset
        seeds = [(index, np.ones_like(kept.outputs[n]) if np.ndim(kept.outputs[n]) else ones(kept.outputs[n])) for n, index in kept.traced]
        cotangents = kept.piece.cotangents(seeds)
        places = [offset + n for n in range(len(records)) if offset + n in values]  # others are of an outer transform's values alone
        gradients = settled([cotangents[place] for place in places], [values[place] for place in places])
        names = dict(zip(places, _leaf_names(f, args), strict=False))
        names |= {place: f"n{place - offset}" for place in places[len(kept.leaves) :]}
        rows = []
        for place, gradient in zip(places, gradients, strict=True):
            record = records[place - offset]
            parents = tuple(names[parent] for parent in record[1:-1] if parent in names)
            rows.append(Row(names[place], operation_text(record), parents, values[place], gradient))
        return Tape(rows, stop_gradient(kept.value))

    return tape_of


def count_records(f: Callable[..., Any], *args: Any) -> int:
    """How many records f leaves on the tape, its leaves included.

    Args:
        f: function of numbers, arrays and trees of them, with outputs likewise.
        *args: its arguments.

    Returns:
        The number of records.

    Raises:
        InputTypeError: an argument or an output that is no real number or array.

    Example:
        >>> count_records(lambda x: x * x + x, 3.0)
        3
    """
    return len(Kept(f"count_records of {named(f)}", f, stop_gradient(args)).piece.records)
