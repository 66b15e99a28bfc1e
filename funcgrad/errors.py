"""The exceptions and warnings of funcgrad. Each is also the builtin that a caller would expect, so `except TypeError` keeps working."""

from __future__ import annotations


class FuncgradError(Exception):
    """The parent of every error that funcgrad raises of its own."""


class InputTypeError(FuncgradError, TypeError):
    """A value of a kind that cannot be used here: an integer array to differentiate, a non-scalar output of grad, ..."""


class InputValueError(FuncgradError, ValueError):
    """A value of the right kind that is out of range or of the wrong shape."""


class TreeError(FuncgradError, ValueError):
    """Two trees whose structures differ where they must be the same, or a structure that cannot be built."""


class NoRuleError(FuncgradError, NotImplementedError):
    """An operation on a tracer that has no derivative rule."""


class StaleTracerError(FuncgradError, RuntimeError):
    """A tracer that was used after the transform that made it had ended, or by a transform of another thread."""


class ConcretizationError(FuncgradError, TypeError):
    """A tracer where a plain number or array is needed: float(t), int(t), np.asarray(t), writing it into an array."""


class ConvergenceError(FuncgradError, RuntimeError):
    """An iteration that does not converge: of a fixed point, or of the linear system of its derivative."""


class CheckError(FuncgradError, AssertionError):
    """A derivative that a checker of `funcgrad.testing` found wrong."""


class DegenerateWarning(RuntimeWarning):
    """A derivative that may lack a part: eigenvalues or singular values repeat, and their vectors among themselves have none."""
