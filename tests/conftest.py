"""What holds for every test: whatever it did, no transform is left open on this thread. And which tests are of SciPy's functions."""

from __future__ import annotations

import pytest

from funcgrad import tape


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the laws of cases of SciPy's functions: only these are new where SciPy is installed after the other tests have run."""
    of_cases = [(item, item.callspec.params["case"]) for item in items if "case" in getattr(getattr(item, "callspec", None), "params", ())]
    if of_cases:
        from tests.cases import OF_SCIPY  # which is light work only after the tests of cases have been collected

        for item, case in of_cases:
            if case in OF_SCIPY:
                item.add_marker("scipy")


@pytest.fixture(autouse=True)
def _no_scope_is_left_open():
    assert tape.thread.scope is None, "a scope was open before the test began"
    yield
    left = tape.thread.scope
    tape.thread.scope = None  # one test's leak is not to fail the tests after it
    assert left is None, f"{left.name} was left open"
