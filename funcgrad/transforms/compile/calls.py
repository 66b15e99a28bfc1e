"""The way into a program and out of it without the general walk through trees: generated for one structure of arguments.

A match asks whether arguments have the structure, types, shapes and dtypes that a program is for, and takes them apart meanwhile. That
takes a tenth of the time of doing one after the other, which may be as much as the program takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.tree import TreeDef

_NOTHING = object()
Match = Callable[[tuple[Any, ...], dict[str, Any]], "tuple[Any, ...] | None"]


def match_of(treedef: TreeDef, leaves: Sequence[Any]) -> Match:
    """The function that gives the leaves of `(args, kwargs)` like these, and None for others."""
    writer = _Match(leaves)
    writer.take(treedef, "given")
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

    def _name(self, prefix: str, value: Any = _NOTHING) -> str:
        self._count += 1
        name = f"{prefix}{self._count}"
        if value is not _NOTHING:
            self.namespace[name] = value
        return name

    def _unless(self, condition: str) -> None:
        self.lines += [f"if {condition}:", "    return None"]

    def take(self, treedef: TreeDef, name: str) -> None:
        """Take apart what has a name."""
        kind, children = treedef._kind, treedef._children
        if kind is None:
            self._leaf(name)
            return
        self._unless(f"type({name}) is not {self._name('T', kind.cls)}")
        parts = [self._name("a") for _ in children]
        if kind.cls is dict:
            self._unless(f"len({name}) != {len(children)}")
            self.lines += [f"{part} = {name}[{self._name('k', key)}]" for part, key in zip(parts, treedef._aux, strict=True)]
        else:
            whole = name
            if not kind.is_sequence:
                name, aux = self._name("a"), self._name("a")
                self.lines.append(f"{name}, {aux} = {self._name('split', kind.split)}({whole})")
                self._unless(f"{aux} != {self._name('aux', treedef._aux)}")
                self.lines.append(f"{name} = tuple({name})")
            self._unless(f"len({name}) != {len(children)}")
            if parts:
                self.lines.append(f"{', '.join(parts)}, = {name}")
        for child, part in zip(children, parts, strict=True):
            self.take(child, part)

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
    taken = f"    {', '.join(names)}, = leaves\n" if names else ""
    exec(f"def whole(leaves):\n{taken}    return {text}\n", namespace)
    return namespace["whole"]  # type: ignore[no-any-return]


def _expression(treedef: TreeDef, names: list[str], namespace: dict[str, Any]) -> str:
    kind = treedef._kind
    if kind is None:
        names.append(f"x{len(names)}")
        return names[-1]

    def constant(value: Any) -> str:
        name = f"c{len(namespace)}"
        namespace[name] = value
        return name

    parts = [_expression(child, names, namespace) for child in treedef._children]
    if kind.cls is tuple:
        return f"({''.join(f'{part}, ' for part in parts)})"
    if kind.cls is list:
        return f"[{', '.join(parts)}]"
    if kind.cls is dict:
        return "{" + ", ".join(f"{constant(key)}: {part}" for key, part in zip(treedef._aux, parts, strict=True)) + "}"
    return f"{constant(kind.build)}({constant(treedef._aux)}, [{', '.join(parts)}])"
