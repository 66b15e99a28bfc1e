"""Arithmetic on leaves, and lining leaves up: what the transformations are written with.

A leaf is an array, a NumPy scalar, a Python number or a tracer. Python numbers stay Python numbers and never reach NumPy where `math`
has an answer; everything else is asked through operators and NumPy functions, so that tracers work. float16 is what leaves are stored in,
never what is computed with: float32 is, because 1e-8 and the square of 1e-4 are zero in float16.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.errors import InputTypeError, InputValueError, TreeError
from funcgrad.primitive import FUNCTIONS
from funcgrad.staged import Staged

_PYTHON_NUMBERS = frozenset((float, int, complex))
_COMPUTED_WITH = frozenset("fdgFDG")  # the dtypes' characters: all real and complex ones but float16


def is_real_or_complex(leaf: Any) -> bool:
    """Whether a leaf can be moved by a small step: a Python number other than a bool, or of a floating or complex dtype."""
    if type(leaf) in _PYTHON_NUMBERS:
        return True
    dtype = getattr(leaf, "dtype", None)
    return dtype is not None and dtype.kind in "fc"


def is_complex(leaf: Any) -> bool:
    """Whether a leaf is complex."""
    dtype = getattr(leaf, "dtype", None)
    return type(leaf) is complex if dtype is None else dtype.kind == "c"


def plain(value: Any) -> Any:
    """A NumPy number as the Python number: that one never raises the precision of a float32 array, where np.float64 would."""
    if type(value) is Staged and not value.is_number and value.shape == ():
        return value.recorded(plain, (value,), {})
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        number = value.item()
        if isinstance(number, np.generic):  # a longdouble, for which item() has no Python type
            number = complex(number) if isinstance(number, np.complexfloating) else float(number)
        return number
    return value


FUNCTIONS["plain number"] = plain


def like(value: Any, leaf: Any) -> Any:
    """The value in the dtype of a leaf; beside a Python number a Python number."""
    if type(value) in _PYTHON_NUMBERS:
        return value
    if type(leaf) in _PYTHON_NUMBERS:
        return plain(value)
    return value if value.dtype == leaf.dtype else value.astype(leaf.dtype)


def refused(name: str, what: str, place: str, leaf: Any) -> InputTypeError:
    """The error about a leaf that is neither real nor complex."""
    got = getattr(leaf, "dtype", type(leaf).__name__)
    return InputTypeError(
        f"{name}: the {what} at {place or 'the root'} is of type {got}; wanted real or complex numbers: "
        f"convert it with astype(float), or keep it out of the {what}s."
    )


def computable(name: str, what: str, leaves: list[Any], treedef: tree.TreeDef) -> list[Any]:
    """Leaves as they are computed with: float16 as float32, Python ints as floats.

    Args:
        name: of the transformation, for messages.
        what: what each leaf is, for messages.
        leaves: the leaves of a tree.
        treedef: its structure.

    Raises:
        InputTypeError: a leaf that is neither real nor complex; the message names the path.
    """
    found = []
    for i, leaf in enumerate(leaves):
        if type(leaf) is not float:
            dtype = getattr(leaf, "dtype", None)
            char = None if dtype is None else dtype.char
            if char not in _COMPUTED_WITH:
                if char == "e":
                    leaf = leaf.astype(np.float32)
                elif type(leaf) is int:
                    leaf = float(leaf)
                elif type(leaf) is not complex:
                    raise refused(name, what, treedef.paths()[i], leaf)
        found.append(leaf)
    return found


def check_params(name: str, params: Any) -> None:
    """InputTypeError for parameters that cannot be learned; the message names the path."""
    leaves, treedef = tree.flatten(params)
    for i, leaf in enumerate(leaves):
        if not is_real_or_complex(leaf):
            raise refused(f"{name}.init", "parameter", treedef.paths()[i], leaf)


def check_state(name: str, state: Any, wanted: type) -> None:
    """InputValueError for a state that another transformation made."""
    if not isinstance(state, wanted):
        raise InputValueError(
            f"{name}: the state is of type {type(state).__name__}, wanted {wanted.__name__}: give the state that this optimizer's init "
            "or last update returned."
        )


def full_like(name: str, params: Any, fill: float, is_real: bool = False) -> Any:
    """A tree like the parameters, filled with one number; float32 for float16.

    Args:
        name: of the transformation, for messages.
        params: tree of real or complex leaves.
        fill: the number.
        is_real: a complex leaf gets a real one, as holds squared magnitudes.

    Raises:
        InputTypeError: a leaf that is neither real nor complex; the message names the path.
    """
    check_params(name, params)
    leaves, treedef = tree.flatten(params)
    filled: list[Any] = []
    for leaf in leaves:
        if type(leaf) in _PYTHON_NUMBERS:
            filled.append(complex(fill) if type(leaf) is complex and not is_real else float(fill))
        else:
            dtype = leaf.dtype.type(0).real.dtype if is_real else leaf.dtype
            array = np.full(leaf.shape, fill, np.float32 if dtype == np.float16 else dtype)
            filled.append(array[()] if isinstance(leaf, np.generic) else array)
    return tree.unflatten(treedef, filled)


def aligned(name: str, got_name: str, got: Any, **wanted: Any) -> tuple[list[Any], tree.TreeDef, list[list[Any]]]:
    """The leaves of trees that must have one structure and one shape a leaf.

    Args:
        name: of the transformation, for messages.
        got_name: what the first tree is.
        got: the tree that is judged.
        **wanted: the trees that it must be like; the keyword says what each is.

    Returns:
        The leaves of the first, its structure, and the leaves of each of the others.

    Raises:
        TreeError: another structure; the message names the path.
        InputValueError: another shape; the message names the path.
    """
    leaves, treedef = tree.flatten(got)
    columns = []
    for wanted_name, reference in wanted.items():
        column, reference_treedef = tree.flatten(reference)
        if reference_treedef is not treedef and reference_treedef != treedef:
            raise TreeError(
                f"{name}: the {got_name} do not have the structure of the {wanted_name}: {reference_treedef.mismatch(treedef)}. "
                "Gradients, updates, state and parameters must be trees of one structure, that of the parameters given to init."
            )
        for i, (one, another) in enumerate(zip(leaves, column, strict=True)):
            if type(one) is not float or type(another) is not float:
                shape, wanted_shape = getattr(one, "shape", ()), getattr(another, "shape", ())
                if shape != wanted_shape:
                    raise InputValueError(
                        f"{name}: the {got_name} at {treedef.paths()[i] or 'the root'} have shape {shape}, wanted {wanted_shape} as in the "
                        f"{wanted_name}: shapes must be equal, nothing is broadcast."
                    )
        columns.append(column)
    return leaves, treedef, columns


def sqrt(value: Any) -> Any:
    """The square root of a real leaf."""
    return math.sqrt(value) if type(value) is float and value >= 0.0 else np.sqrt(value)


def divide(one: Any, another: Any) -> Any:
    """The quotient as NumPy has it: Python floats divided by zero give an infinity or NaN, with NumPy's warning."""
    return np.divide(one, another) if type(another) is float and not another else one / another


def absolute_square(value: Any) -> Any:
    """The squared magnitude, real also of a complex leaf."""
    return value.real * value.real + value.imag * value.imag if is_complex(value) else value * value


def average(decay: Any, old: list[Any], new: list[Any]) -> list[Any]:
    """One step of exponential averages, leaf by leaf, in the dtypes of the old ones."""
    return [like(decay * one + (1 - decay) * another, one) for one, another in zip(old, new, strict=True)]


def debiased(averages: list[Any], decay: Any, count: Any) -> list[Any]:
    """Exponential averages after some steps, freed of their start at zero."""
    correction = 1 - decay**count
    return [like(leaf / correction, leaf) for leaf in averages]
