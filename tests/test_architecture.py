"""The house: imports go strictly downward, files are short, the import is light, what is public is documented."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import funcgrad
import funcgrad.extend
import funcgrad.nn.init
import funcgrad.rules
import funcgrad.testing

ROOT = Path(funcgrad.__file__).parent
LAYERS = {
    "errors": 0,
    "tree": 0,
    "tape": 1,
    "silence": 1,
    "instructions": 1,
    "dependence": 2,
    "tracer": 2,
    "numbers": 2,
    "forms": 2,
    "samples": 2,
    "own_calls": 2,
    "staged": 2,
    "mapped": 2,
    "primitive": 2,
    "writes": 2,
    "rule": 2,
    "replay": 3,
    "rules": 4,
    "ops": 5,
    "show": 6,
    "transforms": 6,
    "numpy": 7,
    "scipy": 7,
    "extend": 8,
    "nn": 8,
    "optim": 8,
    "testing": 8,
    "debug": 8,
    "": 9,
}
RUNTIME = {"numpy", "typing_extensions"}
WITH_SCIPY = ("funcgrad.scipy", "funcgrad.ops.scipy")


def name_of(path: Path) -> str:
    parts = ["funcgrad", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {name_of(path): path.read_text(encoding="utf-8") for path in sorted(ROOT.rglob("*.py"))}


def part_of(module: str) -> str:
    """The file or folder directly under funcgrad that a module belongs to; "" for funcgrad itself."""
    return [*module.split("."), ""][1]


def imports_of(tree: ast.AST, known: dict[str, str] = SOURCES) -> Iterator[str]:
    """The modules that a syntax tree imports, those of the package by their full name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in known else str(node.module)


def own(names: Iterator[str]) -> set[str]:
    return {name for name in names if name.split(".")[0] == "funcgrad"}


GRAPH = {module: own(imports_of(ast.parse(source))) for module, source in SOURCES.items()}
each_module = pytest.mark.parametrize("module", list(SOURCES))


def upward(module: str, imported: set[str]) -> list[str]:
    """The imports of a module that go up."""
    return sorted(other for other in imported if LAYERS[part_of(other)] > LAYERS[part_of(module)])


def test_every_part_has_a_layer():
    assert {part_of(module) for module in SOURCES} == set(LAYERS)


@each_module
def test_imports_go_down(module: str):
    assert upward(module, GRAPH[module]) == []


