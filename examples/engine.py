"""Derivatives of scalar expressions: the tape as a table, both modes, and every rule beside central differences.

`python -m examples.engine` prints each and draws the rules' errors; with `--against torch` or `--against jax` it prints the same gradients
by that library too.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from examples import options, peers, plots
from examples.differences import difference
from examples.tables import print_table
from funcgrad import debug, grad, jvp, make_tape, nn, tree, value_and_grad

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def parabola(x: Any) -> Any:
    """A parabola, of slope 6x - 4."""
    return 3 * x**2 - 4 * x + 5


def squared_sum(x: Any, y: Any) -> Any:
    """Five records on the tape, with x used twice."""
    return (x * y + x) ** 2


def square_of_square(x: Any) -> Any:
    """The fourth power, by way of a value that is used twice."""
    y = x * x
    return y * y


def tanh_of_cubic(x: Any) -> Any:
    """A cubic, squashed into -1 to 1."""
    return np.tanh(x**3 + 3 * x)


def wave(x: Any) -> Any:
    """A growing wave on a parabola."""
    return np.sin(x) * np.exp(x) + x**2


def branching(a: Any, b: Any) -> Any:
    """A function that takes one of two ways by a plain Python `if`."""
    c = a * b + b**3
    d = np.tanh(c / a) + 0.001 * np.exp(c)
    result = nn.relu(d - a)
    if b * d > 0:
        return result + np.log(b * d)
    return result


def neuron_loss(w1: Any, w2: Any, bias: Any) -> Any:
    """The error of one tanh neuron with inputs 1 and 2 that is to answer 1."""
    return (np.tanh(w1 * 1.0 + w2 * 2.0 + bias) - 1.0) ** 2


def composed_sigmoid(x: Any) -> Any:
    """The sigmoid written out in other operations."""
    return 1.0 / (1.0 + np.exp(-x))


class Expression(NamedTuple):
    """An expression, where it is taken, and how many decimals of value and gradient are shown."""

    text: str
    f: Callable[..., Any]
    at: tuple[float, ...]
    decimals: tuple[int, int]


EXPRESSIONS = (
    Expression("3x**2 - 4x + 5", parabola, (3.0,), (0, 0)),
    Expression("(x*y + x)**2", squared_sum, (2.0, -3.0), (0, 0)),
    Expression("a*b + a", lambda a, b: a * b + a, (3.0, 4.0), (0, 0)),
    Expression("a + a", lambda a: a + a, (3.0,), (0, 0)),
    Expression("a*a", lambda a: a * a, (3.0,), (0, 0)),
    Expression("(x*x)*(x*x)", square_of_square, (2.0,), (0, 0)),
    Expression("relu(a*b - c) + a**2", lambda a, b, c: nn.relu(a * b - c) + a**2, (3.0, -1.0, -5.0), (0, 0)),
    Expression("tanh(x**3 + 3x)", tanh_of_cubic, (0.5,), (6, 10)),
    Expression("g(a, b) with a Python if", branching, (1.5, 0.8), (8, 8)),
    Expression("sin(x)exp(x) + x**2", wave, (1.0,), (10, 10)),
    Expression("sigmoid(x)", nn.sigmoid, (0.7,), (6, 6)),
    Expression("(tanh(w1 + 2w2 + b) - 1)**2", neuron_loss, (0.5, -0.3, 0.1), (0, 0)),
)

# The nine rules that the expressions above are made of, each at points away from its kinks and poles.
RULES: dict[str, tuple[Callable[..., Any], list[tuple[float, ...]]]] = {
    "+": (lambda x, y: x + y, [(1.5, -0.7), (-2.0, 3.0)]),
    "-": (lambda x, y: x - y, [(1.5, -0.7), (-2.0, 3.0)]),
    "*": (lambda x, y: x * y, [(1.5, -0.7), (-2.0, 3.0)]),
    "/": (lambda x, y: x / y, [(1.5, -0.7), (-2.0, 3.0)]),
    "**": (lambda x, y: x**y, [(1.5, -0.7), (2.0, 3.0)]),
    "exp": (np.exp, [(-1.2,), (0.4,), (1.3,)]),
    "log": (np.log, [(0.5,), (1.0,), (3.0,)]),
    "tanh": (np.tanh, [(-1.2,), (0.1,), (0.9,)]),
    "relu": (nn.relu, [(-1.2,), (0.1,), (0.9,)]),
}


def gradient(f: Callable[..., Any], at: Sequence[float]) -> tuple[float, ...]:
    """The derivative of f in each of its arguments."""
    found: tuple[float, ...] = grad(f, argnums=tuple(range(len(at))))(*at)
    return found


def nudge(f: Callable[[float], float], x: float, step: float = 0.0001) -> float:
    """How much f changes for a small step of x, a step of one."""
    return (f(x + step) - f(x)) / step


def recursive_walk(f: Callable[[Any], Any], x: float) -> float:
    """The derivative of a product of products by a walk that goes wrong: from each value to its parents, not in the tape's order.

    A value that is used twice is visited twice, and the second visit passes on what the first already has.

    Args:
        f: a function of one number that only multiplies.
        x: where.
    """
    rows = {row.name: row for row in make_tape(f)(x).rows}
    found = dict.fromkeys(rows, 0.0)

    def visit(name: str) -> None:
        if rows[name].operation == "*":
            left, right = rows[name].parents
            found[left] += found[name] * rows[right].value
            found[right] += found[name] * rows[left].value
            visit(left)
            visit(right)

    first, *_, last = rows
    found[last] = 1.0
    visit(last)
    return found[first]


def fit_loss(params: dict[str, Any], x: Any, y: Any) -> Any:
    """The squared errors of a straight line, summed."""
    return np.sum((params["slope"] * x + params["intercept"] - y) ** 2)


def micro_batches(parts: int = 4) -> tuple[dict[str, float], dict[str, float]]:
    """The gradient of a sum over 8 points, at once and as the sum of the gradients of its parts."""
    x = np.linspace(-1.0, 1.0, 8)
    y = 2.0 * x + 0.5
    params = {"slope": 0.3, "intercept": -0.1}
    summed = {"slope": 0.0, "intercept": 0.0}
    for x_part, y_part in zip(np.split(x, parts), np.split(y, parts), strict=True):
        summed = tree.map(lambda total, part: total + part, summed, grad(fit_loss)(params, x_part, y_part))
    return grad(fit_loss)(params, x, y), summed


def train_neuron(rate: float = 0.1) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The gradient of `neuron_loss`, and the parameters after one step down it."""
    params = (0.5, -0.3, 0.1)
    slopes = gradient(neuron_loss, params)
    return slopes, tree.map(lambda param, slope: param - rate * slope, params, slopes)


