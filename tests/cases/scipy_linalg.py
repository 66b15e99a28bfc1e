"""scipy.linalg, where SciPy is installed."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.rules.values import raw
from tests.cases.case import Case, Points, case

try:
    from funcgrad.scipy import linalg
except ImportError:
    CASES: list[Case] = []
else:
    points = Points(71)
    real, complex_ = points.real, points.complex

    def sp(function: Any, *args: Any, note: str = "", analytic: bool = True, **options: Any) -> Case:
        """A case in the precisions that LAPACK has. Numbers come as NumPy's: SciPy answers with Python's here and there."""

        def call(f: Any, *args: Any) -> Any:
            if any(arg.dtype.char not in "fdFD" for arg in args):
                raise TypeError("LAPACK has single and double precision")
            found = f(*args, **options)
            is_number = type(raw(found)) is float or getattr(raw(found), "is_number", False)
            return np.multiply(found, args[0].real.dtype.type(1)) if is_number else found

        kinds = "".join(arg.dtype.char for arg in args)
        named = " ".join([note, *(f"{key}={value}" for key, value in options.items() if not note), kinds])
        return case(function, *args, call=call, note=f"scipy {named.strip()}", analytic=analytic, wide=False)

    def square(n: int = 3, make: Any = real) -> np.ndarray:
        """Well conditioned, with eigenvalues in the right half of the plane."""
        return make(n, n) / 2 + (n + 1) * np.eye(n)

    def stack(make: Any = real) -> np.ndarray:
        return make(2, 3, 3) / 2 + 4 * np.eye(3)

    def banded(below: int, above: int) -> Any:
        return _named("solve_banded", lambda ab, b: linalg.solve_banded((below, above), ab, b))

    def toeplitz_with(function: Any) -> Any:
        return _named(function.__name__, lambda c, r, b: function((c, r), b))

    def cho_with(lower: bool) -> Any:
        return _named("cho_solve", lambda c, b: linalg.cho_solve((c, lower), b))

    def lu_with(pivots: list[int], trans: Any) -> Any:
        return _named("lu_solve", lambda lu, b: linalg.lu_solve((lu, np.array(pivots)), b, trans))

    def first(function: Any) -> Any:
        return _named(function.__name__, lambda a, **options: function(a, **options)[0])

    def last_two(function: Any) -> Any:
        return _named(function.__name__, lambda a: tuple(function(a)[1:]))

    def _named(name: str, function: Any) -> Any:
        function.__name__ = name
        return function

    def in_double(function: Any) -> Any:
        """SciPy's logm warns of single precision, and LAPACK may order eigenvalues another way there."""

        def call(a: Any) -> Any:
            if a.dtype.char not in "dD":
                raise TypeError("double precision only")
            return function(a)

        return _named(function.__name__, call)

    def projectors(function: Any) -> Any:
        """Eigenvalues, and v v^H of each vector: the driver chooses signs and phases anew at each point."""

        def call(a: Any, **options: Any) -> Any:
            w, v = function(a, **options)
            return w, v[:, None, :] * np.conj(v)[None, :, :]

        return _named(function.__name__, call)

    def scaled(function: Any) -> Any:
        """Eigenvalues, and vectors whose components add up to 1."""

        def call(a: Any) -> Any:
            w, v = function(a)
            return w, v / np.sum(v, 0)

        return _named(function.__name__, call)

    def least_squares(driver: Any, cond: Any) -> Any:
        """What of lstsq has a derivative: no rank, and no singular values where LAPACK finds none."""

        def call(a: Any, b: Any) -> Any:
            x, residues, _, s = linalg.lstsq(a, b, cond, lapack_driver=driver)
            return tuple(part for part in (x, residues, s) if part is not None and np.size(part))

        return _named("lstsq", call)

    SPREAD = np.diag([0.0, 8.0, 20.0])
    A, H = square(), square(make=complex_)
    B = real(3, 2)
    GENERAL = [*((make, square(make=make)) for make in (real, complex_))]

    CASES = [
        # systems of equations
        sp(linalg.solve, A, real(3)), sp(linalg.solve, A, B), sp(linalg.solve, H, complex_(3, 2)), sp(linalg.solve, A, complex_(3)),
        sp(linalg.solve, H, real(3)), sp(linalg.solve, A, real(3), transposed=True, analytic=False),
        sp(linalg.solve, A, B, transposed=True, analytic=False),
        *(sp(linalg.solve, a, make(3, 2), assume_a=assume, lower=lower, note=f"{assume} {lower}",
             analytic=assume not in ("her", "pos"))
          for assume in ("gen", "sym", "her", "pos", "tridiagonal", "diagonal", "upper triangular", "lower triangular", "banded")
          for lower in ((False, True) if assume in ("sym", "her", "pos") else (False,)) for make, a in GENERAL),
        *(sp(linalg.solve_triangular, a, make(3, 2), trans=trans, lower=lower, unit_diagonal=unit, analytic=trans not in (2, "C"),
             note=f"{trans} {lower} {unit}")
          for trans in (0, "T", 2) for lower in (False, True) for unit in (False, True) for make, a in GENERAL),
        sp(linalg.solve_triangular, A, real(3)), sp(linalg.solve_triangular, A, complex_(3)),
        *(sp(banded(below, above), make(below + above + 1, 4) + 5 * np.eye(below + above + 1)[above][:, None], make(*shape),
             note=f"{below} {above}")
          for below, above in ((1, 1), (2, 0), (0, 1), (1, 2)) for shape in ((4,), (4, 2)) for make in (real, complex_)),
        *(sp(linalg.solveh_banded, make(2, 4) + 5 * np.eye(2)[1 - lower][:, None], make(*shape), lower=lower, analytic=False,
             note=f"{lower}")
          for lower in (False, True) for shape in ((4,), (4, 2)) for make in (real, complex_)),
        *(sp(toeplitz_with(linalg.solve_toeplitz), make(3) + 4 * np.eye(3)[0], make(3), make(*shape))
          for make in (real, complex_) for shape in ((3,), (3, 2))),
        sp(linalg.solve_toeplitz, real(3) + 4 * np.eye(3)[0], real(3), analytic=False),
        sp(linalg.solve_toeplitz, complex_(3) + 4 * np.eye(3)[0], real(3), analytic=False),
        *(sp(toeplitz_with(linalg.matmul_toeplitz), make(3), make(4), make(*shape), analytic=False)
          for make in (real, complex_) for shape in ((4,), (4, 2))),
        # matrix equations
        *(sp(linalg.solve_sylvester, a, square(2, make), make(3, 2), analytic=False) for make, a in GENERAL),
        *(sp(linalg.solve_continuous_lyapunov, a, make(3, 3), analytic=False) for make, a in GENERAL),
        *(sp(linalg.solve_discrete_lyapunov, a / 8, make(3, 3), method=method, note=f"{method}", analytic=False)
          for make, a in GENERAL for method in ("direct", "bilinear")),
        # inverses and sizes
        *(sp(linalg.inv, a) for make, a in GENERAL),
        *(sp(linalg.pinv, make(*shape), analytic=False)
          for make in (real, complex_) for shape in ((3, 2), (2, 3), (2, 2))),
        *(sp(linalg.det, a) for make, a in GENERAL), sp(linalg.det, stack()),
        *(sp(linalg.norm, make(*shape), ord=order, note=f"{order}", analytic=False)
          for make in (real, complex_) for order in (None, 1, np.inf, 2) for shape in ((3,), (2, 3))),
        sp(linalg.norm, real(2, 3), axis=1, keepdims=True, analytic=False), sp(linalg.norm, real(2, 3), ord="fro", analytic=False),
        sp(least_squares(None, None), A, real(3), analytic=False),
        *(sp(least_squares(driver, cond), make(*shape), make(*b), note=f"{driver} {cond}", analytic=False)
          for make, driver, cond, shape, b in (
              (real, None, None, (4, 2), (4,)), (complex_, None, 1e-10, (4, 2), (4, 3)), (real, "gelsy", None, (4, 2), (4, 2)),
              (real, "gelss", None, (2, 3), (2,)),
          )),
        # factorizations
        *(sp(f, a, lower=lower, note=f"{lower}", analytic=False)
          for f in (linalg.cholesky, first(linalg.cho_factor)) for lower in (False, True) for make, a in GENERAL),
        *(sp(cho_with(lower), a, make(*shape), note=f"{lower}", analytic=False)
          for lower in (False, True) for make, a in GENERAL for shape in ((3,), (3, 2))),
        *(sp(first(linalg.lu_factor), a[[2, 0, 1]]) for make, a in GENERAL),
        *(sp(lu_with([2, 2, 2], trans), a, make(*shape), note=f"{trans}", analytic=trans != 2)
          for trans in (0, 1, 2) for make, a in GENERAL for shape in ((3,), (3, 2))),
        *(sp(last_two(linalg.lu), a[[2, 0, 1]]) for make, a in GENERAL),
        sp(linalg.lu, A[[2, 0, 1]], permute_l=True),
        *(sp(linalg.qr, make(*shape) + 3 * np.eye(*shape), mode=mode, analytic=False)
          for make in (real, complex_) for mode in ("full", "economic", "r") for shape in ((3, 3), (3, 2), (2, 3))
          if (make, mode, shape) != (complex_, "full", (3, 2))),  # what full adds is LAPACK's choice
        *(sp(linalg.svd, make(*shape), full_matrices=False, analytic=False) for make in (real, complex_) for shape in ((3, 2), (2, 3))),
        sp(linalg.svd, real(3, 2), analytic=False, note="full"), sp(linalg.svd, real(2, 2), lapack_driver="gesvd", analytic=False),
        *(sp(linalg.svdvals, make(2, 3), analytic=False) for make in (real, complex_)),
        sp(linalg.svd, real(2, 3), compute_uv=False, analytic=False),
        *(sp(linalg.polar, make(*shape), side=side, analytic=False)
          for make in (real, complex_) for shape in ((3, 2), (2, 3)) for side in ("left", "right")),
        *(sp(f, make(3, 3) + SPREAD, lower=lower, analytic=False)
          for f in (projectors(linalg.eigh), linalg.eigvalsh) for make in (real, complex_) for lower in (False, True)),
        sp(projectors(linalg.eigh), real(3, 3) + SPREAD, driver="evd", analytic=False),
        sp(linalg.eigh, real(3, 3), eigvals_only=True, analytic=False),
        *(sp(f, make(3, 3) + SPREAD, analytic=False)
          for f in (in_double(scaled(linalg.eig)), in_double(linalg.eigvals)) for make in (real, complex_)),
        sp(linalg.eigvals, np.array([[0.0, 1.0], [-1.2, 0.3]]), note="a pair", analytic=False),
        sp(scaled(linalg.eig), np.array([[0.0, 1.0], [-1.2, 0.3]]), note="a pair", analytic=False),
        sp(linalg.eig, real(3, 3) + SPREAD, right=False, analytic=False),
        # functions of matrices
        *(sp(f, a / 4) for make, a in GENERAL for f in (linalg.expm,)), sp(linalg.expm, stack() / 4),
        *(sp(in_double(linalg.logm), a / 4, analytic=False) for make, a in GENERAL),
        *(sp(f, a / 8, analytic=False) for make, a in GENERAL
          for f in (linalg.sqrtm, linalg.cosm, linalg.sinm, linalg.tanm, linalg.coshm, linalg.sinhm, linalg.tanhm)),
        *(sp(linalg.fractional_matrix_power, a / 4, t=t, analytic=False) for make, a in GENERAL for t in (0.3, -1.5, 3)),
        sp(in_double(linalg.logm), np.diag([-1.0, 2.0, 3.0]) + real(3, 3) / 10, note="complex result", analytic=False),
        sp(linalg.sqrtm, A - 6 * np.eye(3), note="complex result", analytic=False),
        *(sp(linalg.expm_frechet, a / 4, make(3, 3), analytic=False) for make, a in GENERAL),
        sp(linalg.expm_frechet, A / 4, real(3, 3), compute_expm=False, analytic=False),
        *(sp(linalg.funm, a, func=func, note=f"{func.__name__} {note}", analytic=False)
          for note, a in (("", A + A.T), ("", H + H.conj().T), ("repeated", np.diag([1.0, 1.0, 2.0])), ("general", A))
          for func in (np.sin, np.log)),
        sp(_named("funm", lambda a, p: linalg.funm(a, np.power, args=(p,))), A + A.T, np.array(0.7), analytic=False),
        # special matrices
        sp(linalg.block_diag, real(2, 3), real(2), real(1, 1)), sp(linalg.block_diag, real(2, 2), complex_(1, 2)),
        sp(linalg.toeplitz, real(3), analytic=False),
        sp(linalg.toeplitz, real(3), real(4)), sp(linalg.toeplitz, complex_(3), analytic=False),
        sp(linalg.hankel, real(3)), sp(linalg.hankel, real(3), complex_(4)), sp(linalg.circulant, real(3)),
        sp(linalg.leslie, real(4), real(3)), sp(linalg.khatri_rao, real(2, 3), real(4, 3)),
        *(sp(linalg.convolution_matrix, real(3), n=4, mode=mode) for mode in ("full", "same", "valid")),
    ]  # fmt: skip
