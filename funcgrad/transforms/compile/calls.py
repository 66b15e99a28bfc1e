"""The way into a program and out of it without the general walk through trees: generated for one structure of arguments.

A match asks whether arguments have the structure, types, shapes and dtypes that a program is for, and takes them apart meanwhile. That
takes a tenth of the time of doing one after the other, which may be as much as the program takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.tree import TreeDef

Match = Callable[[tuple[Any, ...], dict[str, Any]], "tuple[Any, ...] | None"]


def match_of(treedef: TreeDef, leaves: Sequence[Any]) -> Match | None:
    """The function that gives the leaves of `(args, kwargs)` like these, and None for others; None for structures that are unusual."""
    writer = _Match(leaves)
    if not writer.take(treedef, "given"):
        return None
    lines = [f"        {line}" for line in writer.lines]
    text = "\n".join(
        ["def match(*given):", "    try:", *lines, "    except KeyError:", "        return None", f"    return ({''.join(writer.leaves)})"]
    )
    exec(text, writer.namespace)
    return writer.namespace["match"]  # type: ignore[no-any-return]


class _Match:
    """The lines of a match."""

    def __init__(self, leaves: Sequence[Any]) -> None:
        self.namespace: dict[str, Any] = {"ndarray": np.ndarray}
        self.lines: list[str] = []
        self.leaves: list[str] = []
        self._examples = iter(leaves)
        self._count = 0

    def _name(self, prefix: str, value: Any = None) -> str:
        self._count += 1
        name = f"{prefix}{self._count}"
        if value is not None:
            self.namespace[name] = value
        return name

    def _unless(self, condition: str) -> None:
        self.lines += [f"if {condition}:", "    return None"]

    def take(self, treedef: TreeDef, name: str) -> bool:
        """Take apart what has a name; whether that is possible."""
        kind, children = treedef._kind, treedef._children
        if kind is None:
            self._leaf(name)
            return True
        if kind.cls is type(None):
            self._unless(f"{name} is not None")
            return True
        if kind.cls not in (tuple, list, dict):
            return False
        self._unless(f"type({name}) is not {kind.cls.__name__} or len({name}) != {len(children)}")
        if not children:
            return True
        parts = [self._name("a") for _ in children]
        if kind.cls is dict:
            keys = [self._name("k", key) if type(key) is not str else repr(key) for key in treedef._aux]
            self.lines += [f"{part} = {name}[{key}]" for part, key in zip(parts, keys, strict=True)]
        else:
            self.lines.append(f"{', '.join(parts)}, = {name}")
        return all(self.take(child, part) for child, part in zip(children, parts, strict=True))

    def _leaf(self, name: str) -> None:
        example = next(self._examples)
        self.leaves.append(f"{name}, ")
        if type(example) is np.ndarray:  # the same dtype is nearly always the same object; the general way takes the others
            self._unless(f"type({name}) is not ndarray or {name}.shape != {example.shape} or {name}.dtype is not {self._dtype(example)}")
        else:
            self._unless(f"type({name}) is not {self._name('T', type(example))}")

    def _dtype(self, example: np.ndarray) -> str:
        name = f"{example.dtype.name}_{example.dtype.byteorder.replace('=', '').replace('|', '')}".strip("_")
        name = name if name.isidentifier() and self.namespace.get(name, example.dtype) is example.dtype else self._name("d")
        self.namespace[name] = example.dtype
        return name


def whole_of(treedef: TreeDef) -> Callable[[Sequence[Any]], Any]:
    """The function that puts leaves together again."""
    namespace: dict[str, Any] = {}
    names: list[str] = []
    text = _expression(treedef, names, namespace)
    if text is None:
        return lambda leaves: tree.unflatten(treedef, leaves)
    taken = f"    {', '.join(names)}, = leaves\n" if names else ""
    exec(f"def whole(leaves):\n{taken}    return {text}\n", namespace)
    return namespace["whole"]  # type: ignore[no-any-return]


def _expression(treedef: TreeDef, names: list[str], namespace: dict[str, Any]) -> str | None:
    kind = treedef._kind
    if kind is None:
        names.append(f"x{len(names)}")
        return names[-1]
    if kind.cls is type(None):
        return "None"
    if kind.cls not in (tuple, list, dict):
        return None
    parts = [_expression(child, names, namespace) for child in treedef._children]
    if None in parts:
        return None
    if kind.cls is tuple:
        return f"({''.join(f'{part}, ' for part in parts)})"
    if kind.cls is list:
        return f"[{', '.join(map(str, parts))}]"
    keys = []
    for key in treedef._aux:
        name = f"k{len(namespace)}"
        namespace[name] = key
        keys.append(name)
    return "{" + ", ".join(f"{key}: {part}" for key, part in zip(keys, parts, strict=True)) + "}"
