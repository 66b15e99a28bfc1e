"""All transforms in one form, for tests that hold for each: `run(f, x)` with f a function of one argument whose output is one number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import (
    checkpoint,
    elementwise_grad,
    gnvp,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    make_tape,
    value_and_grad,
    value_grad_and_hvp,
    vjp,
)
from funcgrad.debug import count_records

Run = Callable[[Callable[[Any], Any], Any], Any]

TRANSFORMS: dict[str, Run] = {
    "grad": lambda f, x: grad(f)(x),
    "value_and_grad": lambda f, x: value_and_grad(f)(x),
    "vjp": lambda f, x: vjp(f, x),
    "jvp": lambda f, x: jvp(f, (x,), (x,)),
    "linearize": lambda f, x: linearize(f, x),
    "jacfwd": lambda f, x: jacfwd(f)(x),
    "jacrev": lambda f, x: jacrev(f)(x),
    "hessian": lambda f, x: hessian(f)(x),
    "hvp": lambda f, x: hvp(f)(x, x),
    "elementwise_grad": lambda f, x: elementwise_grad(f)(x),
    "make_tape": lambda f, x: make_tape(f)(x),
}
each_transform = pytest.mark.parametrize("run", list(TRANSFORMS.values()), ids=list(TRANSFORMS))

RUNS: dict[str, Run] = {
    **TRANSFORMS,
    "elementwise_grad": lambda f, x: elementwise_grad(lambda x: x * f(x))(x),
    "count_records": lambda f, x: count_records(f, x),
    "value_grad_and_hvp": lambda f, x: value_grad_and_hvp(f)(x, x),
    "gnvp": lambda f, x: gnvp(f, lambda y: y * y)(x, x),
    "grad of checkpoint": lambda f, x: grad(checkpoint(f))(x),
    "grad of grad": lambda f, x: grad(lambda x: np.sum(grad(f)(x)))(x),
    "grad of jvp": lambda f, x: grad(lambda x: jvp(f, (x,), (x,))[1])(x),
    "jvp of grad": lambda f, x: jvp(lambda x: np.sum(grad(f)(x)), (x,), (x,)),
    "jvp of jvp": lambda f, x: jvp(lambda x: jvp(f, (x,), (x,))[1], (x,), (x,)),
    "jvp of vjp": lambda f, x: jvp(lambda x: vjp(f, x)[1](np.float64(1.0))[0], (x,), (x,)),
}
each_run = pytest.mark.parametrize("run", list(RUNS.values()), ids=list(RUNS))
