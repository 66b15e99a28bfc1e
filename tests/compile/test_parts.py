"""Functions of our own in parts: they give what the functions give."""

import numpy as np
import pytest

from funcgrad import grad, jit, nn, value_and_grad, vmap
from funcgrad.errors import InputValueError
from funcgrad.transforms.compile.parts import in_parts
from tests.compile.programs import names, program_of, run
from tests.compile.test_algebra import assert_same_bits

SPECIAL = np.array([-800.0, -2.5, -0.0, 0.0, 1.5, 800.0, np.inf, -np.inf, np.nan])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize(
    ("f", "calls"), [(nn.relu, ["maximum"]), (nn.sigmoid, ["absolute", "negative", "exp", "minimum", "exp", "add", "divide"])]
)
def test_elementwise(f, calls, dtype):
    x = SPECIAL.astype(dtype)
    before = program_of(f, x)
    after = in_parts(before)
    assert names(after) == calls
    assert_same_bits(run(after, [x])[0], run(before, [x])[0])


@pytest.mark.parametrize("x", [2.0, np.float32(2.0), np.array(2.0)], ids=repr)
def test_numbers_stay(x):
    program = program_of(nn.sigmoid, x)
    assert in_parts(program) is program or names(in_parts(program)) == names(program)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(7, 4), (2, 3, 4), (4,)])
@pytest.mark.parametrize("of_labels", [np.int64, np.int32, np.uint8])
def test_cross_entropy(dtype, shape, of_labels):
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=shape).astype(dtype), np.asarray(rng.integers(0, 4, shape[:-1]), of_labels)
    f = value_and_grad(nn.softmax_cross_entropy)
    (value, slope), (wanted, right) = jit(f)(logits, labels), f(logits, labels)
    assert type(value) is type(wanted) and slope.dtype == dtype
    tolerance = 1e-13 if dtype is np.float64 else 1e-5
    np.testing.assert_allclose(value, wanted, rtol=tolerance)
    np.testing.assert_allclose(slope, right, rtol=tolerance, atol=tolerance)


def test_cross_entropy_of_weights_stays():
    logits, weights = np.ones((3, 4)), np.full((3, 4), 0.25)
    f = value_and_grad(nn.softmax_cross_entropy)
    np.testing.assert_allclose(jit(f)(logits, weights)[1], f(logits, weights)[1], atol=1e-15)


@pytest.mark.parametrize("wrong", [4, -1])
def test_labels_are_checked_at_every_call(wrong):
    f = jit(value_and_grad(nn.softmax_cross_entropy))
    logits = np.ones((3, 4))
    f(logits, np.array([0, 1, 2]))
    with pytest.raises(InputValueError, match=r"labels must lie in 0\.\.3"):
        f(logits, np.array([0, wrong, 2]))


def test_labels_of_examples_are_checked_at_every_call():
    f = jit(vmap(grad(nn.softmax_cross_entropy)))
    logits, labels = np.linspace(0.0, 1.0, 12).reshape(3, 4), np.array([0, 1, 2])
    wanted = np.stack([grad(nn.softmax_cross_entropy)(one, label) for one, label in zip(logits, labels, strict=True)])
    np.testing.assert_allclose(f(logits, labels), wanted, atol=1e-15)
    with pytest.raises(InputValueError, match=r"labels must lie in 0\.\.3"):
        f(logits, np.array([0, 4, 2]))
