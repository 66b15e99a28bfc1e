"""`funm`: any function of a Hermitian matrix, differentiable where eigenvalues are equal too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import tree
from funcgrad.errors import InputTypeError, InputValueError
from funcgrad.ops.arrays.creation import asarray
from funcgrad.ops.scipy.examples import over_examples
from funcgrad.ops.scipy.funm import MatrixFunction, is_hermitian, matrix_function
from funcgrad.rules.batching import by_examples
from funcgrad.rules.values import raw, shape_of
from funcgrad.transforms.forward import jvp
from funcgrad.transforms.implicit import Arguments, checked, outside


class _Derivatives:
    """The derivatives of a function of numbers, of which those that are traced in its arguments are parameters."""

    def __init__(self, func: Callable[..., Any], arguments: Arguments) -> None:
        self._func = func
        self._arguments = arguments
        self._restored = tree.ravel([raw(one) for one in arguments.operands])[1]

    def _at(self, x: Any, parameters: Any) -> Any:
        answer = self._func(x, *self._arguments.filled(self._restored(parameters)))
        if shape_of(answer) != shape_of(x):
            raise InputValueError(
                f"funm: func must give a number for each eigenvalue: for an array of shape {shape_of(x)} it gave {shape_of(answer)}"
            )
        dtype = np.result_type(raw(answer))
        if dtype.kind not in "fc":
            raise InputTypeError(f"funm: func gave numbers of dtype {dtype}, which have no derivative")
        return answer

    def __call__(self, x: np.ndarray, parameters: np.ndarray, order: int) -> Any:
        f: Callable[[Any, Any], Any] = self._at
        for direction in parameters[1:]:
            f = _in_parameters(f, direction)
        for _ in range(order):
            f = _in_x(f)
        with outside("funm"):
            return checked(f, "funm")(x, parameters[0])


def _in_parameters(f: Callable[[Any, Any], Any], direction: Any) -> Callable[[Any, Any], Any]:
    return lambda x, parameters: jvp(lambda parameters: f(x, parameters), (parameters,), (direction,))[1]


def _in_x(f: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, parameters: jvp(lambda x: f(x, parameters), (x,), (np.ones_like(raw(x)),))[1]


@over_examples
@by_examples
def funm(A: Any, func: Callable[..., Any], disp: bool = True, *, args: Any = ()) -> Any:
    """scipy.linalg.funm: the function of a matrix that func makes of its eigenvalues, V diag(func(w)) V^H for a Hermitian one.

    Derivatives are those of f(A) in all entries of A, of any order, by divided differences of func: exact where eigenvalues are equal or
    almost so, where those of `numpy.linalg.eigh` lack a part. The gradient at a Hermitian matrix is not that in one triangle, as eigh's:
    A counts as a general matrix, of which both triangles are read. Symmetrize, (X + X.T) / 2, where A is made of one.

    Where func's derivative is analytic within some 20 times the distance of eigenvalues, the error is one of rounding, whatever that
    distance. Elsewhere (a kink between the two, an oscillation) it is that of a quotient: func's own, divided by the distance. A k-th
    derivative takes n**(k + 1) numbers of memory.

    Args:
        A: Hermitian (to rounding) float or complex matrices, shape (..., n, n): func gets real numbers then, and plain values too are
            computed in this way. One matrix that is not Hermitian has SciPy's value, by Schur's form; its derivatives, in which func gets
            complex numbers, are by its eigenvectors, which must be independent.
        func: `(w, *args)` -> numbers of w's shape (n,), each depending on that element alone, in plain NumPy. What is traced must come
            through args.
        disp: False to get an estimate of the error too, as SciPy's.
        args: tuple of further arguments, trees of anything; the floating-point numbers and arrays in them are differentiated.

    Returns:
        f(A), shape (..., n, n); `(f(A), error)` if disp is False. Under `vmap` it is computed for one example after the other.

    Raises:
        ConcretizationError: func uses a traced value that did not come through its arguments.
        InputValueError: func's result has another shape.
        InputTypeError: func's result is not of floating-point numbers.
        NoRuleError: func uses an operation that has no rule; derivatives of a matrix that is not Hermitian, of dependent eigenvectors.

    Example:
        >>> from funcgrad import grad
        >>> W = np.array([[1.0, 2.0], [2.0, 5.0]])
        >>> print(grad(lambda a: np.sum(W * funm(a, lambda w: w**2)))(np.eye(2)))  # W A + A W
        [[ 2.  4.]
         [ 4. 10.]]
        >>> power = lambda p: np.trace(funm(np.diag([1.0, 4.0]), lambda w, p: w**p, args=(p,)))
        >>> print(round(grad(power)(0.5), 9))  # 2 log(4)
        2.772588722

    References:
        Higham, Functions of Matrices: Theory and Computation, 2008, chapter 3.
    """
    a = asarray(A)
    shape = shape_of(a)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise InputValueError(f"funm takes square matrices, shape (..., n, n), got shape {shape}")
    if a.dtype.kind in "biu":
        a = a.astype(float)
    arguments = Arguments(args if isinstance(args, tuple) else (args,))
    f = MatrixFunction(_Derivatives(func, arguments))
    parameters = tree.ravel(arguments.operands)[0][None]
    value = matrix_function(a, np.empty((1, 0, *shape), a.dtype), parameters, f)
    if disp:
        return value
    plain = raw(a)
    error = float(np.finfo(plain.dtype).eps) if is_hermitian(plain) else f.of_schur_form(plain, raw(parameters), False)[1]
    return value, error
