"""What has no rule: SciPy's own on plain values, an error by name on tracers."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy")

import scipy.interpolate
import scipy.linalg
import scipy.special
import scipy.stats

from funcgrad import grad
from funcgrad.errors import NoRuleError
from funcgrad.primitive import OPERATIONS
from funcgrad.rules.values import holds_tracer
from funcgrad.scipy import linalg as namespace
from funcgrad.scipy.fallback import WithoutRule, in_place_of, without_rules

linalg, names = without_rules(scipy.linalg, own=["mine"])
interpolate, _ = without_rules(scipy.interpolate)
stats, _ = without_rules(scipy.stats)


def refused(f: Any, message: str) -> None:
    with pytest.raises(NoRuleError, match=message):
        grad(f)(1.0)


def test_a_function_is_scipys_on_plain_values():
    pascal = linalg("pascal")
    np.testing.assert_array_equal(pascal(3), scipy.linalg.pascal(3))
    assert pascal is linalg("pascal")
    assert (pascal.__name__, pascal.__doc__) == ("scipy.linalg.pascal", scipy.linalg.pascal.__doc__)
    assert inspect.signature(pascal) == inspect.signature(scipy.linalg.pascal)
    assert repr(pascal) == "<scipy.linalg.pascal, without a derivative rule>"


def test_a_tracer_anywhere_in_the_arguments_is_refused_by_name():
    circulant = linalg("circulant")
    for call in (circulant, lambda x: circulant([1.0, x]), lambda x: circulant(c=x), lambda x: circulant({"a": [(x,)]})):
        refused(call, r"^scipy\.linalg\.circulant has no derivative rule yet: compose it")


def test_methods_are_refused_by_their_names():
    norm = stats("norm")
    assert norm.pdf(0.3) == scipy.stats.norm.pdf(0.3)
    assert norm(1.0, 2.0).mean() == 1.0
    refused(norm.pdf, r"^scipy\.stats\.norm\.pdf has no")
    refused(lambda x: norm(x, 1.0), r"^scipy\.stats\.norm has no")
    with pytest.raises(AttributeError, match="nothing"):
        _ = norm.nothing


def test_classes_stay_classes():
    BSpline = interpolate("BSpline")
    spline = BSpline.basis_element([0.0, 1.0, 2.0])
    assert isinstance(spline, BSpline)
    assert issubclass(scipy.interpolate.BSpline, BSpline)

    class Mine(BSpline):
        pass

    assert Mine.__mro__[1] is scipy.interpolate.BSpline
    refused(lambda x: BSpline([0.0, 1.0, x], [1.0], 1), r"^scipy\.interpolate\.BSpline has no")
    refused(lambda x: BSpline.basis_element([0.0, x]), r"^scipy\.interpolate\.BSpline\.basis_element has no")


def test_exceptions_modules_and_ufuncs_with_a_rule_pass_as_they_are():
    assert linalg("LinAlgError") is np.linalg.LinAlgError
    assert linalg("blas") is scipy.linalg.blas
    pytest.importorskip("funcgrad.scipy.special")
    special, _ = without_rules(scipy.special)
    assert isinstance(special("lambertw"), WithoutRule)
    known = next(name for name in scipy.special.__all__ if getattr(scipy.special, name) in OPERATIONS)
    assert special(known) is getattr(scipy.special, known)


def test_what_is_not_there_is_no_attribute():
    with pytest.raises(AttributeError, match=r"module 'scipy\.linalg' has no attribute 'nothing'"):
        linalg("nothing")
    for name in ("__path__", "__wrapped__", "__file__"):
        with pytest.raises(AttributeError):
            linalg(name)
    assert {"mine", "pascal", "LinAlgError"} < set(names())
    assert linalg("__all__") == names()


def test_a_wrapper_can_be_copied():
    again = pickle.loads(pickle.dumps(linalg("pascal")))
    np.testing.assert_array_equal(again(2), [[1, 1], [1, 2]])
    assert repr(again) == repr(linalg("pascal"))


def test_the_decorator_leaves_plain_values_to_scipy():
    @in_place_of(scipy.linalg.det)
    def det(a: Any) -> Any:
        """Traced."""
        return 5.0 * a

    assert det([[2.0]]) == 2.0
    assert grad(det)(2.0) == 5.0
    assert det.__doc__ == "Traced."


def test_tracers_are_found_in_trees_of_any_keys():
    assert not holds_tracer(1.0, [2.0, {"a": 1, 3: (None,)}], np.ones(2))
    assert grad(lambda x: x * holds_tracer({1: 0.0, "a": [x]}))(2.0) == 1.0


def test_names_can_be_imported():
    from funcgrad.scipy.linalg import hilbert

    np.testing.assert_array_equal(hilbert(2), scipy.linalg.hilbert(2))
    assert set(scipy.linalg.__all__) - {"test"} <= set(dir(namespace))


def test_methods_of_scipys_ufuncs_have_no_rule_whatever_was_imported_first():
    code = (
        "import numpy as np, scipy.special as sp\nfrom funcgrad import grad\nfrom funcgrad.errors import NoRuleError\n"
        "grad(sp.gammaln)(2.0)\ngrad(lambda x: np.hypot.reduce(x))(np.ones(2))\n"
        "try:\n    grad(lambda x: np.sum(sp.xlogy.outer(x, x)))(np.ones(2))\nexcept NoRuleError as error:\n    print(error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "xlogy.outer" in ran.stdout
