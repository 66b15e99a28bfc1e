"""Blocked regions: what goes into one, and that it gives what the instructions give, whatever the blocks and the threads."""

import threading
import tracemalloc

import numpy as np
import pytest

from funcgrad import grad, jit, value_and_grad
from funcgrad.errors import InputTypeError, InputValueError
from funcgrad.transforms.compile import blocks, threads
from funcgrad.transforms.compile.blocks import Region, with_blocked_regions
from funcgrad.transforms.compile.programs import passed, recorded
from tests.compile.programs import program_of, run


@pytest.fixture(autouse=True)
def _one_thread():
    before = threads.num_threads()
    yield
    threads.set_num_threads(before)


@pytest.fixture
def small(monkeypatch):
    """Regions on arrays of 12 numbers, in blocks of 5 at most."""
    for name, value in {"SMALLEST": 12, "BLOCK": 5, "CACHE": 8, "_LEAST": 5}.items():
        monkeypatch.setattr(blocks, name, value)


def regions(program):
    return [one.function for one in with_blocked_regions(program).instructions if isinstance(one.function, Region)]


def assert_blocked(f, *leaves, count=1):
    """f makes so many regions, and gives what it gives without, on one thread and on two."""
    program = passed(program_of(f, *leaves))
    assert len(regions(program)) == count
    wanted = f(*leaves)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    for n in (1, 2):
        threads.set_num_threads(n)
        for got, right in zip(run(program, leaves), wanted, strict=True):
            assert type(got) is type(right) and got.shape == right.shape and got.dtype == right.dtype
            np.testing.assert_allclose(got, right, rtol=1e-15 * max(right.size, 8))


X = np.linspace(-2.0, 3.0, 23)
M = np.linspace(-1.0, 2.0, 21).reshape(7, 3)


@pytest.mark.usefixtures("small")
class TestRegions:
    def test_elementwise(self):
        assert_blocked(lambda x: np.exp(-x * x) + np.tanh(x), X)

    def test_several_outputs_and_inputs(self):
        assert_blocked(lambda x, y: (np.sin(x) * y, np.cos(x) + y, x - y), X, X[::-1])

    def test_inputs_that_are_not_contiguous(self):
        assert_blocked(lambda x: np.sin(x) * x, np.repeat(X, 2)[::2])
        assert_blocked(lambda x: np.sin(x) * x, np.asfortranarray(M))

    def test_full_reductions(self):
        assert_blocked(lambda x: (np.add.reduce(np.sin(x) * x), np.maximum.reduce(x * x), np.minimum.reduce(np.cos(x))), X)
        assert_blocked(lambda x: np.add.reduce(np.sin(x) * x, axis=None), M)
        assert_blocked(lambda x: np.add.reduce(np.sin(x) * x, axis=(0, 1), keepdims=True), M)

    def test_reductions_along_axes(self):
        assert_blocked(lambda x: np.add.reduce(np.sin(x) * x, axis=0), M)
        assert_blocked(lambda x: np.add.reduce(np.sin(x) * x, axis=0, keepdims=True), M)
        assert_blocked(lambda x: np.add.reduce(np.sin(x) * x, axis=1), M)
        assert_blocked(lambda x: np.maximum.reduce(np.sin(x) * x, axis=-1, keepdims=True), M)
        assert_blocked(lambda x: np.add.reduce(np.sin(x) * x, axis=(0, 2)), np.linspace(0.0, 1.0, 24).reshape(4, 3, 2))

    def test_rows_that_are_scaled_by_their_sums_stay_together(self):
        def softmax(x):
            shifted = x - np.maximum.reduce(x, axis=1, keepdims=True)
            e = np.exp(shifted)
            return e / np.add.reduce(e, axis=1, keepdims=True)

        assert_blocked(softmax, M)

    def test_a_mean_that_all_numbers_meet_parts_two_regions(self):
        assert_blocked(lambda x: np.exp((x * x) - np.add.reduce(x * x) / 23.0), X, count=2)

    def test_operands_that_are_stretched(self):
        assert_blocked(lambda x, row, column: np.tanh(x * row + column) * 2.0, M, np.arange(3.0), np.arange(7.0)[:, None])
        assert_blocked(lambda x, s: np.tanh(x * s) + s, M, np.float64(3.0))

    def test_constant_arrays(self):
        weights = np.linspace(0.0, 1.0, 23)
        assert_blocked(lambda x: np.sin(x * weights) + np.array(2.0), X)
        assert_blocked(lambda x: np.sin(x * np.broadcast_to(2.0, 23)) + 1.0, X)

    def test_rows_longer_than_a_block(self):
        wide = np.linspace(0.0, 1.0, 24).reshape(2, 12)
        assert_blocked(lambda x: (np.sin(x) * x, np.add.reduce(np.cos(x) * x, axis=(0, 1), keepdims=True)), wide)
        assert_blocked(lambda x, row: np.sin(x) * x + row, wide, np.arange(12.0), count=1)
        assert_blocked(lambda x: np.add.reduce(np.sin(x), axis=1), wide, count=0)

    def test_where_and_comparisons(self):
        assert_blocked(lambda x: (np.where(x > 0.0, x * 2.0, -1.0), x > 1.0), X)

    def test_dtypes(self):
        assert_blocked(lambda x: np.sin(x) * x, X.astype(np.float32))
        assert_blocked(lambda x: np.exp(x) * 1j, X.astype(complex))
        assert_blocked(lambda x: (x * x) % 7, np.arange(23))

    def test_sums_of_small_types_stay_whole(self):
        """NumPy adds half precision numbers in single precision: sums of blocks would round in between."""
        x = X.astype(np.float16)
        wanted = np.add.reduce(x * x, axis=None)
        assert run(passed(program_of(lambda x: np.add.reduce(x * x, axis=None), x)), [x])[0] == wanted

    def test_another_instruction_between(self):
        assert_blocked(lambda x: np.sin(np.sort(np.sin(x) * x)) * x, X, count=2)

    def test_a_loss_and_its_gradient_are_one_region(self):
        f = value_and_grad(lambda x: np.sum(np.tanh(2.0 * x + 1.0) * np.exp(-x * x)))
        program = passed(recorded("f", f, [X])[0])
        assert len(regions(program)) == 1
        value, gradient = jit(f)(X)
        wanted, right = f(X)
        assert value == pytest.approx(wanted, rel=1e-14)
        np.testing.assert_allclose(gradient, right, rtol=1e-13)

    def test_outputs_are_fresh(self):
        f = jit(lambda x: (x * 2.0 + 1.0, np.add.reduce(x * x, axis=0)))
        first = f(M)
        again = f(M)
        for one, other in zip(first, again, strict=True):
            assert not np.shares_memory(one, other) and not np.shares_memory(one, M)
            one[...] = 7.0
        np.testing.assert_array_equal(again[0], M * 2.0 + 1.0)


