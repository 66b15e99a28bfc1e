"""Common subexpressions, and dead code."""

import numpy as np

from funcgrad.transforms.compile.dead import without_dead_code
from funcgrad.transforms.compile.programs import recorded
from funcgrad.transforms.compile.subexpressions import with_common_subexpressions_merged
from tests.compile.programs import names, program_of, run

X, Y = np.linspace(0.0, 1.0, 4), np.linspace(1.0, 3.0, 4)


def merged(f, *leaves):
    return with_common_subexpressions_merged(program_of(f, *leaves))


def test_the_same_call_is_made_once():
    program = merged(lambda x: np.sin(x) + np.sin(x) * np.exp(x) + np.exp(x), X)
    assert names(program) == ["sin", "exp", "multiply", "add", "add"]
    np.testing.assert_array_equal(run(program, [X])[0], np.sin(X) + np.sin(X) * np.exp(X) + np.exp(X))


def test_calls_of_merged_values_merge():
    assert names(merged(lambda x: np.cos(np.sin(x)) - np.cos(np.sin(x)), X)) == ["sin", "cos", "subtract"]


def test_products_and_sums_in_either_order():
    assert names(merged(lambda x, y: (x * y) - (y * x), X, Y)) == ["multiply", "subtract"]
    assert names(merged(lambda x, y: (x + y) / (y + x), X, Y)) == ["add", "divide"]
    assert names(merged(lambda x, y: (x - y) / (y - x), X, Y)) == ["subtract", "subtract", "divide"]


def test_other_constants_are_other_calls():
    assert names(merged(lambda x: (x * 0.0) / (x * -0.0), X)) == ["multiply", "multiply", "divide"]
    assert names(merged(lambda x: (x * 2) / (x * 2.0), X)) == ["multiply", "multiply", "divide"]
    assert names(merged(lambda x: (x * np.ones(4)) / (x * np.ones(4)), X)) == ["multiply", "divide"]
    assert names(merged(lambda x: np.sum(x, axis=0) / np.sum(x), X)) == ["sum", "sum", "divide"]


def test_outputs_that_are_one_value_are_two_arrays():
    one, other = run(merged(lambda x: (np.sin(x), np.sin(x)), X), [X])
    assert not np.shares_memory(one, other)


def test_dead_code():
    def f(x):
        np.exp(np.cos(x))
        return np.sin(x)

    program = recorded("f", f, [X])[0]
    assert names(program) == ["cos", "exp", "sin"]
    assert names(without_dead_code(program)) == ["sin"]


def test_one_of_several_results_keeps_the_call():
    program = program_of(lambda x: np.divmod(x, 0.3)[1], X)
    assert names(program) == ["divmod"]
    np.testing.assert_array_equal(run(program, [X])[0], np.divmod(X, 0.3)[1])