def by_parts(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    parts: dict[str, set[str]] = {part_of(module): set() for module in graph}
    for module, imported in graph.items():
        parts[part_of(module)] |= {part_of(other) for other in imported} - {part_of(module)}
    return parts


@pytest.mark.parametrize("graph", [GRAPH, by_parts(GRAPH)], ids=["modules", "parts"])
def test_no_imports_in_a_circle(graph: dict[str, set[str]]):
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_what_would_be_wrong_is_seen():
    assert upward("funcgrad.tape", own(imports_of(ast.parse("from funcgrad.replay import Slice")))) == ["funcgrad.replay"]
    assert upward("funcgrad.ops.statistics.sorting", own(imports_of(ast.parse("import funcgrad.transforms")))) == ["funcgrad.transforms"]
    assert upward("funcgrad.optim.base", own(imports_of(ast.parse("from funcgrad import grad")))) == ["funcgrad"]
    assert list(imports_in_functions(ast.parse("def f():\n    from funcgrad import tree\n"))) == ["funcgrad.tree"]
    circle = {"funcgrad.ops.a": {"funcgrad.rules.b"}, "funcgrad.rules.c": {"funcgrad.ops.d"}}
    TopologicalSorter(circle).prepare()
    with pytest.raises(CycleError):
        TopologicalSorter(by_parts(circle)).prepare()


def imports_in_functions(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            yield from imports_of(node)


@each_module
def test_no_function_imports_from_the_package(module: str):
    assert own(imports_in_functions(ast.parse(SOURCES[module]))) == set()


@each_module
def test_nothing_is_imported_beyond_numpy_and_the_standard_library(module: str):
    foreign = {name.split(".")[0] for name in imports_of(ast.parse(SOURCES[module]))} - {"funcgrad"} - RUNTIME
    if module.startswith(WITH_SCIPY):
        foreign.discard("scipy")
    assert foreign - sys.stdlib_module_names == set()


@each_module
def test_files_are_short_and_say_what_they_own(module: str):
    source = SOURCES[module]
    assert len(source.splitlines()) <= 400
    assert ast.get_docstring(ast.parse(source))
    assert not re.search(r"\b(TODO|FIXME|XXX)\b", source)
    assert module.rpartition(".")[2] not in ("utils", "helpers", "common", "misc")


def test_the_import_is_light():
    code = "import numpy, sys; before = set(sys.modules); import funcgrad; print(*sorted(set(sys.modules) - before))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT.parent, capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in ran.stdout.split()}
    assert loaded - {"funcgrad"} - RUNTIME - sys.stdlib_module_names == set()
    assert ran.stderr == ""


# ------------------------------------------------------------------------------------------------ what is public

TRANSFORMS = [
    "checkpoint",
    "checkpoint_name",
    "checkpoint_sequential",
    "cond",
    "custom_jvp",
    "custom_root",
    "custom_vjp",
    "elementwise_grad",
    "eval_shape",
    "fixed_point",
    "fori_loop",
    "gnvp",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "linear_transpose",
    "linearize",
    "load",
    "make_tape",
    "remat",
    "save_only_these_names",
    "scan",
    "set_num_threads",
    "stop_gradient",
    "switch",
    "value_and_grad",
    "value_grad_and_hvp",
    "vjp",
    "vmap",
    "while_loop",
]
PUBLIC = [*TRANSFORMS, "everything_saved", "nothing_saved"]
PUBLIC += ["ShapeDtypeStruct", "Tracer", "__version__", "debug", "errors", "nn", "numpy", "optim", "show", "tree"]


def test_the_package_says_what_it_exports():
    assert sorted(funcgrad.__all__) == sorted(PUBLIC)
    assert all(hasattr(funcgrad, name) for name in PUBLIC)
    assert funcgrad.__version__ == "0.1.0"


@pytest.mark.parametrize("name", [name for name in PUBLIC if name != "__version__"])
def test_what_is_public_is_documented(name: str):
    assert inspect.getdoc(getattr(funcgrad, name))


DOCUMENTED = [
    funcgrad,
    funcgrad.debug,
    funcgrad.extend,
    funcgrad.nn,
    funcgrad.nn.init,
    funcgrad.numpy,
    funcgrad.optim,
    funcgrad.rules,
    funcgrad.show,
    funcgrad.testing,
    funcgrad.tree,
]


def public_functions(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """The package's own functions that a module gives to users."""
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    found = {name: getattr(module, name) for name in names}
    return {name: value for name, value in found.items() if inspect.isfunction(value) and value.__module__.startswith("funcgrad.")}


PUBLIC_FUNCTIONS = {f"{module.__name__}.{name}": f for module in DOCUMENTED for name, f in public_functions(module).items()}


def sections_of(doc: str) -> dict[str, str]:
    """The Google sections of a docstring, and its first paragraph as "summary"."""
    parts = re.split(r"^(Args|Returns|Raises|Example|References):$", doc, flags=re.MULTILINE)
    return {"summary": parts[0].split("\n\n")[0].strip(), **dict(zip(parts[1::2], parts[2::2], strict=True))}


def missing_in(f: Callable[..., Any]) -> list[str]:
    """What the docstring of a function leaves out."""
    sections = sections_of(inspect.getdoc(f) or "")
    described = re.findall(r"^    \*{0,2}(\w+): *\S", sections.get("Args", ""), re.MULTILINE)
    raised = re.findall(r"^    (\S.*)", sections.get("Raises", ""), re.MULTILINE)
    signature = inspect.signature(f)
    missing = [f"Args: {name}" for name in signature.parameters if name not in described]
    missing += [f"Args: {name}, which is no parameter" for name in described if name not in signature.parameters]
    if not sections["summary"].endswith("."):
        missing.append("summary")
    if signature.return_annotation not in (None, "None") and not sections.get("Returns", "").strip():
        missing.append("Returns")
    if ">>> " not in sections.get("Example", ""):
        missing.append("Example")
    if "Raises" in sections and not (raised and all(re.match(r"[A-Z]\w+(, [A-Z]\w+)*: \S", line) for line in raised)):
        missing.append("Raises: when")
    return missing


@pytest.mark.parametrize("name", sorted(PUBLIC_FUNCTIONS))
def test_public_functions_say_what_they_take_give_and_show_it(name: str):
    assert missing_in(PUBLIC_FUNCTIONS[name]) == []


def test_every_public_module_has_functions_to_look_at():
    for module in DOCUMENTED:
        assert public_functions(module), module.__name__
    assert {f"funcgrad.{name}" for name in TRANSFORMS} <= set(PUBLIC_FUNCTIONS)


def test_what_a_docstring_leaves_out_is_seen():
    def bare(x, *rest, y=0) -> float: ...

    def told(x, *rest, y=0) -> None:
        """Do it.

        Args:
            x: a number.
            *rest: more.
            z: nothing.

        Raises:
            whenever it likes.

        Example:
            none.
        """

    assert missing_in(bare) == ["Args: x", "Args: rest", "Args: y", "summary", "Returns", "Example"]
    assert missing_in(told) == ["Args: y", "Args: z, which is no parameter", "Example", "Raises: when"]


MODULES = [funcgrad.debug, funcgrad.errors, funcgrad.nn, funcgrad.nn.init, funcgrad.optim, funcgrad.show, funcgrad.tree]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_public_modules_document_their_names(module: ModuleType):
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    for name in names:
        value = getattr(module, name)
        if callable(value) and getattr(value, "__module__", "").startswith("funcgrad"):
            assert inspect.getdoc(value), f"{module.__name__}.{name}"
