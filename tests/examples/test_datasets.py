"""The moons are scikit-learn's; the digits file is checked before it is used."""

import re

import numpy as np
import pytest

from examples import datasets
from examples.datasets import DIGITS_FILE, DataFileError, load_digits, make_moons
from funcgrad.errors import FuncgradError


@pytest.mark.parametrize(("points", "noise", "seed"), [(100, 0.1, 0), (37, 0.3, 5)])
def test_moons_are_those_of_scikit_learn(points, noise, seed):
    sklearn_datasets = pytest.importorskip("sklearn.datasets", reason="scikit-learn is not installed")
    xy, labels = sklearn_datasets.make_moons(points, noise=noise, random_state=seed)
    our_xy, our_labels = make_moons(points, noise, seed)
    np.testing.assert_array_equal(our_xy, xy)
    np.testing.assert_array_equal(our_labels, 2 * labels - 1)


def test_moons_are_two_half_circles():
    xy, labels = make_moons(1000, noise=0.0)
    upper, lower = xy[labels < 0], xy[labels > 0]
    assert upper.shape == lower.shape == (500, 2)
    np.testing.assert_allclose(np.hypot(*upper.T), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.hypot(*(lower - [1.0, 0.5]).T), 1.0, rtol=1e-12)
    assert upper[:, 1].min() >= 0.0
    assert lower[:, 1].max() <= 0.5


def test_digits_are_whole():
    digits = load_digits()
    assert digits.images.shape == (1797, 64)
    assert digits.images.min() == 0.0
    assert digits.images.max() == 1.0
    rows = np.concatenate([digits.train, digits.validation, digits.test])
    np.testing.assert_array_equal(np.sort(rows), np.arange(1797))
    # The counts of each digit as published with the data set.
    assert np.bincount(digits.labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_split_keeps_the_shares():
    digits = load_digits()
    for rows in (digits.train, digits.validation, digits.test):
        shares = np.bincount(digits.labels[rows]) / len(rows)
        np.testing.assert_allclose(shares, np.bincount(digits.labels) / 1797, atol=0.002)


@pytest.fixture
def arrays():
    with np.load(DIGITS_FILE) as archive:
        return dict(archive)


def refused(file, *wanted):
    with pytest.raises(DataFileError) as caught:
        load_digits(file)
    message = str(caught.value)
    for text in (str(file), *wanted):
        assert text in message, message
    assert isinstance(caught.value, FuncgradError)
    assert isinstance(caught.value, OSError)


def test_missing_file(tmp_path):
    refused(tmp_path / "digits.npz", "is missing", "does not exist", "--data")


def test_folder_instead_of_file(tmp_path):
    refused(tmp_path, "is missing", "not a file")


def test_missing_own_file_says_how_to_restore_it(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "DIGITS_FILE", tmp_path / "digits.npz")
    refused(tmp_path / "digits.npz", "git checkout examples/data/digits.npz")


@pytest.mark.parametrize("content", [b"", b"not an archive", DIGITS_FILE.read_bytes()[:20_000]], ids=["empty", "text", "cut off"])
def test_damaged_file(tmp_path, content):
    file = tmp_path / "digits.npz"
    file.write_bytes(content)
    refused(file, "is damaged", "npz archive", "--data")


def test_flipped_bytes(tmp_path):
    content = bytearray(DIGITS_FILE.read_bytes())
    content[3000:3040] = bytes(byte ^ 0xFF for byte in content[3000:3040])
    file = tmp_path / "digits.npz"
    file.write_bytes(content)
    refused(file, "is damaged")


def test_single_array(tmp_path):
    file = tmp_path / "digits.npy"
    np.save(file, np.zeros(3))
    refused(file, "is damaged", "npz archive")


def test_lacking_key(tmp_path, arrays):
    del arrays["val"]
    np.savez(tmp_path / "digits.npz", **arrays)
    refused(tmp_path / "digits.npz", "no array named 'val'", "images, labels, train, val, test")


@pytest.mark.parametrize(
    ("key", "change", "wanted"),
    [
        ("images", lambda x: x.reshape(1797, 8, 8), "'images' .* is uint8 of shape (1797, 8, 8), wanted uint8 of shape (1797, 64)"),
        ("images", lambda x: x[:100], "shape (100, 64)"),
        ("labels", lambda x: x.astype(np.float32), "is float32"),
        ("images", lambda x: x + np.uint8(200), "wanted at most 16"),
        ("labels", lambda x: x + np.uint8(1), "holds 10, wanted at most 9"),
        ("test", lambda x: x + np.uint16(1797), "wanted at most 1796"),
    ],
)
def test_wrong_array(tmp_path, arrays, key, change, wanted):
    arrays[key] = change(arrays[key])
    np.savez(tmp_path / "digits.npz", **arrays)
    with pytest.raises(DataFileError, match=re.escape(wanted).replace(re.escape(" .* "), " .* ")):
        load_digits(tmp_path / "digits.npz")
