"""Algebraic cleanups: what each becomes, that nothing else does, and that every result stays the same to the bit."""

import numpy as np
import pytest

from funcgrad.transforms.compile.algebra import simplified
from funcgrad.transforms.compile.dead import without_dead_code
from tests.compile.programs import names, program_of, run

X = np.array([-2.5, -0.0, 0.0, 1.5, np.inf, np.nan])
M = np.linspace(-1.0, 2.0, 12).reshape(3, 4)


def assert_same_bits(got, wanted):
    assert type(got) is type(wanted)
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    np.testing.assert_array_equal(got, wanted)
    if wanted.dtype.kind in "fc":
        there = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(got.real[there]), np.signbit(wanted.real[there]))


def assert_becomes(calls, f, *leaves):
    """f is a program of these calls then, which gives the same, also at other numbers."""
    before = program_of(f, *leaves)
    after = without_dead_code(simplified(before))
    assert names(after) == calls, str(after)
    for _ in range(2):
        for got, wanted in zip(run(after, leaves), run(before, leaves), strict=True):
            assert_same_bits(got, wanted)
        leaves = [one[..., ::-1].copy() if isinstance(one, np.ndarray) and one.ndim else one for one in leaves]


@pytest.mark.parametrize(
    ("calls", "f"),
    [
        ([], lambda x: x * 1.0),
        ([], lambda x: x * np.ones(6)),
        ([], lambda x: np.broadcast_to(np.float64(1.0), 6) * x),
        ([], lambda x: x / 1.0),
        ([], lambda x: x - 0.0),
        ([], lambda x: x + -0.0),
        ([], lambda x: x - np.zeros(6)),
        ([], lambda x: np.negative(-x)),
        ([], lambda x: np.reshape(x, (6,))),
        ([], lambda x: np.reshape(np.reshape(x, (2, 3)), (6,))),
        ([], lambda x: np.broadcast_to(x, (6,))),
        ([], lambda x: x[:]),
        ([], lambda x: np.expand_dims(x, 0)[0]),
        (["negative"], lambda x: -x * 1),
        # what is not exact stays
        (["add"], lambda x: x + 0.0),
        (["subtract"], lambda x: x - -0.0),
        (["subtract"], lambda x: 0.0 - x),
        (["multiply"], lambda x: x * 0.0),
        (["divide"], lambda x: 1.0 / x),
        (["multiply"], lambda x: x * np.array([1.0, 1.0, 1.0, 1.0, 1.0, 2.0])),
        (["multiply"], lambda x: x * 1j),
        (["multiply"], lambda x: x * (1.0 + 0.0j)),
    ],
)
def test_calls_without_effect(calls, f):
    assert_becomes(calls, f, X)


def test_ones_that_make_another_dtype_or_shape_stay():
    assert_becomes(["multiply"], lambda x: x * np.ones(6), X.astype(np.float32))
    assert_becomes(["multiply"], lambda x: x * np.float64(1.0), np.arange(3))
    assert_becomes(["multiply"], lambda x: x * np.ones((2, 6)), X)
    assert_becomes(["multiply"], lambda x: x * 1.0, np.array([1.0 + 2.0j, complex(np.inf, 0.0)]))
    assert_becomes(["reshape"], lambda x: np.reshape(x, (1, 6)), X)


def test_integers_have_one_zero():
    assert_becomes([], lambda x: (x + 0) * 1 - 0, np.arange(3))


def test_a_constant_that_is_one_number_throughout_is_a_number():
    program = simplified(program_of(lambda x: x * np.full(6, 3.0) + np.broadcast_to(2.0, 6), X))
    constants = [one for instruction in program.instructions for one in instruction.args if isinstance(one, np.ndarray)]
    assert [one.shape for one in constants] == [(), ()]
    assert_becomes(["multiply"], lambda x: x * np.full(6, 3.0), X)
    assert_becomes(["multiply"], lambda x: x * np.full((2, 6), 3.0), X)
    assert_becomes(["multiply"], lambda x: x * np.full(6, 3.0), X.astype(np.float32))  # makes double precision
    assert_becomes(["greater", "where"], lambda x: np.where(x > 0.0, x, np.zeros(6)), X)


