"""The surface of NumPy: every public name in which a derivative makes sense, and those that have nothing to differentiate, with the reason.

Owns the lists. That each name of them works, or is what it is said to be, is tested in `test_surface.py`.
"""

from __future__ import annotations

NUMPY = """
    abs absolute acos acosh add all allclose amax amin angle any append apply_along_axis apply_over_axes arange arccos arccosh
    arcsin arcsinh arctan arctan2 arctanh argmax argmin argpartition argsort argwhere around array array_equal array_split
    asanyarray asarray asarray_chkfinite ascontiguousarray asfortranarray asin asinh astype atan atan2 atanh atleast_1d atleast_2d
    atleast_3d average bincount block broadcast_arrays broadcast_to c_ cbrt ceil choose clip column_stack compress concat
    concatenate conj conjugate convolve copy copysign corrcoef correlate cos cosh count_nonzero cov cross cumprod cumsum
    cumulative_prod cumulative_sum deg2rad degrees delete diag diag_indices diagflat diagonal diff digitize divide divmod dot dsplit
    dstack ediff1d einsum empty_like exp exp2 expand_dims expm1 extract fabs fix flatnonzero flip fliplr flipud float_power floor
    floor_divide fmax fmin fmod frexp fromfunction full full_like geomspace gradient greater heaviside histogram histogram2d
    histogram_bin_edges histogramdd hsplit hstack hypot i0 imag inner insert interp intersect1d isclose iscomplexobj isfinite isnan
    ix_ kaiser kron ldexp lexsort linspace log log10 log1p log2 logaddexp logaddexp2 logical_and logspace matmul matrix_transpose
    matvec max maximum mean median meshgrid min minimum mod modf moveaxis multiply nan_to_num nanargmax nanargmin nancumprod
    nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar ndim negative nextafter nonzero
    ones_like outer pad partition percentile permute_dims piecewise poly polyadd polyder polydiv polyfit polyint polymul polysub
    polyval positive pow power prod ptp quantile r_ rad2deg radians ravel real real_if_close reciprocal remainder repeat require
    reshape resize result_type rint roll rollaxis roots rot90 round searchsorted select setdiff1d setxor1d shape sign signbit sin
    sinc sinh size sort sort_complex spacing split sqrt square squeeze stack std subtract sum swapaxes take take_along_axis tan tanh
    tensordot tile trace transpose trapezoid tril tril_indices trim_zeros triu triu_indices_from true_divide trunc union1d unique
    unique_all unique_values unstack unwrap vander var vdot vecdot vecmat vectorize vsplit vstack where zeros_like
""".split()

LINALG = """
    cholesky cond cross det diagonal eig eigh eigvals eigvalsh inv lstsq matmul matrix_norm matrix_power matrix_rank
    matrix_transpose multi_dot norm outer pinv qr slogdet solve svd svdvals tensordot tensorinv tensorsolve trace vecdot vector_norm
""".split()

FFT = """
    fft fft2 fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftn
""".split()

EMATH = """
    arccos arcsin arctanh log log10 log2 logn power sqrt
""".split()

UFUNC_METHODS = """
    add.accumulate add.outer add.reduce add.reduceat arctan2.outer divide.outer hypot.outer hypot.reduce logaddexp.accumulate
    logaddexp.outer logaddexp.reduce maximum.accumulate maximum.outer maximum.reduce minimum.reduce multiply.accumulate
    multiply.outer multiply.reduce power.outer power.reduce subtract.outer subtract.reduce
""".split()

ATTRIBUTES = """
    T all argsort astype clip compress conj conjugate copy cumprod cumsum diagonal dot dtype flatten imag item mT max mean min ndim
    nonzero prod ravel real repeat reshape round searchsorted shape size squeeze std sum swapaxes take tolist trace transpose var
""".split()

NOTHING_TO_DIFFERENTIATE = {
    "types and what is asked of them": """
        bool bool_ byte bytes_ cdouble character clongdouble complex128 complex256 complex64 complexfloating csingle datetime64 double
        dtype flexible float128 float16 float32 float64 floating generic half inexact int16 int32 int64 int8 int_ intc integer intp long
        longdouble longlong number object_ short signedinteger single str_ timedelta64 ubyte uint uint16 uint32 uint64 uint8 uintc uintp
        ulong ulonglong unsignedinteger ushort void ufunc finfo iinfo isdtype issubdtype can_cast min_scalar_type mintypecode
        promote_types typename isscalar iterable cfloat float_ longfloat complex_ singlecomplex clongfloat unicode_ string_ obj2sctype
        sctype2char issctype find_common_type issubclass_ issubsctype isctype maximum_sctype cast nbytes sctypeDict DataSource deprecate
        deprecate_with_doc disp byte_bounds compare_chararrays chararray compat recfromcsv recfromtxt safe_eval set_string_function
        set_numeric_ops show_config who lookfor source asfarray alltrue sometrue product cumproduct msort tracemalloc_domain
        add_docstring add_newdoc add_newdoc_ufunc geterrobj seterrobj fastCopyAndTranspose
    """.split(),
    "whole numbers and bits": """
        bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor gcd lcm
        invert left_shift right_shift packbits unpackbits unravel_index ravel_multi_index
    """.split(),
    "text and files": """
        array2string array_repr array_str base_repr binary_repr format_float_positional format_float_scientific fromfile fromregex
        fromstring genfromtxt load loadtxt save savetxt savez savez_compressed get_printoptions printoptions set_printoptions info
        frombuffer from_dlpack
    """.split(),
    "names that NumPy 2 has dropped": """
        format_parser get_array_wrap longcomplex mat round_ array_function_dispatch
    """.split(),
    "dates": """
        busday_count busday_offset busdaycalendar datetime_as_string datetime_data is_busday isnat
    """.split(),
    "settings and the library itself": """
        errstate get_include getbufsize geterr geterrcall setbufsize seterr seterrcall show_config show_runtime test
    """.split(),
    "arrays of given shape, windows and indices": """
        empty ones zeros eye identity tri indices bartlett blackman hamming hanning diag_indices_from mask_indices tril_indices_from
        row_stack triu_indices fftfreq rfftfreq broadcast_shapes einsum_path isfortran
    """.split(),
    "classes of their own kind, which are not arrays of numbers": """
        asmatrix bmat matrix memmap ndarray recarray record poly1d broadcast flatiter ndenumerate ndindex nditer nested_iters frompyfunc
        fromiter
    """.split(),
}
