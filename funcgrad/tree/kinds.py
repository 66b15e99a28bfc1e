"""The kinds of node: how each container class is taken apart, built, named in paths and shown.

Owns the registry `KINDS`, which knows every class met so far, and the two functions by which users add to it.
Must not know `TreeDef`: walking trees is the business of the modules above.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, overload

import numpy as np

from funcgrad.errors import InputTypeError, InputValueError, TreeError

_C = TypeVar("_C", bound=type)


class Kind:
    """How one container class is taken apart, built, named and shown.

    Attributes:
        split: node -> (children, aux); aux is static data, or None.
        build: (aux, children) -> node.
        keys: (aux, number of children) -> the key of each child as it is printed in a path.
        show: (aux, the children as text) -> the node as text.
        is_sequence: iterating the node gives its children, and there is no aux.
        flats: the structures of nodes of nothing but leaves by size, shared so that comparing them is `is`.
    """

    __slots__ = ("build", "cls", "flats", "is_sequence", "keys", "show", "split")

    def __init__(
        self,
        cls: type,
        split: Callable[[Any], tuple[Iterable[Any], Any]],
        build: Callable[[Any, Any], Any],
        keys: Callable[[Any, int], list[str]],
        show: Callable[[Any, list[str]], str],
        is_sequence: bool = False,
    ) -> None:
        self.cls = cls
        self.split = split
        self.build = build
        self.keys = keys
        self.show = show
        self.is_sequence = is_sequence
        self.flats: dict[int, Any] = {}


def _index_keys(aux: Any, count: int) -> list[str]:
    return [f"[{i}]" for i in range(count)]


def _item_keys(keys: Iterable[Any]) -> list[str]:
    return [f"[{key!r}]" for key in keys]


def _show_items(keys: Iterable[Any], parts: list[str]) -> str:
    return "{" + ", ".join(f"{key!r}: {part}" for key, part in zip(keys, parts, strict=True)) + "}"


def _show_fields(name: str, fields: Iterable[str], parts: list[str]) -> str:
    return f"{name}({', '.join(f'{field}={part}' for field, part in zip(fields, parts, strict=True))})"


def sorted_keys(keys: tuple[Any, ...]) -> tuple[Any, ...]:
    """The keys of a dict in the order of its children."""
    try:
        return tuple(sorted(keys))
    except TypeError:
        raise TreeError(
            f"a dict with the keys {', '.join(repr(key) for key in keys)} is no tree: its keys cannot be sorted. "
            "Use keys of one type, or a collections.OrderedDict, which keeps its own order."
        ) from None


def _split_dict(tree: dict[Any, Any]) -> tuple[list[Any], tuple[Any, ...]]:
    order = sorted_keys(tuple(tree))
    return [tree[key] for key in order], order


def _build_dict(keys: tuple[Any, ...], parts: list[Any]) -> dict[Any, Any]:
    return dict(zip(keys, parts))  # the lengths agree, and a keyword argument would take a fifth of the time


DICT = Kind(dict, _split_dict, _build_dict, lambda aux, count: _item_keys(aux), _show_items)
_ORDERED = Kind(
    OrderedDict,
    lambda tree: (tree.values(), tuple(tree)),
    lambda aux, parts: OrderedDict(zip(aux, parts, strict=True)),
    lambda aux, count: _item_keys(aux),
    lambda aux, parts: f"OrderedDict({_show_items(aux, parts)})",
)


def _split_defaultdict(tree: defaultdict[Any, Any]) -> tuple[list[Any], Any]:
    parts, order = _split_dict(tree)
    return parts, (tree.default_factory, order)


_DEFAULT = Kind(
    defaultdict,
    _split_defaultdict,
    lambda aux, parts: defaultdict(aux[0], zip(aux[1], parts, strict=True)),
    lambda aux, count: _item_keys(aux[1]),
    lambda aux, parts: f"defaultdict({getattr(aux[0], '__name__', aux[0])}, {_show_items(aux[1], parts)})",
)
_LIST = Kind(list, lambda tree: (tree, None), lambda aux, parts: list(parts), _index_keys, lambda aux, parts: f"[{', '.join(parts)}]", True)
_TUPLE = Kind(
    tuple,
    lambda tree: (tree, None),
    lambda aux, parts: tuple(parts),
    _index_keys,
    lambda aux, parts: f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})",
    True,
)
_NONE = Kind(type(None), lambda tree: ((), None), lambda aux, parts: None, _index_keys, lambda aux, parts: "None", False)


class _Kinds(dict[type, Kind | None]):
    """The kind of every class met so far; None for classes whose instances are leaves. One look-up a node or leaf."""

    def __missing__(self, cls: type) -> Kind | None:
        kind = None
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            fields = cls._fields
            kind = Kind(
                cls,
                lambda tree: (tree, None),
                lambda aux, parts: cls._make(parts),  # type: ignore[attr-defined]
                lambda aux, count: [f".{field}" for field in fields],
                lambda aux, parts: _show_fields(cls.__name__, fields, parts),
                True,
            )
        self[cls] = kind
        return kind


KINDS = _Kinds((kind.cls, kind) for kind in (DICT, _ORDERED, _DEFAULT, _LIST, _TUPLE, _NONE))


_ALWAYS_LEAVES = frozenset({bool, int, float, complex, str, bytes, np.ndarray})


def _check_new(cls: Any, what: str) -> None:
    if not isinstance(cls, type):
        raise InputTypeError(f"{what} wants a class, got {cls!r}.")
    if KINDS.get(cls) is not None:
        raise InputValueError(f"{what}: {cls.__name__} is a tree node already; a class is registered once.")


def register_node(cls: type, flatten: Callable[[Any], tuple[Iterable[Any], Any]], unflatten: Callable[[Any, Any], Any]) -> None:
    """Make instances of a class nodes of trees.

    Args:
        cls: the class; its subclasses are not included.
        flatten: object -> (children, aux); aux is static data, hashable and comparable.
        unflatten: (aux, children) -> object. The children can be anything, so it must not convert or check them.

    Raises:
        InputTypeError: `cls` is no class.
        InputValueError: `cls` is registered already, or is that of numbers, arrays or strings, which are leaves.

    Example:
        >>> from funcgrad import tree
        >>> class Interval:
        ...     def __init__(self, low, high): self.low, self.high = low, high
        >>> tree.register_node(Interval, lambda i: ((i.low, i.high), None), lambda aux, children: Interval(*children))
        >>> tree.leaves([Interval(1.0, 2.0), 3.0])
        [1.0, 2.0, 3.0]
    """
    _check_new(cls, "register_node")
    if cls in _ALWAYS_LEAVES or issubclass(cls, np.generic):
        raise InputValueError(f"register_node: a {cls.__name__} is a leaf wherever it stands; make a class of your own around it.")

    def show(aux: Any, parts: list[str]) -> str:
        return f"{cls.__name__}{'' if aux is None else f'[{aux!r}]'}({', '.join(parts)})"

    KINDS[cls] = Kind(cls, flatten, unflatten, _index_keys, show)


@overload
def register_dataclass(cls: _C, data_fields: Sequence[str] | None = None, meta_fields: Sequence[str] = ()) -> _C: ...
@overload
def register_dataclass(
    cls: None = None, data_fields: Sequence[str] | None = None, meta_fields: Sequence[str] = ()
) -> Callable[[_C], _C]: ...
def register_dataclass(cls: Any = None, data_fields: Sequence[str] | None = None, meta_fields: Sequence[str] = ()) -> Any:
    """Make instances of a dataclass nodes of trees; a function or a decorator, with or without arguments.

    Args:
        cls: the dataclass. Its instances are rebuilt by calling it, so `__post_init__` must accept any leaves.
        data_fields: the fields that hold subtrees; by default every one that is not a meta field.
        meta_fields: the fields that are static: they become part of the structure, so they must be hashable and comparable. Without
            `data_fields`, those made by `field(metadata={"static": True})` are static too.

    Returns:
        The class itself, or a decorator if `cls` is left out.

    Raises:
        InputTypeError: `cls` is no dataclass.
        InputValueError: unknown, doubled or forgotten fields, or a class registered before.

    Example:
        >>> from funcgrad import tree
        >>> from dataclasses import dataclass
        >>> @tree.register_dataclass(meta_fields=["name"])
        ... @dataclass
        ... class Layer:
        ...     weight: float
        ...     name: str
        >>> tree.structure(Layer(2.0, "first"))
        Layer(weight=*, name='first')
        >>> tree.map(lambda w: 10 * w, Layer(2.0, "first"))
        Layer(weight=20.0, name='first')
    """
    if cls is None:
        return lambda cls: register_dataclass(cls, data_fields, meta_fields)
    _check_new(cls, "register_dataclass")
    is_dataclass = dataclasses.is_dataclass(cls)
    if not is_dataclass:
        raise InputTypeError(
            f"register_dataclass wants a dataclass, got {cls.__name__}: put @dataclass under the decorator, or use register_node."
        )
    fields = [field for field in dataclasses.fields(cls) if field.init]
    known = [field.name for field in fields]
    meta = tuple(meta_fields)
    if data_fields is None:
        meta += tuple(field.name for field in fields if field.metadata.get("static") and field.name not in meta)
        data_fields = [name for name in known if name not in meta]
    data = tuple(data_fields)
    if sorted(data + meta) != sorted(known):
        raise InputValueError(
            f"register_dataclass: {cls.__name__} is built from the fields {known}, each to be named once; "
            f"got data_fields={list(data)} and meta_fields={list(meta)}."
        )
    KINDS[cls] = Kind(
        cls,
        lambda tree: ([getattr(tree, name) for name in data], tuple([getattr(tree, name) for name in meta])),
        lambda aux, parts: cls(**dict(zip(data, parts, strict=True)), **dict(zip(meta, aux, strict=True))),
        lambda aux, count: [f".{name}" for name in data],
        lambda aux, parts: _show_fields(cls.__name__, data + meta, parts + [repr(value) for value in aux]),
    )
    return cls
