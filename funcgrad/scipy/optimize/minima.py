"""`minimize`, `least_squares` and `curve_fit`: SciPy's solvers, with the derivatives that they ask for supplied. Variables may be trees."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize as _optimize

from funcgrad import tree
from funcgrad.errors import InputTypeError, NoRuleError
from funcgrad.mapped import OPEN, TRACERS
from funcgrad.ops.scipy.examples import over_examples
from funcgrad.rules.values import is_complex, shape_of
from funcgrad.scipy.packing import Packing, as_vector
from funcgrad.scipy.signatures import by_name
from funcgrad.transforms.derivatives import hvp, jacfwd, jacrev
from funcgrad.transforms.implicit import checked, outside
from funcgrad.transforms.reverse import grad, value_and_grad

Function = Callable[..., Any]

_WITHOUT_GRADIENT = {"nelder-mead", "powell", "cobyla", "cobyqa"}
_WITH_PRODUCTS = {"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"}
_WITH_HESSIAN = {"dogleg", "trust-exact"}


def _refuse_tracers(user: str, *values: Any) -> None:
    """What is minimized has no derivative rule.

    Raises:
        NoRuleError: there is a tracer.
    """
    if any(type(leaf) in TRACERS for leaf in tree.leaves(values)):
        raise NoRuleError(
            f"scipy.optimize.{user} of tracers has no derivative rule: use funcgrad.scipy.optimize.root on the gradient, whose root is "
            "differentiable in args, or funcgrad.stop_gradient(x) where it is to count as a constant"
        )


# ------------------------------------------------------------------------------------------------ minimize


def _number(value: Any) -> Any:
    """A value of one element as a number: SciPy takes these for one."""
    return np.reshape(value, ()) if shape_of(value) in ((1,), (1, 1)) else value


class _Objective:
    """The function to minimize, and its derivatives, as functions of SciPy's vector. `gives_slope`: it gives (value, gradient)."""

    def __init__(self, fun: Function, x: Packing, gives_slope: bool) -> None:
        @functools.wraps(fun)
        def number(*args: Any) -> Any:
            return _number(fun(*args)[0] if gives_slope else fun(*args))

        self._fun, self._x = number, x
        self._value_and_grad, self._hvp = value_and_grad(number), hvp(number)

    def value(self, vector: Any, *args: Any) -> Any:
        return self._fun(self._x.restored(np.array(vector, float)), *args)

    def value_and_gradient(self, vector: Any, *args: Any) -> tuple[Any, Any]:
        value, gradient = self._value_and_grad(self._x.restored(np.array(vector, float)), *args)
        return value, self._x.packed(gradient, "the gradient")

    def hessp(self, vector: Any, direction: Any, *args: Any) -> Any:
        product = self._hvp(self._x.restored(np.array(vector, float)), *args, self._x.restored(np.array(direction, float)))
        return self._x.packed(product, "the product with the Hessian")

    def hessian(self, vector: Any, *args: Any) -> Any:
        def of_vector(vector: Any) -> Any:
            return self._fun(self._x.restored(vector), *args)

        return jacfwd(grad(of_vector))(np.array(vector, float))


def _given(f: Any, x: Packing, what: str) -> Any:
    """A gradient of the user's as a function of SciPy's vector: its trees as vectors. What is no function (a name, None) stays."""
    if not callable(f) or not x.is_tree:
        return f
    return lambda vector, *args: x.packed(f(x.restored(np.array(vector, float)), *args), what)


def _given_matrix(f: Any, x: Packing) -> Any:
    """A matrix of the user's as a function of SciPy's vector."""
    if not callable(f) or not x.is_tree:
        return f
    return lambda vector, *args, **kwargs: f(x.restored(np.array(vector, float)), *args, **kwargs)


def _given_product(f: Any, x: Packing) -> Any:
    """A product with the Hessian of the user's as a function of SciPy's vectors."""
    if not callable(f) or not x.is_tree:
        return f

    def product(vector: Any, direction: Any, *args: Any) -> Any:
        found = f(x.restored(np.array(vector, float)), x.restored(np.array(direction, float)), *args)
        return x.packed(found, "the product with the Hessian")

    return product


def _told(callback: Function | None, x: Packing) -> Function | None:
    """The user's callback, of the user's trees. SciPy looks at the name of its parameter."""
    if callback is None or not x.is_tree:
        return callback
    if set(inspect.signature(callback).parameters) == {"intermediate_result"}:

        def of_result(intermediate_result: Any) -> Any:
            if not isinstance(intermediate_result, _optimize.OptimizeResult):  # TNC gives the vector alone
                return callback(x.restored(np.array(intermediate_result, float)))
            intermediate_result.x = x.restored(intermediate_result.x)
            return callback(intermediate_result=intermediate_result)

        return of_result
    return lambda vector, *rest: callback(x.restored(np.array(vector, float)), *rest)


