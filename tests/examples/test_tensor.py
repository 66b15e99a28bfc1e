"""The tensor example's shapes, errors and cross-entropies."""

import numpy as np
import pytest

from examples import tensor


@pytest.fixture(scope="module")
def printed(run, tmp_path_factory):
    return run(tensor.main, ["--out", str(tmp_path_factory.mktemp("tensor"))])


@pytest.mark.parametrize(
    ("left", "right", "result", "counts"),
    [((32, 10), (10,), (32, 10), (1, 32)), ((4, 1), (1, 6), (4, 6), (6, 4)), ((2, 3, 5), (3, 1), (2, 3, 5), (1, 10))],
)
def test_broadcasting_is_undone(left, right, result, counts):
    found = tensor.broadcast(left, right)
    assert found.result == result
    np.testing.assert_array_equal(found.left, np.full(left, counts[0]))
    np.testing.assert_array_equal(found.right, np.full(right, counts[1]))


def test_prints_shapes(printed):
    assert "(32, 10) + (10,) (32, 10) (32, 10), each 1 (10,), each 32" in printed
    assert "(4, 1) + (1, 6) (4, 6) (4, 1), each 6 (1, 6), each 4" in printed
    assert "(2, 3, 5) + (3, 1) (2, 3, 5) (2, 3, 5), each 1 (3, 1), each 10" in printed


@pytest.mark.parametrize("seed", [0, 1])
def test_expression_agrees_with_differences_in_every_leaf(seed):
    errors = tensor.relative_errors(seed)
    assert list(errors) == ["A", "W", "b", "c"]
    assert max(errors.values()) < 1e-9


def test_expression_has_the_value_of_numpy():
    leaves, labels = tensor.make_expression()
    A, W, b, c = leaves.values()
    H = np.maximum(A @ W + b, 0.0)
    G = H * c + H
    entropy = np.mean([np.log(np.exp(row).sum()) - row[label] for row, label in zip(G, labels, strict=True)])
    wanted = entropy + (G.sum(axis=1) - c[:, 0]).mean() + (H * H).sum(axis=0).mean()
    np.testing.assert_allclose(tensor.expression(leaves, labels), wanted, rtol=1e-13)


def test_prints_both_cross_entropies(printed):
    (fused,) = [line for line in printed if line.startswith("fused")]
    (composed,) = [line for line in printed if line.startswith("composed")]
    assert fused == "fused 1.8135350476 2"
    assert composed.startswith("composed 1.8135350476 ")
    assert int(composed.split()[2]) > 2


def test_cross_entropies_have_the_same_gradient():
    by_fused, by_composed = tensor.compare_cross_entropies().gradients
    assert by_fused.shape == (6, 4)
    np.testing.assert_allclose(by_fused, by_composed, rtol=0, atol=1e-16)
    np.testing.assert_allclose(by_fused.sum(axis=1), 0.0, atol=1e-16)  # probabilities minus a one-hot row
