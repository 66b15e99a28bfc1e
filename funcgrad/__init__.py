"""funcgrad: automatic differentiation of plain NumPy code, as composable functions over a tape."""

import importlib
from typing import Any

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
from funcgrad.transforms.derivatives import jacrev as jacrev
from funcgrad.transforms.forward import jvp as jvp
from funcgrad.transforms.forward import linearize as linearize
from funcgrad.transforms.inspect import make_tape as make_tape
from funcgrad.transforms.reverse import grad as grad
from funcgrad.transforms.reverse import value_and_grad as value_and_grad
from funcgrad.transforms.reverse import vjp as vjp
from funcgrad.transforms.stop import stop_gradient as stop_gradient

__version__ = "0.1.0"

__all__ = [
    "Tracer",
    "__version__",
    "debug",
    "elementwise_grad",
    "errors",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "make_tape",
    "nn",
    "numpy",
    "optim",
    "show",
    "stop_gradient",
    "tree",
    "value_and_grad",
    "vjp",
]


def __getattr__(name: str) -> Any:
    if name in ("scipy", "testing"):  # what most programs do without is imported when it is first used
        return importlib.import_module(f"funcgrad.{name}")
    raise AttributeError(f"module 'funcgrad' has no attribute {name!r}")
