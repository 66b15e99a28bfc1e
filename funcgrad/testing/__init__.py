"""Derivatives held against differences, mapped functions against loops, compiled ones against themselves, for functions and rules of yours.

Owns the checkers and the differences that they trust. Must not know any rule: what it checks reaches it through the public transforms.
"""

from funcgrad.testing.checkers import check_grads as check_grads
from funcgrad.testing.checkers import check_jvp as check_jvp
from funcgrad.testing.checkers import check_vjp as check_vjp
from funcgrad.testing.compiled import check_jit as check_jit
from funcgrad.testing.mapped import check_vmap as check_vmap
from funcgrad.testing.differences import numerical_grad as numerical_grad

__all__ = ["check_grads", "check_jit", "check_jvp", "check_vjp", "check_vmap", "numerical_grad"]
