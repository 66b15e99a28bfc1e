"""Negatives: they cancel or become differences, where that changes no bit."""

import itertools

import numpy as np
import pytest

from funcgrad.transforms.compile.signs import with_signs_moved
from tests.compile.programs import names, program_of, run
from tests.compile.test_algebra import assert_same_bits

SPECIAL = np.array([-2.5, -0.0, 0.0, 1.5, np.inf, -np.inf, np.nan, 1e308, 5e-324])
PAIRS = np.array(list(itertools.product(SPECIAL, SPECIAL))).T.copy()


@pytest.mark.parametrize(
    ("calls", "f"),
    [
        (["add"], lambda x, y: x - (-y)),
        (["subtract"], lambda x, y: x + (-y)),
        (["subtract"], lambda x, y: (-x) + y),
        (["multiply"], lambda x, y: (-x) * (-y)),
        (["divide"], lambda x, y: (-x) / (-y)),
        (["multiply", "subtract"], lambda x, y: (-x) * y + x),
        (["multiply", "subtract"], lambda x, y: y + x * (-y)),
        (["multiply", "add", "exp"], lambda x, y: np.exp(-((-x) * y + (-x) * y))),
        # no gain, or not exact
        (["negative", "multiply"], lambda x, y: (-x) * y),
        (["negative", "subtract"], lambda x, y: (-x) - y),
        (["negative", "exp", "multiply", "add"], lambda x, y: np.exp(-x) * y + (-x)),
    ],
)
def test_negatives(calls, f):
    x, y = PAIRS
    before = program_of(f, x, y)
    after = with_signs_moved(before)
    if "negative" in calls and calls[0] != "negative":
        assert sorted(names(after)) == sorted(calls)
    else:
        assert len(names(after)) <= len(calls), str(after)
    assert_same_bits(run(after, [x, y])[0], run(before, [x, y])[0])


def test_only_arrays_of_real_numbers():
    f = lambda x, y: x + (-y)
    assert names(with_signs_moved(program_of(f, 2.0, 3.0))) == ["negative", "add"]
    z = np.array([1.0 + 2.0j])
    assert names(with_signs_moved(program_of(f, z, z))) == ["negative", "add"]
