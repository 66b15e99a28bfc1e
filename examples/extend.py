"""A primitive of one's own: SciPy's sparse solver, compiled code that no one can look into, made differentiable in a dozen lines.

`python -m examples.extend` finds a disc of other conductivity in a heated plate from a few thermometers. The temperatures solve a sparse
system of equations; L-BFGS gets its gradients through the solver, the Hessian there says how sure the answer is, and least squares with
differences, which need no derivative, find the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from examples import options, plots
from examples.differences import gradient_by_differences
from examples.tables import counted, print_table
from funcgrad import extend, grad, hessian, value_and_grad
from funcgrad.testing import check_grads

try:
    import scipy.optimize
    from scipy.sparse import csc_matrix
    from scipy.sparse.linalg import spsolve

    from funcgrad.scipy.optimize import minimize
except ImportError:
    spsolve = None

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[Any]

NAMES = ("x", "y", "radius", "log conductivity")
TRUE = np.array([0.58, 0.44, 0.2, np.log(4.0)])
START = np.array([0.5, 0.5, 0.25, 0.5])
NOISE = 0.0005  # of a thermometer; the hottest point is at about 0.06
EDGE = 0.03  # over which the conductivity goes from one value to the other

# ------------------------------------------------------------------------------------------------ the primitive


def _solve(values: Array, b: Array, rows: Array, columns: Array) -> Array:
    """The x with A x = b, where A has these values in these places, and zeros elsewhere."""
    found: Array = spsolve(csc_matrix((values, (rows, columns)), shape=(len(b), len(b))), b)
    return found


# From A dx = db - dA x. The transpose of A is A with rows and columns exchanged. What follows `values` and `b` has no derivative.
solve: Any = extend.general(
    _solve,
    jvps=[
        lambda t, x, values, b, rows, columns: -solve(values, np.bincount(rows, t * x[columns], len(x)), rows, columns),
        lambda t, x, values, b, rows, columns: solve(values, t, rows, columns),
    ],
    vjps=[
        lambda ct, x, values, b, rows, columns: -solve(values, ct, columns, rows)[rows] * x[columns],
        lambda ct, x, values, b, rows, columns: solve(values, ct, columns, rows),
    ],
    name="examples.solve",
)


def check() -> None:
    """Hold first and second derivatives of the primitive, in forward and reverse mode, against differences."""
    rng = np.random.default_rng(0)
    places = np.arange(6)
    rows, columns = np.concatenate([places, places[1:], places[:-2]]), np.concatenate([places, places[:-1], places[2:]])
    values = np.concatenate([rng.uniform(3.0, 4.0, 6), rng.uniform(-1.0, 1.0, 9)])
    check_grads(lambda values, b: solve(values, b, rows, columns), (values, rng.normal(size=6)), order=2)


# ------------------------------------------------------------------------------------------------ the plate


class Plate(NamedTuple):
    """A square plate of `size` by `size` points between cold edges: where its matrix has values, and where its thermometers are.

    Attributes:
        size: points a side.
        middles: the middle of each link between two neighbors, and after these of each link to an edge; shape (links, 2).
        inner: the number of links between neighbors.
        rows: the row of each value of the matrix.
        columns: its column.
        sensors: the points that have a thermometer.
    """

    size: int
    middles: Array
    inner: int
    rows: Array
    columns: Array
    sensors: Array


def make_plate(size: int = 23) -> Plate:
    """Lay out a plate of the unit square.

    Args:
        size: points a side; 25 of them have a thermometer.
    """
    numbers = np.arange(size * size).reshape(size, size)
    line = np.arange(1, size + 1) / (size + 1)
    points = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    first = np.concatenate([numbers[:-1].ravel(), numbers[:, :-1].ravel()])
    second = np.concatenate([numbers[1:].ravel(), numbers[:, 1:].ravel()])
    sides = [(numbers[0], (-1, 0)), (numbers[-1], (1, 0)), (numbers[:, 0], (0, -1)), (numbers[:, -1], (0, 1))]
    edge = np.concatenate([side for side, _ in sides])
    outward = np.concatenate([np.tile(step, (size, 1)) for _, step in sides]) / (2 * (size + 1))
    middles = np.concatenate([(points[first] + points[second]) / 2, points[edge] + outward])
    rows, columns = np.concatenate([first, second, first, second, edge]), np.concatenate([first, second, second, first, edge])
    some = np.linspace(0, size - 1, 7).round().astype(int)[1:-1]
    return Plate(size, middles, len(first), rows, columns, numbers[np.ix_(some, some)].ravel())


def conductivity(disc: Any, points: Array) -> Any:
    """The conductivity at some points: 1, but another value on a disc, of which `disc` is (x, y, radius, logarithm of that value)."""
    distance = np.sqrt((points[:, 0] - disc[0]) ** 2 + (points[:, 1] - disc[1]) ** 2)
    return 1.0 + (np.exp(disc[3]) - 1.0) / (1.0 + np.exp((distance - disc[2]) / EDGE))


def temperatures(disc: Any, plate: Plate, solver: Callable[..., Any] = solve) -> Any:
    """The temperatures of all points of the plate, evenly heated, its edges at 0."""
    links = conductivity(disc, plate.middles)
    inner = links[: plate.inner]
    values = np.concatenate([inner, inner, -inner, -inner, links[plate.inner :]])
    heat = np.full(plate.size**2, 1.0 / (plate.size + 1) ** 2)
    return solver(values, heat, plate.rows, plate.columns)


def measure(plate: Plate, seed: int = 0) -> Array:
    """What the thermometers show of the plate with the true disc."""
    exact: Array = temperatures(TRUE, plate, _solve)[plate.sensors]
    return exact + np.random.default_rng(seed).normal(0.0, NOISE, len(exact))


def residuals(disc: Any, plate: Plate, measured: Array, solver: Callable[..., Any] = solve) -> Any:
    """How far the thermometers are from the temperatures of a plate with this disc, in units of their noise."""
    return (temperatures(disc, plate, solver)[plate.sensors] - measured) / NOISE


def loss(disc: Any, plate: Plate, measured: Array) -> Any:
    """Half the sum of their squares: minus the logarithm of the likelihood."""
    return 0.5 * np.sum(residuals(disc, plate, measured) ** 2)


# ------------------------------------------------------------------------------------------------ the fits


class Fit(NamedTuple):
    """A disc that was found, the standard error of each of its numbers, and how often the system of equations was set up."""

    disc: Array
    errors: Array
    loss: float
    evaluations: int


def fit(plate: Plate, measured: Array) -> Fit:
    """Minimize the loss by L-BFGS with gradients; the errors are those that the inverse of the Hessian gives."""
    strict = {"ftol": 1e-13, "gtol": 1e-6, "maxiter": 500}
    found = minimize(loss, START, (plate, measured), method="L-BFGS-B", options=strict)
    covariance = np.linalg.inv(hessian(loss)(found.x, plate, measured))
    return Fit(found.x, np.sqrt(np.diag(covariance)), float(found.fun), int(found.nfev))


def fit_by_differences(plate: Plate, measured: Array) -> Fit:
    """The same by nonlinear least squares, with SciPy's own solver and the Jacobian by central differences."""
    calls = []

    def counted_residuals(disc: Array) -> Array:
        calls.append(1)
        found: Array = residuals(disc, plate, measured, _solve)
        return found

    found = scipy.optimize.least_squares(counted_residuals, START, "3-point", xtol=1e-14, ftol=1e-14, gtol=1e-14)
    covariance = np.linalg.inv(found.jac.T @ found.jac)  # without second derivatives of the temperatures
    return Fit(found.x, np.sqrt(np.diag(covariance)), float(found.cost), len(calls))


