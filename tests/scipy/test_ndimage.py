"""scipy.ndimage at special points: exact cases of interpolation, edges, refusals; and the namespace."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy")

import scipy.ndimage

from funcgrad import grad, jacfwd, jacrev, jvp
from funcgrad.errors import NoRuleError
from funcgrad.scipy import ndimage
from tests.scipy.namespaces import assert_refuses_by_name, assert_stands_for, with_rule, without_rule

MODES = ["constant", "nearest", "mirror", "reflect", "grid-mirror", "grid-wrap", "grid-constant", "wrap"]
RNG = np.random.default_rng(5)
IMAGE = RNG.normal(size=(5, 6))


@pytest.mark.parametrize("name", without_rule(ndimage, scipy.ndimage))
def test_what_has_no_rule_says_so(name: str):
    assert_refuses_by_name(ndimage, scipy.ndimage, name)


@pytest.mark.parametrize("name", with_rule(ndimage))
def test_what_has_a_rule_stands_for_scipys(name: str):
    assert_stands_for(ndimage, scipy.ndimage, name)


def test_plain_values_are_scipys_with_all_its_options():
    out = np.empty((5, 6))
    assert ndimage.gaussian_filter(IMAGE, 1.0, output=out) is out
    assert ndimage.shift([1, 2, 3], 1, order=0).dtype == int
    np.testing.assert_array_equal(ndimage.uniform_filter(IMAGE, mode=["wrap", "nearest"]).shape, (5, 6))


# ------------------------------------------------------------------------------------------------ interpolation


@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_the_slope_of_a_polynomial_is_its_own(order: int):
    """Far from the edges a spline of that order reproduces polynomials of that degree, slopes and curvatures too."""
    x = np.arange(80.0) - 40.0
    places = np.array([39.3, 40.6, 41.9])
    f = lambda places: ndimage.map_coordinates(x**2 / 10, places[None], order=order)
    np.testing.assert_allclose(np.diag(jacrev(f)(places)), (places - 40) / 5, atol=1e-9)
    np.testing.assert_allclose(np.einsum("iii->i", jacfwd(jacrev(f))(places)), 0.2, atol=1e-9)


def test_linear_interpolation_has_the_weights_of_its_corners():
    f = lambda image, place: ndimage.map_coordinates(image, place[:, None], order=1)[0]
    by_image, by_place = grad(f, (0, 1))(IMAGE, np.array([1.25, 3.5]))
    wanted = np.zeros((5, 6))
    wanted[1:3, 3:5] = np.outer([0.75, 0.25], [0.5, 0.5])
    np.testing.assert_allclose(by_image, wanted, rtol=1e-15)
    block = IMAGE[1:3, 3:5]
    np.testing.assert_allclose(by_place, [(block[1] - block[0]).mean(), np.dot([0.75, 0.25], block[:, 1] - block[:, 0])], rtol=1e-13)


@pytest.mark.parametrize("order", [0, 1])
def test_points_on_the_grid_pick_their_element(order: int):
    places = np.array([[0.0, 4.0, 2.0], [0.0, 5.0, 3.0]])
    f = lambda image: np.sum(ndimage.map_coordinates(image, places, order=order) * np.array([1.0, 10.0, 100.0]))
    gradient = grad(f)(IMAGE)
    assert (gradient[0, 0], gradient[4, 5], gradient[2, 3], gradient.sum()) == (1.0, 10.0, 100.0, 111.0)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("order", range(6))
def test_far_outside_too_the_derivative_is_the_slope_of_the_value(order: int, mode: str):
    places = RNG.uniform(-13, 18, (2, 40)) // 0.1 * 0.1 + 0.03  # no point near a knot
    f = lambda places: ndimage.map_coordinates(IMAGE, places, order=order, mode=mode, cval=0.7)
    t = np.full(places.shape, 0.5)
    h = 2.0**-12
    central = lambda h: (f(places + h * t) - f(places - h * t)) / (2 * h)
    np.testing.assert_allclose(jvp(f, (places,), (t,))[1], (4 * central(h) - central(2 * h)) / 3, atol=1e-8)
    g = lambda image: ndimage.map_coordinates(image, places, order=order, mode=mode, cval=0.7)
    direction = RNG.normal(size=IMAGE.shape)
    np.testing.assert_allclose(jvp(g, (IMAGE,), (direction,))[1], g(IMAGE + direction) - g(IMAGE), atol=1e-10)


def test_what_is_cut_off_by_constant_has_no_derivative():
    places = np.array([[-0.5, 4.5], [2.0, 2.0]])
    by_image, by_places = grad(lambda i, p: np.sum(ndimage.map_coordinates(i, p, cval=3.0)), (0, 1))(IMAGE, places)
    np.testing.assert_array_equal(by_image, 0.0)
    np.testing.assert_array_equal(by_places, 0.0)


def test_a_shift_moves_against_the_coordinates():
    by_shift = grad(lambda s: np.sum(ndimage.shift(IMAGE, s, mode="mirror") ** 2))(np.array([0.3, -0.4]))
    matrix = np.eye(2)
    by_offset = grad(lambda o: np.sum(ndimage.affine_transform(IMAGE, matrix, o, mode="mirror") ** 2))(np.array([-0.3, 0.4]))
    np.testing.assert_allclose(by_shift, -by_offset, rtol=1e-10)


# ------------------------------------------------------------------------------------------------ filters

FILTERS: dict[str, Any] = {
    "gaussian": lambda x, mode: ndimage.gaussian_filter(x, 1.3, mode=mode),
    "gaussian slope": lambda x, mode: ndimage.gaussian_filter(x, (0.7, 1.0), order=(1, 0), mode=mode),
    "gaussian1d": lambda x, mode: ndimage.gaussian_filter1d(x, 2.0, axis=0, mode=mode),
    "gaussian_laplace": lambda x, mode: ndimage.gaussian_laplace(x, 0.8, mode=mode),
    "uniform": lambda x, mode: ndimage.uniform_filter(x, 4, mode=mode),
    "uniform origin": lambda x, mode: ndimage.uniform_filter(x, (3, 4), mode=mode, origin=(1, -2)),
    "uniform1d": lambda x, mode: ndimage.uniform_filter1d(x, 9, mode=mode),
    "laplace": lambda x, mode: ndimage.laplace(x, mode=mode),
    "sobel": lambda x, mode: ndimage.sobel(x, 0, mode=mode),
    "prewitt": lambda x, mode: ndimage.prewitt(x, mode=mode),
    "correlate": lambda x, mode: ndimage.correlate(x, IMAGE[:2, :3], mode=mode, origin=(-1, 1)),
    "convolve": lambda x, mode: ndimage.convolve(x, IMAGE[:4, :2], mode=mode, origin=(1, 0)),
    "correlate1d": lambda x, mode: ndimage.correlate1d(x, IMAGE[0, :4], 0, mode=mode, origin=1),
    "convolve1d": lambda x, mode: ndimage.convolve1d(x, IMAGE[0], mode=mode, origin=-1),
}


@pytest.mark.parametrize("mode", ["reflect", "constant", "nearest", "mirror", "wrap"])
@pytest.mark.parametrize("name", FILTERS)
def test_the_jacobian_of_a_filter_is_the_filter_of_units(name: str, mode: str):
    f = lambda x: FILTERS[name](x, mode)
    units = np.eye(30).reshape(30, 5, 6)
    wanted = np.stack([f(unit) for unit in units], -1).reshape(5, 6, 5, 6)
    for jacobian in (jacfwd, jacrev):
        np.testing.assert_allclose(jacobian(f)(IMAGE), wanted, atol=1e-14)


def test_images_of_one_row():
    for name, mode in (("gaussian", "mirror"), ("uniform", "reflect"), ("laplace", "wrap")):
        x = IMAGE[:1]
        units = np.stack([FILTERS[name](unit, mode) for unit in np.eye(6).reshape(6, 1, 6)], -1)
        np.testing.assert_allclose(jacrev(lambda x: FILTERS[name](x, mode))(x).reshape(1, 6, 6), units, atol=1e-14)  # noqa: B023


def test_options_without_a_rule_are_refused_by_name():
    for call, words in (
        (lambda x: ndimage.map_coordinates(x * IMAGE, np.ones((2, 1)), output=np.zeros(1)), "map_coordinates with output"),
        (lambda x: ndimage.gaussian_filter(x * IMAGE, 1.0, mode=["wrap", "nearest"]), "gaussian_filter with a mode for each axis"),
        (lambda x: ndimage.gaussian_filter(IMAGE, x), "gaussian_filter has a derivative rule with respect to its input only"),
        (lambda x: ndimage.uniform_filter(x * IMAGE, output=np.float32), "uniform_filter with output"),
        (lambda x: ndimage.correlate1d(x * IMAGE, [1j, 2.0]), "correlate1d with complex weights"),
    ):
        with pytest.raises(NoRuleError, match=rf"scipy\.ndimage\.{words}"):
            jacrev(call)(2.0)


def test_scipys_own_errors_come_out():
    with pytest.raises(RuntimeError, match="mode not supported"):
        jacrev(lambda x: ndimage.map_coordinates(x, np.ones((2, 1)), mode="nothing"))(IMAGE)
    with pytest.raises(RuntimeError, match="order"):
        jacrev(lambda x: ndimage.map_coordinates(x, np.ones((2, 1)), order=7))(IMAGE)
    with pytest.raises(TypeError):
        jacrev(lambda x: ndimage.gaussian_filter(x, 1.0, nothing=3))(IMAGE)
