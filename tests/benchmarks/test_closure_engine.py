"""The closure-per-node engine computes what it is timed for."""

import math

import pytest

from benchmarks.scalar_engine import Node, exp, log, relu


def test_shared_node_gets_the_sum_of_its_uses():
    x, y = Node(2.0), Node(-3.0)
    z = x * y + x
    answer = z * z
    answer.backward()
    assert (answer.value, x.gradient, y.gradient) == (16.0, 16.0, -16.0)


def test_square_of_a_square_is_walked_in_order():
    x = Node(2.0)
    square = x * x
    (square * square).backward()
    assert x.gradient == 32.0


@pytest.mark.parametrize(
    ("function", "at", "value", "derivative"),
    [
        (relu, 3.0, 3.0, 1.0),
        (relu, -3.0, 0.0, 0.0),
        (relu, 0.0, 0.0, 0.0),
        (exp, 0.5, math.exp(0.5), math.exp(0.5)),
        (log, 4.0, math.log(4.0), 0.25),
    ],
)
def test_functions(function, at, value, derivative):
    x = Node(at)
    answer = function(x)
    answer.backward()
    assert (answer.value, x.gradient) == (value, derivative)
