"""Primitives of your own: functions that funcgrad cannot look into (compiled, or of another library), with rules for their derivatives.

A function composed of operations that have rules needs none of this: it differentiates as it is. A primitive is defined once, by the kind
that fits, and has both modes, in any order and nesting:

| kind | you write | you get |
|---|---|---|
| `unary`, `binary`, `elementwise` | t times the derivative, an argument each | jvp and vjp, broadcasting undone, zeros kept |
| `linear` | the transpose | the jvp, which is the function itself |
| `multilinear` | a transpose an argument | the jvp |
| `general` | a jvp or a vjp an argument | the other, where the rule can be transposed |
| `products` | the same, with `times(t, factor)` for products | zeros kept where a factor is infinite |
| `composed` | a composition that has the derivatives | both modes, beside a value of the function's own |
| `nondifferentiable` | nothing | a constant |

In all of them t is a tangent or a cotangent, `ct` a cotangent, `ans` the answer. The function sees plain numbers and arrays (read-only: it
must not change them) and returns one number or array. Rules are written in NumPy, in funcgrad's operations, or with other primitives: they
are differentiated themselves for derivatives of higher order. A cotangent has the shape of its operand (`unbroadcast` where that was
stretched). Complex numbers follow JAX: a transpose is not conjugated.

What a rule returns is checked: an error names the primitive, the rule, the argument, and the shape or dtype that was wanted and got.
Whether the numbers are right, `funcgrad.testing.check_grads` says.

Inside `vmap` the elementwise kinds take all examples at once, the others one after the other, unless the keyword `batch=` says how to take
them together (`funcgrad.rules.batching`).

Several outputs: write a primitive for each, or `funcgrad.custom_jvp` and `funcgrad.custom_vjp`, whose functions take and return trees and
are one step of the tape all the same.

`register(function, operation)` lets an operation answer for a ufunc, or for a function of NumPy's that has no rule yet, so that code that
calls that function need not be changed.
"""

from funcgrad.extend.elementwise import binary as binary
from funcgrad.extend.elementwise import elementwise as elementwise
from funcgrad.extend.elementwise import unary as unary
from funcgrad.extend.kinds import composed as composed
from funcgrad.extend.kinds import general as general
from funcgrad.extend.kinds import linear as linear
from funcgrad.extend.kinds import multilinear as multilinear
from funcgrad.extend.kinds import nondifferentiable as nondifferentiable
from funcgrad.extend.kinds import products as products
from funcgrad.extend.kinds import unbroadcast as unbroadcast
from funcgrad.extend.registry import register as register

__all__ = [
    "binary",
    "composed",
    "elementwise",
    "general",
    "linear",
    "multilinear",
    "nondifferentiable",
    "products",
    "register",
    "unary",
    "unbroadcast",
]
