"""Programs as data: written into a file and read again, without pickle and without running code that a file brings along.

A file is NumPy's .npz: one entry of JSON, and the arrays that it refers to by number. Functions are named, and looked for among NumPy's,
SciPy's ufuncs and the primitives of funcgrad alone.
"""

from __future__ import annotations

import contextlib
import functools
import json
import keyword
import math
import operator
import os
import zipfile
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.errors import InputTypeError, InputValueError
from funcgrad.instructions import NUMBERS, Instruction, Trail, Variable
from funcgrad.transforms.compile.branches import SwitchRun
from funcgrad.transforms.compile.code import Code
from funcgrad.transforms.compile.loops import LoopRun
from funcgrad.transforms.compile.names import function_of, name_of, named_tuple
from funcgrad.transforms.compile.program import Program
from funcgrad.transforms.compile.programs import passed

FORMAT = "funcgrad program 1"
_KINDS: dict[str, type] = {one.__name__: one for one in (*NUMBERS, Trail)}

_TYPES: dict[str, type] = {one.__name__: one for one in (np.ndarray, *NUMBERS, *(np.dtype(char).type for char in "?bhilqBHILQefdgFDG"))}

_DAMAGES = (
    *(
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        EOFError,
        NotImplementedError,
        RecursionError,
        SyntaxError,
        ArithmeticError,
        MemoryError,
    ),
    *(zipfile.BadZipFile, zlib.error),
)
"""What reading a damaged file raises."""

Saved = tuple[tree.TreeDef, tree.TreeDef, Program, Program | None]

# ------------------------------------------------------------------------------------------------ writing


class _Writer:
    def __init__(self, name: str) -> None:
        self._name = name
        self.arrays: list[np.ndarray] = []
        self._variables: dict[Variable, int] = {}

    def program(self, program: Program | None) -> Any:
        if program is None:
            return None
        around, self._variables = self._variables, {}
        data = {
            "name": program.name,
            "inputs": [self.variable(one) for one in program.inputs],
            "instructions": [self.instruction(one) for one in program.instructions],
            "outputs": [self.value(one) for one in program.outputs],
            "watched": [self._variables[one] for one in program.watched],
        }
        self._variables = around
        return data

    def variable(self, variable: Variable | None) -> Any:
        if variable is None:
            return None
        number = self._variables.setdefault(variable, len(self._variables))
        is_named = variable.is_number or variable.kind is Trail
        kind = variable.kind.__name__ if is_named else "array" if variable.kind is np.ndarray else "scalar"
        return [number, kind, list(variable.shape), variable.dtype.str]

    def instruction(self, one: Instruction) -> Any:
        args, options = [self.value(each) for each in one.args], [[key, self.value(each)] for key, each in one.options.items()]
        return [self.function(one.function), args, options, self.output(one.output)]

    def function(self, function: Any) -> Any:
        if type(function) is LoopRun:
            programs = [self.program(function.step), self.program(function.test)]
            return {"loop": [*programs, list(function.counts), function.rows, self.value(function.order), function.has_carries]}
        if type(function) is SwitchRun:
            return {"switch": [self.program(one) for one in function.branches]}
        name = name_of(function)
        if name is None:
            called = getattr(function, "__qualname__", getattr(function, "__name__", function))
            raise InputValueError(f"jit of {self._name}: a step cannot be saved: {called!s:.80}")
        return name

    def output(self, output: Any) -> Any:
        return {"several": [self.output(one) for one in output]} if type(output) is tuple else self.variable(output)

    def value(self, value: Any) -> Any:
        kind = type(value)
        if kind is Variable:
            return {"v": self._variables[value]}
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"f": repr(value)}
        if kind is complex:
            return {"c": [repr(value.real), repr(value.imag)]}
        if kind in (tuple, list):
            return {"t" if kind is tuple else "l": [self.value(one) for one in value]}
        if kind is slice or kind is range:
            return {"s" if kind is slice else "r": [self.value(one) for one in (value.start, value.stop, value.step)]}
        if kind is dict and all(type(key) is str for key in value):
            return {"o": [[key, self.value(one)] for key, one in value.items()]}
        if value is Ellipsis:
            return {"e": 0}
        if value is np._NoValue:
            return {"n": 0}
        if isinstance(value, np.dtype):
            return {"d": value.str}
        if isinstance(value, type) and value in _TYPES.values():
            return {"k": value.__name__}
        if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufc":
            self.arrays.append(np.asarray(value))
            return {"a": [len(self.arrays) - 1, isinstance(value, np.ndarray)]}
        raise InputValueError(f"jit of {self._name}: a step has the argument {value!r:.60} ({kind.__name__}), which cannot be saved")

    def structure(self, treedef: tree.TreeDef) -> Any:
        return self._skeleton(tree.unflatten(treedef, [_LEAF] * treedef.num_leaves))

    def _skeleton(self, value: Any) -> Any:
        if value is _LEAF:
            return 0
        if value is None:
            return None
        if type(value) in (tuple, list):
            return {"t" if type(value) is tuple else "l": [self._skeleton(one) for one in value]}
        if isinstance(value, tuple) and named_tuple(type(value).__module__, type(value).__name__) is type(value):
            return {"n": [type(value).__module__, type(value).__name__, [self._skeleton(one) for one in value]]}
        if type(value) is dict and all(type(key) in (str, int) for key in value):
            return {"d": [[key, self._skeleton(one)] for key, one in value.items()]}
        raise InputValueError(
            f"jit of {self._name}: a {type(value).__name__} among its arguments or results cannot be saved: use a dict, a list or a tuple"
        )


