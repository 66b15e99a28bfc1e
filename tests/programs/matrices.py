"""Operations for random programs: products, linear systems, convolutions, softmax and other functions of whole arrays."""

from __future__ import annotations

import numpy as np

from tests.programs.draft import Draft
from tests.programs.elementwise import Operation, add_one_of, table
from tests.programs.shapes import axis_of, is_full

PRODUCTS = table("""
    {x} @ {matrix}; {x} @ {vector}; np.dot({x}, {column}); np.inner({x}, {x}); np.tensordot({x}, {x}, {ndim}); np.matmul({before}, {x});
    np.einsum('...i,...i->...', {x}, {x}); np.einsum('...i->i', {x}); np.einsum('...i,i', {x}, {vector})
""")
PRODUCTS_OF_TWO = table("""
    {x} @ {y}; np.dot({x}, {y}); np.matmul({x}, {y}); np.tensordot({x}, {y}, axes=1); np.einsum('...i,i...->...', {x}, {y})
""")
"""Not x.dot(y): where only y is traced, NumPy has no way to hand the call over."""
PRODUCTS_OF_VECTORS = table("""
    np.outer({x}, {x}); np.convolve({x}, {pair}); np.einsum('i,j->ij', {x}, {x}); np.outer({x}, {pair}); np.einsum('i,i->', {x}, {x});
    np.multiply.outer({x}, {x}); np.convolve({x}, {x}, 'same'); np.correlate({x}, {pair}, 'full'); {x}.dot({x})
""")
PRODUCTS_OF_MATRICES = table("""
    {x} @ {x}.T; {x}.T @ {x}; np.einsum('ij,kj->ik', {x}, {x}); np.einsum('ij->ji', {x}); np.einsum('ij,ij->j', {x}, {x}); {x}.dot({x}.T);
    np.kron({x}, {pair}); np.einsum('ij,kj,kl->il', {x}, {x}, {x}); np.linalg.multi_dot([{x}, {x}.T, {x}])
""")
PRODUCTS_OF_SQUARES = table("np.einsum('ii->i', {x}); np.einsum('ii', {x}); {x} @ {x}; np.linalg.matrix_power({x}, 2)")
PRODUCTS_OF_STACKS = table("{x} @ np.swapaxes({x}, -1, -2); np.einsum('aij,aik->jk', {x}, {x}); np.einsum('abc->cab', {x})")
OF_ANY_TWO = table("""
    np.outer({x}, {y}); np.convolve({x}, {y}); np.einsum('i,j->ji', {x}, {y}); np.kron({x}, {y}); np.multiply.outer({x}, {y});
    np.outer({x}, {y}) @ {y}; np.tensordot({x}, {y}, axes=0); {x}[:, None] * {y}
""")


def product(d: Draft) -> str | None:
    """Matrix and vector products of what fits, or of a variable with itself or a constant."""
    x = d.shaped(1, 2, 3, complex_too=True)
    if x is None:
        return None
    shape = d.shape(x)
    ndim, n = len(shape), shape[-1]
    y = d.pick(lambda name: len(d.shape(name)) in (1, 2) and d.shape(name)[0] == n, complex_too=True)
    texts = [*PRODUCTS, *(PRODUCTS_OF_TWO * 2 if y is not None else ())]
    texts += {1: PRODUCTS_OF_VECTORS, 2: PRODUCTS_OF_MATRICES, 3: PRODUCTS_OF_STACKS}[ndim]
    if ndim == 2 and shape[0] == n:
        texts += PRODUCTS_OF_SQUARES
    if n == 3:
        texts += ["np.cross({x}, {vector})"]
    if d.chance(0.05):
        return d.add(f"np.vdot({x}, {x}).real", "kinked")
    constants = {"matrix": d.array(n, 2), "vector": d.array(n), "column": d.array(n, 1), "before": d.array(2, shape[0]), "pair": d.array(2)}
    return add_one_of(d, texts, x=x, y=y, ndim=ndim, **constants)