def rule_errors() -> dict[str, float]:
    """How far each rule is from central differences, the worst over its points and arguments."""
    errors = {}
    for name, (f, points) in RULES.items():
        gaps = []
        for at in points:
            for place, slope in enumerate(gradient(f, at)):
                wanted = difference(lambda x, at=at, place=place, f=f: f(*at[:place], x, *at[place + 1 :]), at[place])  # type: ignore[misc]
                gaps.append(abs(slope - wanted))
        errors[name] = float(max(gaps))
    return errors


def draw_rules(figure: Figure, errors: dict[str, float]) -> None:
    """A bar for each rule's error, on a log axis, with the bound that all are to stay below."""
    plots.draw_errors(figure, errors, "Nine rules against central differences", "rule", "largest absolute error (log scale)")


def _numbers(values: Sequence[float], decimals: int = 0) -> str:
    return ", ".join(f"{value:.{decimals}f}" for value in values)


def print_against(peer: str) -> None:
    """Print the peer's gradients beside funcgrad's, or why there are none."""
    try:
        found = peers.gradients(peer, {one.text: one.at for one in EXPRESSIONS})
    except ImportError as error:
        print(f"Nothing to compare with: {peer} is not installed here ({error}).")
        return
    rows = []
    for text, f, at, (_, decimals) in EXPRESSIONS:
        ours, theirs = gradient(f, at), found[text]
        gap = max(abs(a - b) for a, b in zip(ours, theirs, strict=True))
        rows.append([text, _numbers(ours, decimals), _numbers(theirs, decimals), f"{gap:.1e}"])
    print(f"The same gradients by {peer}")
    print_table(["expression", "funcgrad", peer, "difference"], rows)