def test_small_arrays_have_no_regions():
    assert not regions(program_of(lambda x: np.sin(x) * x, np.ones(1000)))


def test_the_source_shows_what_is_done_with_a_block():
    f = jit(lambda x: np.sin(x) * x)
    assert "def block(x0, o0, t0):" in f.source(np.ones(blocks.SMALLEST))


def test_strong_zeros_are_found_in_blocks():
    x = np.linspace(0.0, 1.0, blocks.SMALLEST)
    gradient = jit(grad(lambda x: np.sum(np.where(x > 0.0, np.log(x), 0.0) * 2.0)))(x)
    assert gradient[0] == 0.0
    np.testing.assert_allclose(gradient[1:], 2.0 / x[1:], rtol=1e-14)


def test_intermediates_live_in_blocks():
    def chain(x):
        for _ in range(50):
            x = np.tanh(x)
        return np.sum(x)

    f = jit(grad(chain))
    x = np.linspace(-1.0, 1.0, 400_000)
    f(x)
    threads.set_num_threads(1)
    tracemalloc.start()
    f(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * x.nbytes  # the gradient, and blocks; 50 arrays otherwise


def test_many_threads_call_one_program():
    f = jit(value_and_grad(lambda x: np.sum(np.sin(x) * x)))
    points = [np.linspace(n, n + 1.0, blocks.SMALLEST) for n in range(8)]
    wanted = [f(x) for x in points]
    threads.set_num_threads(3)
    found = [None] * 8

    def work(n):
        for _ in range(3):
            found[n] = f(points[n])

    workers = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    for (value, gradient), (right, slope) in zip(found, wanted, strict=True):
        assert value == right
        np.testing.assert_array_equal(gradient, slope)


@pytest.mark.parametrize(("n", "error"), [(0, InputValueError), (-1, InputValueError), (1.0, InputTypeError), (True, InputTypeError)])
def test_numbers_of_threads_that_are_none(n, error):
    with pytest.raises(error, match="set_num_threads"):
        threads.set_num_threads(n)
