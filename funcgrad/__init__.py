"""funcgrad: automatic differentiation of plain NumPy code, as composable functions over a tape."""

import importlib
from typing import TYPE_CHECKING, Any

from funcgrad import debug as debug
from funcgrad import errors as errors
from funcgrad import nn as nn
from funcgrad import numpy as numpy
from funcgrad import optim as optim
from funcgrad import show as show
from funcgrad import tree as tree
from funcgrad.tracer import Tracer as Tracer
from funcgrad.transforms.derivatives import elementwise_grad as elementwise_grad
from funcgrad.transforms.derivatives import hessian as hessian
from funcgrad.transforms.derivatives import hvp as hvp
from funcgrad.transforms.derivatives import jacfwd as jacfwd
from funcgrad.transforms.derivatives import jacobian as jacobian
from funcgrad.transforms.derivatives import jacrev as jacrev
from funcgrad.transforms.forward import jvp as jvp
from funcgrad.transforms.forward import linearize as linearize
from funcgrad.transforms.inspect import make_tape as make_tape
from funcgrad.transforms.reverse import grad as grad
from funcgrad.transforms.reverse import value_and_grad as value_and_grad
from funcgrad.transforms.reverse import vjp as vjp
from funcgrad.transforms.stop import stop_gradient as stop_gradient

if TYPE_CHECKING:
    from funcgrad.transforms.batching import vmap as vmap
    from funcgrad.transforms.checkpoint import checkpoint as checkpoint
    from funcgrad.transforms.checkpoint import checkpoint_sequential as checkpoint_sequential
    from funcgrad.transforms.checkpoint import remat as remat
    from funcgrad.transforms.compile import jit as jit
    from funcgrad.transforms.compile import load as load
    from funcgrad.transforms.compile import set_num_threads as set_num_threads
    from funcgrad.transforms.custom import custom_jvp as custom_jvp
    from funcgrad.transforms.custom import custom_vjp as custom_vjp
    from funcgrad.transforms.linear import linear_transpose as linear_transpose
    from funcgrad.transforms.branches import cond as cond
    from funcgrad.transforms.loops import fori_loop as fori_loop
    from funcgrad.transforms.loops import scan as scan
    from funcgrad.transforms.branches import switch as switch
    from funcgrad.transforms.loops import while_loop as while_loop
    from funcgrad.transforms.policies import checkpoint_name as checkpoint_name
    from funcgrad.transforms.policies import everything_saved as everything_saved
    from funcgrad.transforms.policies import nothing_saved as nothing_saved
    from funcgrad.transforms.policies import save_only_these_names as save_only_these_names
    from funcgrad.transforms.products import gnvp as gnvp
    from funcgrad.transforms.products import value_grad_and_hvp as value_grad_and_hvp
    from funcgrad.transforms.roots import custom_root as custom_root
    from funcgrad.transforms.roots import fixed_point as fixed_point
    from funcgrad.transforms.shapes import ShapeDtypeStruct as ShapeDtypeStruct
    from funcgrad.transforms.shapes import eval_shape as eval_shape

__version__ = "0.1.0"

__all__ = [
    "ShapeDtypeStruct",
    "Tracer",
    "__version__",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_sequential",
    "cond",
    "custom_jvp",
    "custom_root",
    "custom_vjp",
    "debug",
    "elementwise_grad",
    "errors",
    "eval_shape",
    "everything_saved",
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
    "nn",
    "nothing_saved",
    "numpy",
    "optim",
    "remat",
    "save_only_these_names",
    "scan",
    "set_num_threads",
    "show",
    "stop_gradient",
    "switch",
    "tree",
    "value_and_grad",
    "value_grad_and_hvp",
    "vjp",
    "vmap",
    "while_loop",
]


_LATE = {
    "funcgrad.transforms.batching": "vmap",
    "funcgrad.transforms.checkpoint": "checkpoint checkpoint_sequential remat",
    "funcgrad.transforms.compile": "jit load set_num_threads",
    "funcgrad.transforms.custom": "custom_jvp custom_vjp",
    "funcgrad.transforms.linear": "linear_transpose",
    "funcgrad.transforms.branches": "cond switch",
    "funcgrad.transforms.loops": "fori_loop scan while_loop",
    "funcgrad.transforms.policies": "checkpoint_name everything_saved nothing_saved save_only_these_names",
    "funcgrad.transforms.products": "gnvp value_grad_and_hvp",
    "funcgrad.transforms.roots": "custom_root fixed_point",
    "funcgrad.transforms.shapes": "ShapeDtypeStruct eval_shape",
}
"""What most programs do without is imported when it is first used."""
_HOMES = {name: module for module, names in _LATE.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name in ("extend", "scipy", "testing"):
        return importlib.import_module(f"funcgrad.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'funcgrad' has no attribute {name!r}")
    globals()[name] = value = getattr(importlib.import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "extend", "scipy", "testing"})