_LEAF = object()


def save(file: Any, name: str, programs: Sequence[Saved]) -> None:
    """Write programs.

    Raises:
        InputValueError: there are none, or one cannot be written. Nothing is written then.
    """
    if not programs:
        raise InputValueError(f"jit of {name}: there is no program to save: call the function first")
    writer = _Writer(name)
    rows = [
        [writer.structure(given), writer.structure(out), writer.program(program), writer.program(careful)]
        for given, out, program, careful in programs
    ]
    text = json.dumps({"format": FORMAT, "name": name, "programs": rows})
    arrays = {f"a{n}": array for n, array in enumerate(writer.arrays)}
    with contextlib.ExitStack() as stack:
        if isinstance(file, (str, os.PathLike)):
            file = stack.enter_context(open(file, "wb"))  # under that name: NumPy would add a suffix
        np.savez(file, programs=np.frombuffer(text.encode(), np.uint8), **arrays)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------ reading


class _Reader:
    def __init__(self, arrays: Any) -> None:
        self._arrays = arrays
        self._variables: dict[int, Variable] = {}

    def program(self, data: Any) -> Program | None:
        if data is None:
            return None
        around, self._variables = self._variables, {}
        inputs = [self.variable(one) for one in data["inputs"]]
        instructions = [self.instruction(one) for one in data["instructions"]]
        outputs = [self.value(one) for one in data["outputs"]]
        watched = [self._variables[n] for n in data["watched"]]
        self._variables = around
        return Program(str(data["name"]), inputs, instructions, outputs, watched)

    def variable(self, data: Any) -> Any:
        if data is None:
            return None
        number, kind, shape, dtype = data
        example: Any
        if kind in ("array", "scalar"):
            dtype = _number_type(dtype)
            example = np.broadcast_to(np.zeros((), dtype), shape) if kind == "array" else np.zeros((), dtype)[()]
        else:
            example = _KINDS[kind](0)
        variable = Variable(example)
        if kind == "array":
            variable.kind = np.ndarray
        if number in self._variables:
            raise ValueError(f"the variable {number} comes twice")
        self._variables[number] = variable
        return variable

    def instruction(self, data: Any) -> Instruction:
        function, args, options, output = data
        if not all(isinstance(key, str) and key.isidentifier() and not keyword.iskeyword(key) for key, _ in options):
            raise ValueError("an option has no name")  # the generated code has it
        args, options = tuple(self.value(one) for one in args), {key: self.value(one) for key, one in options}
        return Instruction(self.function(function), args, options, self.output(output), None)

    def function(self, data: Any) -> Callable[..., Any]:
        if isinstance(data, str):
            return function_of(data)
        ((kind, content),) = data.items()
        if kind not in ("loop", "switch"):
            raise ValueError(f"{kind!r:.20} is no kind of function")
        if kind == "switch":
            return SwitchRun([self.required_program(one) for one in content])
        step, test, counts, rows, order, has_carries = content
        n_carry, n_ys, n_sums = map(operator.index, counts)
        order = self.value(order)
        if not isinstance(order, range | None):
            raise ValueError(f"{order!r:.20} are no numbers of steps")
        return LoopRun(
            self.required_program(step), self.program(test), (n_carry, n_ys, n_sums), operator.index(rows), order, bool(has_carries)
        )

    def required_program(self, data: Any) -> Program:
        program = self.program(data)
        if program is None:
            raise ValueError("a program is missing")
        return program

    def output(self, output: Any) -> Any:
        return tuple(self.output(one) for one in output["several"]) if isinstance(output, dict) else self.variable(output)

    def value(self, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        ((key, content),) = data.items()
        if key == "v":
            return self._variables[content]
        if key in ("t", "l"):
            found = [self.value(one) for one in content]
            return tuple(found) if key == "t" else found
        if key == "o":
            return {str(name): self.value(one) for name, one in content}
        if key in ("s", "r"):
            return (slice if key == "s" else range)(*(self.value(one) for one in content))
        if key == "a":
            array = self._arrays[f"a{content[0]}"]
            return array if content[1] else array[()]
        if key == "f":
            return float(content)
        if key == "c":
            return complex(*map(float, content))
        if key == "d":
            return _number_type(content)
        if key == "k":
            return _TYPES[content]
        return {"e": Ellipsis, "n": np._NoValue}[key]

    def structure(self, data: Any) -> tree.TreeDef:
        return tree.structure(self._skeleton(data))

    def _skeleton(self, data: Any) -> Any:
        if not isinstance(data, dict):
            return None if data is None else 0.0
        ((key, content),) = data.items()
        if key == "d":
            return {name: self._skeleton(one) for name, one in content}
        if key == "n":
            made = named_tuple(content[0], content[1])
            if made is None:
                raise InputValueError(f"load: this version has no {content[1]!r:.60}, which an argument or a result of the file is")
            return made(*(self._skeleton(one) for one in content[2]))
        found = [self._skeleton(one) for one in content]
        return tuple(found) if key == "t" else found


def _number_type(text: Any) -> np.dtype[Any]:
    dtype = np.dtype(str(text))
    if dtype.kind not in "biufc":
        raise ValueError(f"{text!r:.20} is no type of numbers")
    return dtype


class Loaded:
    """A function made of saved programs."""

    def __init__(self, name: str, programs: Sequence[Saved]) -> None:
        self.__name__ = name
        self._programs = [
            (given, [(one.kind, one.shape, one.dtype) for one in program.inputs], out, Code(passed(program)), _when_needed(careful))
            for given, out, program, careful in programs
        ]

    def __repr__(self) -> str:
        return f"<{self.__name__}, loaded>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function of these arguments, by the program that was saved for their structure, shapes and dtypes."""
        leaves, treedef = tree.flatten((args, kwargs))
        for leaf in leaves:
            if not isinstance(leaf, (np.ndarray, np.generic, *NUMBERS)):
                raise InputTypeError(f"{self.__name__}, loaded, takes plain numbers and arrays, got a {type(leaf).__name__}")
        kinds = [(one.kind, one.shape, one.dtype) for one in map(Variable, leaves)]
        for given, wanted, out, code, careful in self._programs:
            if given == treedef and wanted == kinds:
                found = code.run(leaves)
                if found is None:
                    found = careful().run(leaves)
                return tree.unflatten(out, found or ())
        known = "; ".join(f"{given} with {', '.join(f'{d}{list(s)}' for _, s, d in wanted)}" for given, wanted, *_ in self._programs[:4])
        raise InputValueError(f"{self.__name__}, loaded, has no program for such arguments: it was saved for {known}")


def _when_needed(program: Program | None) -> Callable[[], Code]:
    @functools.cache
    def code() -> Code:
        if program is None:
            raise InputValueError("load: the file lacks the program for derivatives with strong zeros")
        return Code(passed(program))

    return code


def _opened(file: Any) -> Any:
    try:
        return np.load(file, allow_pickle=False)
    except ValueError:  # which speaks of pickled objects, and how to let them in
        raise ValueError("it has no arrays") from None


def load(file: Any) -> Any:
    """A function out of the programs that `jit(f).save(file)` has written.

    Args:
        file: a path, or a binary file. Nothing in it is run but the functions of NumPy, SciPy's ufuncs and funcgrad's primitives.

    Returns:
        A function that takes plain numbers and arrays of the structures, shapes and dtypes that were saved. It has no derivatives: save
        the program of `grad(f)`.

    Raises:
        InputValueError: the file is damaged, no file of programs, or of another version; or, of the function, there is no program for its
            arguments.
        OSError: the file is not there, or cannot be read.

    Example:
        >>> import io
        >>> from funcgrad import grad, jit
        >>> gradient, file = jit(grad(lambda x: np.sum(x**3))), io.BytesIO()
        >>> print(gradient(np.array([1.0, 2.0])))
        [ 3. 12.]
        >>> gradient.save(file)
        >>> _ = file.seek(0)
        >>> print(load(file)(np.array([2.0, 3.0])))
        [12. 27.]
    """
    try:
        with _opened(file) as arrays:
            data = json.loads(bytes(arrays["programs"]).decode())
            if not isinstance(data, dict) or data.get("format") != FORMAT:
                found = data.get("format") if isinstance(data, dict) else type(data).__name__
                raise InputValueError(f"load: the file is of another version: {found!r:.60}, and this one reads {FORMAT!r}")
            reader = _Reader(arrays)
            programs: list[Any] = [
                (reader.structure(given), reader.structure(out), reader.program(program), reader.program(careful))
                for given, out, program, careful in data["programs"]
            ]
            return Loaded(str(data["name"]), programs)
    except InputValueError:
        raise
    except _DAMAGES as error:
        raise InputValueError(f"load: the file is damaged, or no file of programs: {error}") from error
