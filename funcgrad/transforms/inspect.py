"""`make_tape`: a function's records, values and gradient, to look at; `count_records`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from funcgrad import tree
from funcgrad.mapped import inmost
from funcgrad.show.table import Row, Tape, operation_text
from funcgrad.transforms.arguments import checked_function, looks_like, named, ones, settled
from funcgrad.transforms.recording import Kept
from funcgrad.transforms.stop import stop_gradient


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
        InputTypeError: an argument or an output that is no floating-point number or array.
        NoRuleError: an operation of f that has no rule.
        ConcretizationError: f needs a plain number or array where it has a tracer, as float(x) does.
        StaleTracerError: f uses a tracer of a transform that has ended, or of another thread.

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
        kept = Kept(f"make_tape of {named(f)}", f, args, kwargs, is_watched=True)
        values = kept.values
        records, offset = kept.piece.records, kept.piece.offset
        seeds = [(index, ones(kept.outputs[n])) for n, index in kept.traced]
        cotangents = kept.piece.cotangents(seeds)
        places = [offset + n for n in range(len(records)) if offset + n in values]  # others are of an outer transform's values alone
        gradients = settled([cotangents[place] for place in places], [values[place] for place in places])
        names = dict(zip(places, _leaf_names(f, args), strict=False))
        names |= {place: f"n{place - offset}" for place in places[len(kept.leaves) :]}
        rows = []
        for place, gradient in zip(places, gradients, strict=True):
            record = records[place - offset]
            parents = tuple(names[parent] for parent in record[1:-1] if parent in names)
            rows.append(Row(names[place], operation_text(record), parents, inmost(values[place]), inmost(gradient)))
        return Tape(rows, tree.map(inmost, kept.value))

    return tape_of


def count_records(f: Callable[..., Any], *args: Any) -> int:
    """How many records f leaves on the tape, its leaves included.

    Args:
        f: function of numbers, arrays and trees of them, with outputs likewise.
        *args: its arguments.

    Returns:
        The number of records.

    Raises:
        InputTypeError: an argument or an output that is no floating-point number or array.
        NoRuleError: an operation of f that has no rule.
        ConcretizationError: f needs a plain number or array where it has a tracer, as float(x) does.
        StaleTracerError: f uses a tracer of a transform that has ended, or of another thread.

    Example:
        >>> count_records(lambda x: x * x + x, 3.0)
        3
    """
    return len(Kept(f"count_records of {named(f)}", f, stop_gradient(args)).piece.records)
