"""What holds for every test: whatever it did, no transform is left open on this thread."""

from __future__ import annotations

import pytest

from funcgrad import tape


@pytest.fixture(autouse=True)
def _no_scope_is_left_open():
    assert tape.thread.scope is None, "a scope was open before the test began"
    yield
    left = tape.thread.scope
    tape.thread.scope = None  # one test's leak is not to fail the tests after it
    assert left is None, f"{left.name} was left open"
