"""`jit`: the calls that a function makes, compiled to straight-line NumPy code."""

from funcgrad.transforms.compile.jitted import jit as jit
from funcgrad.transforms.compile.saved import load as load
from funcgrad.transforms.compile.threads import set_num_threads as set_num_threads