def draw_plate(figure: Figure, plate: Plate, found: Array) -> None:
    """The temperatures, the thermometers, the true disc and the one that was found."""
    figure.set_size_inches(5.8, 4.8)
    axes = figure.subplots()
    warm = np.pad(temperatures(TRUE, plate, _solve).reshape(plate.size, plate.size), 1)
    line = np.linspace(0.0, 1.0, plate.size + 2)
    picture = axes.contourf(line, line, warm.T, levels=15, cmap="inferno")
    figure.colorbar(picture, ax=axes, label="temperature")
    middles = line[1:-1]
    axes.plot(middles[plate.sensors // plate.size], middles[plate.sensors % plate.size], "k.", label="thermometer")
    turn = np.linspace(0.0, 2.0 * np.pi, 200)
    discs = {"start": (START, ":", "white"), "true disc": (TRUE, "-", "white"), "found": (found, "--", "black")}
    for name, (disc, style, color) in discs.items():
        axes.plot(disc[0] + disc[2] * np.cos(turn), disc[1] + disc[2] * np.sin(turn), style, color=color, linewidth=1.8, label=name)
    axes.set_aspect("equal")
    axes.legend(loc="upper left", fontsize="small", facecolor="0.6")
    plots.label(axes, "A heated plate and the disc in it", "x", "y")
    axes.grid(visible=False)


def _milliseconds(call: Callable[[], Any], repeats: int = 5) -> float:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return 1e3 * min(seconds)


def main(argv: Sequence[str] | None = None) -> None:
    """Check the primitive, find the disc in two ways, print both, save the picture."""
    parser = options.make_parser("extend", "A sparse solver of SciPy's as a primitive, and a disc in a plate found by its gradients.")
    parser.add_argument("--size", type=options.positive_int, default=23, metavar="N", help="points a side (default: %(default)s)")
    parser.add_argument("--seed", type=options.seed, default=0, help="of the noise (default: %(default)s)")
    options.add_out(parser)
    given = parser.parse_args(argv)
    if given.size < 11:
        parser.error(f"argument --size: got {given.size}, wanted at least 11, for the disc to be seen")
    if spsolve is None:
        raise SystemExit('error: this example needs SciPy: pip install scipy, or pip install -e ".[scipy]".')
    plots.make_folder(given.out)

    check()
    print("scipy.sparse.linalg.spsolve as a primitive: first and second derivatives, forward and reverse, agree with differences")
    plate = make_plate(given.size)
    measured = measure(plate, given.seed)
    print(f"A plate of {given.size} x {given.size} points, {len(plate.sensors)} thermometers, a disc to be found")
    by_rule, by_differences = (gradient(START) for gradient in _gradients(plate, measured))
    print_table(
        ["", "ms", "largest relative error"],
        [
            ["temperatures", f"{_milliseconds(lambda: temperatures(START, plate)):.2f}", ""],
            [
                "value and gradient of the misfit",
                f"{_milliseconds(lambda: value_and_grad(loss)(START, plate, measured)):.2f}",
                f"{np.max(np.abs(by_rule / by_differences - 1.0)):.1e}",
            ],
        ],
    )

    best, other = fit(plate, measured), fit_by_differences(plate, measured)
    print(f"L-BFGS with gradients through the solver ({counted(best.evaluations, 'evaluation')}) beside least squares by differences")
    rows = zip(NAMES, TRUE, START, best.disc, best.errors, other.disc, other.errors, strict=True)
    print_table(
        ["of the disc", "true", "start", "L-BFGS", "+-", "differences", "+-"],
        [[name, *(f"{number:.4f}" for number in numbers)] for name, *numbers in rows],
    )
    print(f"  largest difference between the two: {np.max(np.abs(best.disc - other.disc)):.1e}")
    print(f"  half the squared misfit: {best.loss:.4f} and {other.loss:.4f} of {len(measured)} thermometers")
    plots.save(given.out, {"extend-plate": lambda figure: draw_plate(figure, plate, best.disc)})


def _gradients(plate: Plate, measured: Array) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
    """The gradient of the loss by the rules of the primitive, and by differences."""
    return lambda disc: grad(loss)(disc, plate, measured), lambda disc: gradient_by_differences(lambda d: loss(d, plate, measured), disc)


if __name__ == "__main__":
    main()