def main(argv: Sequence[str] | None = None) -> None:
    """Print every derivative, save the bar plot."""
    parser = options.make_parser("engine", "Derivatives of scalar expressions, the tape as a table, rules beside differences.")
    parser.add_argument("--against", choices=peers.PEERS, help="take the same gradients with this library, where it is installed")
    options.add_out(parser)
    given = parser.parse_args(argv)
    plots.make_folder(given.out)

    print("The derivative as a nudge: 3x**2 - 4x + 5 at 3")
    print_table(["by", "derivative"], [["h = 0.0001", f"{nudge(parabola, 3.0):.6f}"], ["grad", f"{grad(parabola)(3.0):.0f}"]])

    print("The tape of (x*y + x)**2 at x = 2, y = -3")
    print(textwrap.indent(str(make_tape(squared_sum)(2.0, -3.0)), "  "))

    print("Expressions, their values and gradients")
    rows = []
    for text, f, at, (value_decimals, decimals) in EXPRESSIONS:
        rows.append([text, ", ".join(f"{x:g}" for x in at), f"{f(*at):.{value_decimals}f}", _numbers(gradient(f, at), decimals)])
    print_table(["expression", "at", "value", "gradient"], rows)

    print("A value that is used twice: (x*x)*(x*x) at 2")
    print_table(
        ["walk", "derivative"],
        [
            ["backwards along the tape", f"{grad(square_of_square)(2.0):.0f}"],
            ["recursive, without order", f"{recursive_walk(square_of_square, 2.0):.0f}"],
        ],
    )

    print("Gradients are pure: sum(w**2) at [1, -2], asked three times; a batch of 8 in four parts")
    asked = [str(grad(lambda w: np.sum(w**2))(np.array([1.0, -2.0])).tolist()) for _ in range(3)]
    full, summed = micro_batches()
    print_table(
        ["gradient", "answer"],
        [
            ["three times", ", ".join(asked)],
            ["full batch", ", ".join(f"{name} {slope:.6f}" for name, slope in full.items())],
            ["sum of parts", ", ".join(f"{name} {slope:.6f}" for name, slope in summed.items())],
        ],
    )

    print("Forward and reverse mode")
    rows = []
    for text, f, x in (("tanh(x**3 + 3x) at 0.5", tanh_of_cubic, 0.5), ("sin(x)exp(x) + x**2 at 1", wave, 1.0)):
        value, tangent = jvp(f, (x,), (1.0,))
        rows.append([text, f"{value:.10f}", f"{tangent:.10f}", f"{grad(f)(x):.10f}"])
    print_table(["expression", "value", "forward", "reverse"], rows)

    print("One neuron: (tanh(w1 + 2w2 + b) - 1)**2, a step of 0.1 down the gradient")
    slopes, stepped = train_neuron()
    names = ("w1", "w2", "b")
    print_table(
        ["parameter", "before", "gradient", "after"],
        [[n, f"{x:.1f}", f"{g:.0f}", f"{y:.1f}"] for n, x, g, y in zip(names, (0.5, -0.3, 0.1), slopes, stepped, strict=True)],
    )

    print("sigmoid as one primitive and composed from exp, at 0.7")
    rows = []
    for text, f in (("one primitive", nn.sigmoid), ("1 / (1 + exp(-x))", composed_sigmoid)):
        value, slope = value_and_grad(f)(0.7)
        rows.append([text, f"{value:.6f}", f"{slope:.6f}", str(debug.count_records(f, 0.7))])
    print_table(["form", "value", "derivative", "tape records"], rows)

    print("Nine rules against central differences")
    errors = rule_errors()
    print_table(["rule", "largest error"], [[name, f"{error:.1e}"] for name, error in errors.items()])
    print(f"  worst {max(errors.values()):.1e}, to stay below 1e-9")

    if given.against:
        print_against(given.against)
    plots.save(given.out, {"engine-rules": lambda figure: draw_rules(figure, errors)})


if __name__ == "__main__":
    main()