def _bounds(bounds: Any, x: Packing, x0: Any) -> Any:
    """Bounds for SciPy: its own as they are, for a tree a tree of pairs (low, high) of numbers, arrays or None."""
    if bounds is None or not x.is_tree or isinstance(bounds, _optimize.Bounds):
        return bounds
    leaves, treedef = tree.flatten(x0)
    pairs = treedef.flatten_up_to(bounds, "minimize: the tree of bounds")

    def end(n: int, default: float) -> Any:
        ends = [default if pair is None or pair[n] is None else pair[n] for pair in pairs]
        return np.concatenate([np.broadcast_to(one, np.shape(leaf)).ravel() for one, leaf in zip(ends, leaves, strict=True)])

    return _optimize.Bounds(end(0, -np.inf), end(1, np.inf))


def _constraint(constraint: Any, x: Packing) -> Any:
    """A constraint as a function of SciPy's vector, with its Jacobian supplied where none is given."""
    is_dict = isinstance(constraint, dict)
    if not is_dict and not isinstance(constraint, _optimize.NonlinearConstraint):
        return constraint
    fun, jac = (constraint["fun"], constraint.get("jac")) if is_dict else (constraint.fun, constraint.jac)
    plain = checked(fun, "minimize")

    def value(vector: Any, *args: Any) -> Any:
        return plain(x.restored(np.array(vector, float)), *args)

    def jacobian(vector: Any, *args: Any) -> Any:
        return jacrev(lambda vector: as_vector(fun(x.restored(vector), *args)))(np.array(vector, float))

    slope = _given_matrix(jac, x) if callable(jac) else jacobian
    if is_dict:
        return {**constraint, "fun": value, "jac": slope}
    return _optimize.NonlinearConstraint(value, constraint.lb, constraint.ub, slope, constraint.hess, constraint.keep_feasible)


def _fitted(constraints: Any, x: Packing) -> Any:
    return [_constraint(one, x) for one in constraints] if isinstance(constraints, (list, tuple)) else _constraint(constraints, x)


