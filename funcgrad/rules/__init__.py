"""The kinds of rule: from one definition of a primitive to its operation and both directions of its derivative.

| kind | you write | module |
|---|---|---|
| `unary`, `binary` | one partial an argument | `funcgrad.rules.elementwise` (the hot path) |
| `bilinear` | a transpose an argument | `funcgrad.rules.elementwise` (the hot path) |
| `elementwise` | the same for any number of arguments | `funcgrad.rules.nary` |
| `linear` | the transpose | `funcgrad.rules.nary` |
| `multilinear` | a transpose an argument | `funcgrad.rules.nary` |
| `general` | a jvp and a vjp an argument | `funcgrad.rules.general` |
| `products` | the same, with `times(t, factor)` for products | `funcgrad.rules.general` |
| `composed` | a composition of operations that has the derivatives, where the value is another function's | `funcgrad.rules.composed` |
| `nondifferentiable` | nothing: zero by declaration | `funcgrad.rules.constant` |
"""

from funcgrad.rules.composed import composed as composed
from funcgrad.rules.constant import nondifferentiable as nondifferentiable
from funcgrad.rules.elementwise import bilinear as bilinear
from funcgrad.rules.elementwise import binary as binary
from funcgrad.rules.elementwise import unary as unary
from funcgrad.rules.nary import elementwise as elementwise
from funcgrad.rules.general import general as general
from funcgrad.rules.nary import linear as linear
from funcgrad.rules.nary import multilinear as multilinear
from funcgrad.rules.general import products as products
