"""What the tests of optimizers share."""

import warnings

import pytest


@pytest.fixture
def peer():
    """Optax in double precision."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the peer's own import warns of
        ox = pytest.importorskip("optax", reason="compares with optax, which is not installed")
        jax = pytest.importorskip("jax", reason="compares with optax, which needs jax")
        with jax.enable_x64(True):
            yield ox
