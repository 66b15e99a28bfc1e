"""What holds for each namespace of funcgrad.scipy: all public names of SciPy's are there, with a rule or with an error that names them."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from funcgrad import grad
from funcgrad.errors import NoRuleError
from funcgrad.scipy.fallback import WithoutRule


def without_rule(namespace: ModuleType, module: ModuleType) -> list[str]:
    """The names of SciPy's functions and classes that have no rule."""
    return [name for name in sorted(module.__all__) if name != "test" and isinstance(getattr(namespace, name), WithoutRule)]


def with_rule(namespace: ModuleType) -> list[str]:
    """The names that the namespace defines itself."""
    own = {name: value for name, value in vars(namespace).items() if not name.startswith("_")}
    return [name for name, value in own.items() if getattr(value, "__module__", "").startswith("funcgrad")]


def assert_refuses_by_name(namespace: ModuleType, module: ModuleType, name: str) -> None:
    function = getattr(namespace, name)
    for call in (lambda x: function(x), lambda x: function(np.ones(3), x), lambda x: function(key=[1.0, (x,)])):
        with pytest.raises(NoRuleError, match=rf"^{module.__name__}.{name} has no derivative rule yet"):
            grad(call)(1.0)
    assert function.__wrapped__ is getattr(module, name)


def assert_stands_for(namespace: ModuleType, module: ModuleType, name: str) -> None:
    """A function or class of SciPy's name, documented, in the list of public names."""
    assert callable(getattr(module, name))
    assert name in dir(namespace)
    assert (getattr(namespace, name).__doc__ or "").startswith(f"{module.__name__}.")