def two_products(d: Draft) -> str | None:
    """Products of two vectors of any lengths."""
    x, y = d.shaped(1, complex_too=True), d.shaped(1, complex_too=True)
    return None if x is None or y is None else add_one_of(d, OF_ANY_TWO, x=x, y=y)


# ------------------------------------------------------------------------------------------------ linear algebra

OF_POSITIVE = table("np.linalg.inv({p}); np.linalg.det({p}); np.linalg.solve({p}, {x}); np.linalg.solve({p}, {column})")
OF_POSITIVE_NOT_ANALYTIC = table("np.linalg.slogdet({p})[1]; np.linalg.cholesky({p}); np.linalg.pinv({p})")
OF_DOMINANT = table("np.linalg.solve({q}, {x}); np.linalg.inv({q}); np.linalg.det({q}); np.linalg.solve({q}, {matrix})")
EIGEN = table("np.linalg.eigvalsh({p}); np.linalg.svd({p}, compute_uv=False); np.linalg.eigh({p})[1] ** 2; np.linalg.norm({p}, 'nuc')")


def linear_algebra(d: Draft) -> str | None:
    """Functions of a matrix that is made well-conditioned: positive definite, or of a large diagonal."""
    x = d.shaped(2, 3, least=1)
    if x is None:
        return None
    n, m = d.shape(x)[-2:]
    if n > 3 or m > 3 or not d.is_true(x, lambda v: np.abs(v) < 4.0):
        return None
    positive = f"({x} @ np.swapaxes({x}, -1, -2) * 0.2 + np.diag({[1.0 + k for k in range(n)]}))"
    dominant = f"(np.tanh({x}) + {n + 1.0} * np.eye({n}))"
    chance = d.rng.random()
    if chance < 0.25 and len(d.shape(x)) == 2:
        gaps = [np.diff(np.linalg.eigvalsh(v @ v.T * 0.2 + np.diag(1.0 + np.arange(n)))) for v in d.at_all(x)]
        return add_one_of(d, EIGEN, "kinked", p=positive) if np.min(gaps, initial=1.0) > 0.15 else None
    if chance < 0.4:
        return add_one_of(d, OF_POSITIVE_NOT_ANALYTIC, "kinked", p=positive)
    b = d.pick(lambda name: len(d.shape(name)) == 1 and d.shape(name)[0] == n) if n == m and len(d.shape(x)) == 2 else None
    texts = [*OF_POSITIVE, *(OF_DOMINANT if n == m else ()), *(["np.linalg.solve({q}, {b})"] * 3 if b is not None else [])]
    return add_one_of(d, texts, p=positive, q=dominant, x=x, b=b, column=d.array(n, 1), matrix=d.array(n, 2))


# ------------------------------------------------------------------------------------------------ whole arrays

WHOLE = table("""
    nn.softmax({x}, axis={axis}); nn.log_softmax({x}, axis={axis}); np.fft.fft({x}, axis={axis}).real; nn.softmax({x});
    np.abs(np.fft.rfft({x}, axis={axis})) ** 2; np.fft.ifft({x}, axis={axis}).imag; np.polyval({three}, {x});
    np.fft.irfft(np.fft.rfft({x}), {n}); nn.softmax({x} * 2.0, axis={axis}) * {x};
    np.average({x}, axis={axis}, weights=np.exp(np.arange({size}) * 0.2))
""")


def whole(d: Draft) -> str | None:
    """Other functions along an axis."""
    x = d.pick(is_full(d))
    if x is None:
        return None
    axis, n = axis_of(d, x), d.shape(x)[-1]
    texts = list(WHOLE)
    if n > 1:
        texts += ["nn.layer_norm({x})"]
        texts += ["np.trapezoid({x})", "np.trapezoid({x}, dx=0.5)"] if hasattr(np, "trapezoid") else []
    return add_one_of(d, texts, "kinked", x=x, axis=axis, n=n, size=d.shape(x)[axis], three=d.array(3))


OPERATIONS: dict[Operation, float] = {product: 4, two_products: 1, linear_algebra: 2, whole: 3}