def test_what_is_stretched_only_to_meet_another_array_is_not():
    assert_becomes(["multiply"], lambda x, y: np.broadcast_to(x, (3, 4)) * y, M[0], M)
    assert_becomes(["broadcast_to", "multiply"], lambda x, y: np.broadcast_to(x, (3, 4)) * y, M[0], 2.0 * M[1])


def test_reshapes():
    assert_becomes(["reshape"], lambda x: np.reshape(np.reshape(x, (4, 3)), (2, 6)), M)
    assert_becomes(["reshape"], lambda x: np.expand_dims(np.ravel(x), 0), M)
    assert_becomes(["reshape"], lambda x: np.squeeze(x[None], 0)[..., None][:, :, 0][None], M)
    assert_becomes(["elements_of"], lambda x: x[1:, :], M)
    assert_becomes(["elements_of"], lambda x: x[::-1], M)
    assert_becomes(["elements_of"], lambda x: x[:, 0], M)


def test_transpositions():
    cube = np.arange(24.0).reshape(2, 3, 4)
    assert_becomes([], lambda x: np.swapaxes(np.swapaxes(x, 0, 1), 0, 1), M)
    assert_becomes([], lambda x: np.transpose(np.transpose(x)), M)
    assert_becomes([], lambda x: np.moveaxis(x, 0, 0), M)
    assert_becomes([], lambda x: np.transpose(np.moveaxis(x, 0, -1), (2, 0, 1)), cube)
    assert_becomes(["transpose"], lambda x: np.swapaxes(np.moveaxis(x, [0, 1], [-1, 0]), 1, -1), cube)
    assert_becomes(["swapaxes"], lambda x: np.swapaxes(x, -1, -2), cube)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("options", [{}, {"axis": (0, 1)}, {"axis": (1, 2), "keepdims": True}, {"axis": -1}])
def test_sums_and_means(dtype, options):
    x = np.random.default_rng(0).normal(size=(7, 5, 2)).astype(dtype)
    assert_becomes(["reduce"], lambda x: np.sum(x, **options), x)
    assert_becomes(["reduce", "divide"], lambda x: np.mean(x, **options), x)


def test_sums_of_other_types():
    assert_becomes(["reduce"], np.sum, np.arange(5))
    assert_becomes(["mean"], np.mean, np.arange(5))
    assert_becomes(["mean"], np.mean, np.arange(5.0).astype(np.float16))
    assert_becomes(["sum"], lambda x: np.sum(x, dtype=np.float32), M)
    assert_becomes(["sum"], lambda x: np.sum(x, where=M > 0.0), M)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("calls", "options"),
    [(["dot"], {"axis": 0}), (["dot"], {"axis": 1}), (["dot", "reshape"], {"axis": -1, "keepdims": True}), (["dot"], {"axis": (0,)})],
)
def test_sums_of_a_matrix_are_products_with_ones(dtype, calls, options):
    x = np.random.default_rng(0).normal(size=(7, 5)).astype(dtype)
    for f in (np.sum, np.add.reduce):
        program = simplified(program_of(lambda x, f=f: f(x, **options), x))
        assert names(program) == calls
        (found,) = run(program, [x])
        wanted = np.sum(x, **options)
        assert found.dtype == dtype and found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-14 if dtype is np.float64 else 1e-5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_truth_values_are_made_numbers_first(dtype):
    assert_becomes(["greater", "as_floats", "multiply"], lambda x: x * (x > 0.0), X.astype(dtype))
    assert_becomes(["greater", "as_floats", "multiply"], lambda x: (x > 0.0) * x, X.astype(dtype))


def test_truth_values_that_stay():
    assert_becomes(["greater", "multiply"], lambda x: x * (x > 0.0), np.arange(3))
    assert_becomes(["greater", "multiply"], lambda x, y: x * (y > 0.0), M, M[0])
    assert_becomes(["greater", "greater", "multiply"], lambda x: (x > 1.0) * (x > 0.0), X)


def test_sums_of_a_matrix_of_integers_stay():
    assert names(simplified(program_of(lambda x: np.add.reduce(x, axis=0), np.arange(6).reshape(2, 3)))) == ["reduce"]
    assert names(simplified(program_of(lambda x: np.sum(x, axis=0, keepdims=True), M))) == ["reduce"]


def test_outputs_that_are_inputs_are_copies():
    program = simplified(program_of(lambda x: x * 1.0, X))
    (found,) = run(program, [X])
    assert found is not X and not np.shares_memory(found, X)