@over_examples
def minimize(
    fun: Function,
    x0: Any,
    args: Any = (),
    method: Any = None,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: float | None = None,
    callback: Function | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Minimize a function of a tree by SciPy's minimize, with gradients and products with the Hessian supplied.

    Args:
        fun: `(x, *args)` -> one real number, in NumPy and funcgrad's operations.
        x0: where to start: a number or a vector, as in SciPy, or a tree of arrays of any shape.
        args: tuple of further arguments.
        method: SciPy's. Newton-CG, trust-ncg, trust-krylov and trust-constr get products with the Hessian, dogleg and trust-exact the
            Hessian, Nelder-Mead, Powell, COBYLA and COBYQA values alone, all others gradients.
        jac: by default the gradient by reverse mode. Else SciPy's: a function that returns it (a tree for a tree), True if fun returns
            value and gradient, "2-point", ...
        hess: SciPy's; by default as said of the methods.
        hessp: SciPy's; by default as said of the methods.
        bounds: SciPy's, or for a tree x0 a tree with a pair (low, high) of numbers, arrays or None at each leaf.
        constraints: SciPy's. Functions in them take what fun takes; their Jacobians are supplied unless they are given.
        tol: SciPy's.
        callback: SciPy's, of a tree for a tree.
        options: SciPy's.

    Returns:
        SciPy's result, with `x` of the structure of x0, and `jac` likewise where it is the gradient. Under `vmap` each example is minimized
        for itself, and those fields are mapped that are numbers, or arrays of one shape; the others are lists.

    Raises:
        NoRuleError: a tracer among x0 and args.
        ConcretizationError: fun uses a traced value of the code around it.
        InputTypeError: the value of fun is not one real number.
        TreeError: bounds or a derivative that is no tree like x0.

    Example:
        >>> import numpy as np
        >>> def rosenbrock(p):
        ...     return np.sum(100.0 * (p["y"] - p["x"] ** 2) ** 2 + (1.0 - p["x"]) ** 2)
        >>> found = minimize(rosenbrock, {"x": np.zeros(2), "y": np.zeros(2)}, method="Newton-CG")
        >>> print(found.x["x"].round(3), found.x["y"].round(3))
        [1. 1.] [1. 1.]
    """
    _refuse_tracers("minimize", x0, args, bounds, tol, options)
    x = Packing(x0)
    if is_complex(x.vector):
        raise InputTypeError("minimize needs real variables, got complex ones: minimize over their real and imaginary parts")
    objective = _Objective(fun, x, jac is True)
    name = method.lower() if isinstance(method, str) else ""
    called: Any = checked(objective.value, "minimize")
    if jac is None and name not in _WITHOUT_GRADIENT:
        called, jac = objective.value_and_gradient, True
        if OPEN:  # a tracer of the code around would be found stale, a mapped value is not
            called = checked(called, "minimize")
    elif jac is True:

        def called(vector: Any, *args: Any) -> Any:
            value, gradient = fun(x.restored(np.array(vector, float)), *args)
            return value, x.packed(gradient, "the gradient") if x.is_tree else gradient

    products, matrix = _given_product(hessp, x), _given_matrix(hess, x)
    if hess is None and hessp is None:
        products = objective.hessp if name in _WITH_PRODUCTS else None
        matrix = objective.hessian if name in _WITH_HESSIAN else None
    with outside("minimize"):
        result = _optimize.minimize(
            called, x.vector, args, method, _given(jac, x, "the gradient"), matrix, products, _bounds(bounds, x, x0),
            _fitted(constraints, x), tol, _told(callback, x), options,
        )  # fmt: skip
    if x.is_tree:
        for field in ("x", "jac", "grad"):
            if np.shape(result.get(field)) == x.vector.shape:
                result[field] = x.restored(result[field])
    return result


# ------------------------------------------------------------------------------------------------ least squares


@over_examples
def least_squares(fun: Function, x0: Any, jac: Any = None, bounds: Any = (-np.inf, np.inf), *rest: Any, **options: Any) -> Any:
    """Minimize a sum of squares by SciPy's least_squares, with the Jacobian of the residuals supplied.

    Args:
        fun: `(x, *args, **kwargs)` -> residuals, an array or a tree of arrays, in NumPy and funcgrad's operations.
        x0: where to start: a number or a vector, as in SciPy, or a tree of arrays of any shape.
        jac: by default the Jacobian by forward mode. Else SciPy's: a function that returns it, shape (residuals, variables), "2-point", ...
        bounds: SciPy's: a pair of lower and upper bounds, which may be trees like x0.
        *rest: SciPy's further arguments by position.
        **options: SciPy's; args and kwargs among them.

    Returns:
        SciPy's result, with `x` of the structure of x0.

    Raises:
        NoRuleError: a tracer among x0 and args.
        ConcretizationError: fun uses a traced value of the code around it.

    Example:
        >>> import numpy as np
        >>> t = np.linspace(0.0, 1.0, 9)
        >>> residuals = lambda p: p["size"] * np.exp(-p["rate"] * t) - 2.0 * np.exp(-3.0 * t)
        >>> found = least_squares(residuals, {"size": 1.0, "rate": 1.0})
        >>> print(round(found.x["size"], 6), round(found.x["rate"], 6))
        2.0 3.0
    """
    options = by_name(_optimize.least_squares, 4, rest, options)
    _refuse_tracers("least_squares", x0, options)
    x = Packing(x0)

    def residuals(vector: Any, *args: Any, **kwargs: Any) -> Any:
        return Packing(fun(x.restored(vector), *args, **kwargs)).vector

    def value(vector: Any, *args: Any, **kwargs: Any) -> Any:
        return residuals(np.array(vector, float), *args, **kwargs)

    def jacobian(vector: Any, *args: Any, **kwargs: Any) -> Any:
        return jacfwd(lambda vector: residuals(vector, *args, **kwargs))(np.array(vector, float))

    if x.is_tree and isinstance(bounds, (list, tuple)):
        bounds = tuple(one if isinstance(one, (int, float)) else x.packed(one, "least_squares: bounds") for one in bounds)
    with outside("least_squares"):
        result = _optimize.least_squares(
            checked(value, "least_squares"), x.vector, jacobian if jac is None else _given_matrix(jac, x), bounds, **options
        )
    result.x = x.restored(result.x)
    return result


@over_examples
def curve_fit(f: Function, xdata: Any, ydata: Any, p0: Any = None, *args: Any, **options: Any) -> Any:
    """Fit a function to data by SciPy's curve_fit, with the Jacobian in the parameters supplied.

    Args:
        f: `(xdata, *parameters)` -> values like ydata, in NumPy and funcgrad's operations.
        xdata: what f takes first.
        ydata: the values to fit, shape (n,).
        p0: parameters to start from; by default ones.
        *args: SciPy's further arguments.
        **options: SciPy's; with a jac of your own ("2-point", or a function) that is used.

    Returns:
        SciPy's: the parameters, shape (number of parameters,), and their covariance; more with full_output=True.

    Raises:
        NoRuleError: a tracer among the arguments.
        ConcretizationError: f uses a traced value of the code around it.

    Example:
        >>> import numpy as np
        >>> t = np.linspace(0.0, 1.0, 9)
        >>> parameters, _ = curve_fit(lambda t, size, rate: size * np.exp(-rate * t), t, 2.0 * np.exp(-3.0 * t))
        >>> print(parameters.round(6))
        [2. 3.]
    """
    _refuse_tracers("curve_fit", xdata, ydata, p0, args, options)

    def jacobian(xdata: Any, *parameters: Any) -> Any:
        return jacfwd(lambda vector: f(xdata, *vector))(np.array(parameters, float))

    if options.get("jac") is None and len(args) < 6:
        options["jac"] = jacobian
    with outside("curve_fit"):
        return _optimize.curve_fit(checked(f, "curve_fit"), xdata, ydata, p0, *args, **options)
