"""The extend example's primitive, its plate, and the disc that both fits find."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from examples import extend

ROOT = Path(__file__).parents[2]
needs_scipy = pytest.mark.skipif(extend.spsolve is None, reason="SciPy is not installed")


@pytest.fixture(scope="module")
def printed(run, tmp_path_factory):
    return run(extend.main, ["--out", str(tmp_path_factory.mktemp("extend"))])


def dense(values, rows, columns, size):
    matrix = np.zeros((size, size))
    np.add.at(matrix, (rows, columns), values)
    return matrix


@needs_scipy
def test_primitive_is_the_dense_solution_and_its_derivative():
    rng = np.random.default_rng(1)
    rows, columns = np.array([0, 1, 2, 0, 1, 2, 2, 0]), np.array([0, 1, 2, 1, 2, 0, 0, 0])  # (2, 0) and (0, 0) twice
    values, b, weights = np.concatenate([[5.0, 6.0, 7.0], rng.normal(size=5)]), rng.normal(size=3), rng.normal(size=3)
    by_values, by_b = extend.grad(lambda values, b: weights @ extend.solve(values, b, rows, columns), argnums=(0, 1))(values, b)
    inverse = np.linalg.inv(dense(values, rows, columns, 3))
    np.testing.assert_allclose(extend.solve(values, b, rows, columns), inverse @ b, rtol=1e-12)
    np.testing.assert_allclose(by_b, weights @ inverse, rtol=1e-12)
    np.testing.assert_allclose(by_values, -(weights @ inverse)[rows] * (inverse @ b)[columns], rtol=1e-12)


@needs_scipy
def test_check_finds_a_wrong_rule(monkeypatch):
    extend.check()
    wrong = extend.extend.general(
        extend._solve,
        vjps=[lambda ct, x, values, b, r, c: -extend.solve(values, ct, c, r)[r] * x[r], lambda ct, x, values, b, r, c: 0.0 * ct],
        name="test.wrong_solve",
    )
    monkeypatch.setattr(extend, "solve", wrong)
    with pytest.raises(AssertionError, match="wrong"):
        extend.check()


@needs_scipy
def test_plate_of_one_conductivity_has_the_series_of_the_square():
    # -laplace(T) = 1 on the unit square, as in torsion, is 0.0736713532814... in the middle (Timoshenko & Goodier, Theory of Elasticity).
    plate = extend.make_plate(31)
    even = np.array([0.5, 0.5, 0.2, 0.0])  # a disc of conductivity 1
    temperatures = extend.temperatures(even, plate)
    assert temperatures[31 * 15 + 15] == pytest.approx(0.0736713532814, rel=2e-3)
    half = extend.temperatures(np.array([0.5, 0.5, 9.0, np.log(2.0)]), plate)  # the disc is everywhere
    np.testing.assert_allclose(half, temperatures / 2.0, rtol=1e-12)


@needs_scipy
def test_links_lie_between_their_points():
    plate = extend.make_plate(4)
    assert len(plate.middles) == 2 * 4 * 3 + 4 * 4
    assert plate.inner == 24
    inside = plate.middles[plate.inner :]
    np.testing.assert_allclose(np.min(np.minimum(inside, 1.0 - inside), axis=1), 0.1)  # half a step from an edge
    ones = np.ones(2 * plate.inner)
    matrix = dense(np.concatenate([ones, -ones]), plate.rows[:-16], plate.columns[:-16], 16)  # without the links to the edges
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_array_equal(matrix.sum(axis=0), 0.0)  # heat that leaves a point enters its neighbors


@needs_scipy
@pytest.mark.parametrize(
    "row",
    [
        "x 0.5800 0.5000 0.5815 0.0098 0.5815 0.0102",
        "y 0.4400 0.5000 0.4481 0.0081 0.4481 0.0083",
        "radius 0.2000 0.2500 0.1990 0.0064 0.1990 0.0068",
        "log conductivity 1.3863 0.5000 1.4504 0.0833 1.4504 0.0845",
    ],
)
def test_prints_both_fits(printed, row):
    assert row in printed


@needs_scipy
def test_prints_how_well_they_agree(printed):
    (difference,) = [float(line.split()[-1]) for line in printed if line.startswith("largest difference between the two")]
    assert difference < 1e-6
    assert "half the squared misfit: 8.1829 and 8.1829 of 25 thermometers" in printed
    (error,) = [float(line.split()[-1]) for line in printed if line.startswith("value and gradient of the misfit")]
    assert error < 1e-8


@needs_scipy
def test_disc_is_found_within_its_errors():
    plate = extend.make_plate(15)
    for seed in (1, 2):
        found = extend.fit(plate, extend.measure(plate, seed))
        assert np.all(np.abs(found.disc - extend.TRUE) < 4.0 * found.errors)


def test_too_small_a_plate_is_refused(capsys):
    with pytest.raises(SystemExit):
        extend.main(["--size", "10"])
    assert "got 10, wanted at least 11" in capsys.readouterr().err


def test_without_scipy_one_line_says_so(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(extend, "spsolve", None)
    with pytest.raises(SystemExit) as left:
        extend.main(["--out", str(tmp_path / "out")])
    assert left.value.code == 'error: this example needs SciPy: pip install scipy, or pip install -e ".[scipy]".'
    assert capsys.readouterr().out == ""
    assert not (tmp_path / "out").exists()


def test_it_is_imported_without_scipy():
    code = "import sys; sys.modules['scipy'] = None; from examples import extend; extend.main([])"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.strip() == 'error: this example needs SciPy: pip install scipy, or pip install -e ".[scipy]".'
