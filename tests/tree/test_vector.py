"""`ravel`: a tree as one vector and back."""

import numpy as np
import pytest

from funcgrad import tree
from funcgrad.errors import InputTypeError, InputValueError


def test_round_trip_keeps_shapes_and_dtypes():
    rng = np.random.default_rng(0)
    value = {
        "w": rng.normal(size=(2, 3)),
        "h": rng.normal(size=4).astype(np.float32),
        "s": 0.25,
        "n": np.float64(1.5),
        "z": np.array(2.5),
        "i": np.array([1, 2]),
        "b": [np.array([True, False]), None, np.zeros((0, 2))],
    }
    vector, unravel = tree.ravel(value)
    expected = [1.0, 0.0, *value["h"], 1, 2, 1.5, 0.25, *value["w"].ravel(), 2.5]
    assert vector.dtype == np.float64
    assert vector.tolist() == expected
    again = unravel(vector)
    assert tree.structure(again) == tree.structure(value)
    for one, another in zip(tree.leaves(again), tree.leaves(value), strict=True):
        assert type(one) is type(another)
        np.testing.assert_array_equal(one, another, strict=True)


def test_nothing_is_shared():
    array = np.arange(3.0)
    vector, unravel = tree.ravel(array)
    vector[0] = 9.0
    assert array[0] == 0.0
    again = unravel(vector)
    vector[1] = 9.0
    assert again.tolist() == [9.0, 1.0, 2.0]
    assert again.flags.writeable


def test_dtype_of_the_vector():
    assert tree.ravel(np.ones(2, np.float32))[0].dtype == np.float32
    assert tree.ravel([np.ones(2, np.float32), np.ones(2, np.complex64)])[0].dtype == np.complex64
    assert tree.ravel([])[0].shape == (0,)
    assert tree.ravel([])[1](np.zeros(0)) == []


def test_complex_and_real_together():
    value = [np.array([1.0]), np.array([2j]), 1 + 1j, 3.0]
    vector, unravel = tree.ravel(value)
    again = unravel(vector + 1j)
    assert again[0].dtype == np.float64
    assert [leaf if isinstance(leaf, complex | float) else leaf.tolist() for leaf in again] == [[1.0], [3j], 1 + 2j, 3.0]


def test_python_numbers_come_back_as_real_numbers():
    _, unravel = tree.ravel({"a": 1, "b": 2.0})
    again = unravel(np.array([1.5, 2.5], np.float32))
    assert again == {"a": 1.5, "b": 2.5}
    assert type(again["a"]) is float
    assert type(again["b"]) is float
    assert unravel([3, 4]) == {"a": 3.0, "b": 4.0}


def test_integer_arrays_must_stay_whole():
    _, unravel = tree.ravel({"a": np.array([1, 2]), "b": 1.0})
    assert unravel(np.array([3.0, 4.0, 0.5]))["a"].dtype == np.array([1]).dtype
    with pytest.raises(InputValueError, match=r"\['a'\] has dtype int.*not whole"):
        unravel(np.array([3.5, 4.0, 0.5]))


def test_wrong_vectors():
    _, unravel = tree.ravel({"a": np.ones((2, 2))})
    for vector in (np.ones(3), np.ones(5), np.ones((2, 2)), np.float64(1.0)):
        with pytest.raises(InputValueError, match=r"wanted a vector of shape \(4,\).*got shape"):
            unravel(vector)


@pytest.mark.parametrize("leaf", ["text", np.array(["a"]), np.array([None]), True, object()])
def test_wrong_leaves(leaf):
    with pytest.raises(InputTypeError, match=r"leaf at \['a'\]\[1\] is of type .* wanted numbers"):
        tree.ravel({"a": [1.0, leaf]})
    with pytest.raises(InputTypeError, match="at the root"):
        tree.ravel(leaf)


def test_leaves_that_dispatch():
    """What stands in for an array keeps doing so: no leaf and no vector is turned into an array."""

    class Traced(np.lib.mixins.NDArrayOperatorsMixin):
        def __init__(self, array):
            self.array = array
            self.shape, self.dtype = array.shape, array.dtype

        def __array_function__(self, function, types, args, kwargs):
            return Traced(function(*tree.map(unwrapped, args), **kwargs))

        def __getitem__(self, index):
            return Traced(self.array[index])

        def astype(self, dtype):
            return Traced(self.array.astype(dtype))

        def __array__(self, *args, **kwargs):
            raise AssertionError("converted")

    def unwrapped(x):
        return x.array if isinstance(x, Traced) else x

    value = {"a": Traced(np.ones((2, 1), np.float32)), "b": 2.0, "c": np.array([3, 4])}
    vector, unravel = tree.ravel(value)
    assert isinstance(vector, Traced)
    assert vector.array.tolist() == [1.0, 1.0, 2.0, 3.0, 4.0]
    again = unravel(vector)
    assert all(isinstance(leaf, Traced) for leaf in tree.leaves(again))
    assert again["a"].shape == (2, 1)
    assert again["a"].dtype == np.float32
    assert again["b"].shape == ()
    assert again["c"].dtype == np.float64
