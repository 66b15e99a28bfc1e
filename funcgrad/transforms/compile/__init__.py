"""`jit`: the calls that a function makes, compiled to straight-line NumPy code."""

from funcgrad.transforms.compile.jitted import jit as jit
