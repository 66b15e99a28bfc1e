"""Operations for random programs: reductions, what moves elements around, indices, updates."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.draft import HAS_NARROW, Draft
from tests.programs.elementwise import Operation, add_one_of, pair, table


def axis_of(d: Draft, x: str) -> int:
    """An axis of a variable that has some, counted from either end."""
    ndim = len(d.shape(x))
    return int(d.rng.integers(-ndim, ndim))


def axes_of(d: Draft, x: str) -> Any:
    """What a reduction may take for `axis`."""
    ndim = len(d.shape(x))
    if ndim == 0 or d.chance(0.25):
        return None
    if ndim > 1 and d.chance(0.25):
        return tuple(int(n) for n in d.rng.permutation(ndim)[: d.rng.integers(1, ndim + 1)])
    return axis_of(d, x)


def is_apart(d: Draft, x: str, axis: Any) -> bool:
    """Whether there are no ties near, along an axis (of several axes: among all numbers)."""

    def least_gap(values: Any) -> float:
        array = np.asarray(values)
        array = np.moveaxis(array, axis, -1) if isinstance(axis, int) else array.ravel()
        return float(np.min(np.diff(np.sort(array, axis=-1), axis=-1), initial=np.inf))

    return all(least_gap(value) > 0.04 for value in d.at_all(x))


def is_full(d: Draft) -> Any:
    """The condition that a variable has axes, none of them empty."""
    return lambda name: bool(d.shape(name)) and min(d.shape(name)) > 0


# ------------------------------------------------------------------------------------------------ reductions

SUMS = table("np.sum({x}, axis={axis}{keep}); np.mean({x}, axis={axis}{keep}); {x}.sum(axis={axis}{keep}); {x}.mean({axis})")
SUMS_OF_AXIS = table("np.add.reduce({x}, axis={axis}{keep}); np.average({x}, axis={axis}{keep})")
REAL_SUMS = table("""
    np.prod({x}, axis={axis}{keep}); {x}.prod(axis={axis}{keep}); np.nansum({x}, axis={axis}{keep});
    np.sum({x}, axis={axis}{keep}, where=np.abs(np.arange({n})) % 2 == 0)
""")
ORDERED = table("""
    np.max({x}, axis={axis}{keep}); np.min({x}, axis={axis}{keep}); {x}.max(axis={axis}{keep}); np.ptp({x}, axis={axis});
    np.median({x}, axis={axis}{keep}); np.quantile({x}, 0.3, axis={axis}{keep}); np.percentile({x}, [20, 70], axis={axis});
    np.max({x}, axis={axis}{keep}, initial=-9.0); np.nanmax({x}, axis={axis}{keep});
    np.where({x} == np.max({x}, axis={axis}, keepdims=True), {x}, 0.5)
""")
ORDERED_ALONG = table("""
    np.sort({x}, axis={axis}); np.take_along_axis({x}, np.argsort({x}, axis={axis}), axis={axis}); np.sort({x}, axis={axis}) * {x};
    np.take_along_axis({x}, np.expand_dims(np.argmax({x}, axis={axis}), {axis}), axis={axis}); np.maximum.accumulate({x}, axis={axis});
    np.partition({x}, 0, axis={axis})
""")
ORDERED_VECTORS = table("""
    {x}[np.argsort({x})]; {x}[np.argmax({x})]; np.take({x}, np.argsort(-{x})); at({x})[np.argmin({x})].set(0.3); np.sort({x})[::-1];
    np.sum({x}[np.argsort({x})[:2]]); at({x})[np.argmax({x})].multiply(np.sum({x})); {x}[{x}.argmin()] * {x}
""")
RUNNING = table("""
    np.cumsum({x}, axis={axis}); np.cumprod({x}, axis={axis}); np.diff({x}, axis={axis}); {x}.cumsum({axis}); np.cumsum({x});
    np.ediff1d({x});
    np.add.accumulate({x}, axis={axis}); np.multiply.accumulate({x}, axis={axis}); np.diff({x}, n=2, axis={axis})
""")


def reduction(d: Draft) -> str | None:
    x = d.pick(complex_too=True)
    if x is None:
        return None
    axis = axes_of(d, x)
    texts = [*SUMS, *([] if isinstance(axis, tuple) else SUMS_OF_AXIS), *([] if d.is_complex(x) else REAL_SUMS)]
    return add_one_of(d, texts, x=x, axis=axis, keep=d.one(("", ", keepdims=True")), n=(d.shape(x) or (1,))[-1])


def spread(d: Draft) -> str | None:
    """Reductions that are smooth away from where all numbers are equal or zero."""
    x = d.pick(lambda name: np.size(d.points[0][name]) > 0)
    if x is None:
        return None
    axis = axes_of(d, x)
    texts = ["nn.logsumexp({x}, axis={axis}{keep})", "np.var({x}, axis={axis}{keep})"]
    if d.is_true(x, lambda value: np.var(value, axis=axis) > 0.02):
        texts += ["np.std({x}, axis={axis}{keep})", "{x}.std(axis={axis}{keep})"]
    if d.is_true(x, lambda value: np.sum(value * value, axis=axis) > 0.05):
        texts += ["np.sqrt(np.sum({x} * {x}, axis={axis}{keep}))"]
        if d.shape(x) and (isinstance(axis, int) or (axis is None or len(axis) == 2)):
            texts += ["np.linalg.norm({x}, axis={axis}{keep})"] * 2
    if np.size(d.points[0][x]) > 2 and axis is None:
        texts += ["np.var({x}, ddof=1)"]
    return add_one_of(d, texts, "kinked", x=x, axis=axis, keep=d.one(("", ", keepdims=True")))


def ordered(d: Draft) -> str | None:
    """What depends on the order of the numbers, which have no ties."""
    x = d.pick(is_full(d))
    if x is None:
        return None
    axis = axes_of(d, x)
    if not is_apart(d, x, axis):
        return None
    texts = [*ORDERED, *(ORDERED_ALONG if isinstance(axis, int) else ()), *(ORDERED_VECTORS if len(d.shape(x)) == 1 else ())]
    return add_one_of(d, texts, "kinked", x=x, axis=axis, keep=d.one(("", ", keepdims=True")))


def running(d: Draft) -> str | None:
    x = d.pick(lambda name: bool(d.shape(name)))
    if x is None:
        return None
    axis = axis_of(d, x)
    ends = ["np.gradient({x}, axis={axis})", "np.diff({x}, axis={axis}, prepend=0.5)"] if d.shape(x)[axis] >= 2 else []
    return add_one_of(d, [*RUNNING, *ends], x=x, axis=axis)


# ------------------------------------------------------------------------------------------------ structure

MOVED = table("""
    np.ravel({x}); np.expand_dims({x}, 0); np.reshape({x}, (-1,)); np.atleast_2d({x}); np.reshape({x}, (1, -1)); np.array(1.0) * {x};
    np.broadcast_to({x}, (2, *np.shape({x}))); np.squeeze({x}); np.tile({x}, 2); np.copy({x}); np.transpose({x})
""")
MOVED_ARRAYS = table("""
    {x}.T; {x}[None]; {x}[..., None]; np.flip({x}); np.flip({x}, {axis}); np.roll({x}, {k}, {axis}); {x}.reshape(-1); np.pad({x}, 1);
    np.repeat({x}, 2, axis={axis}); np.ravel({x}, order='F'); {x}.flatten(); np.reshape({x}, (-1, 1)); {x}.copy(); {x}.ravel();
    np.insert({x}, 0, 0.5, axis={axis}); np.append({x}, {x}, axis={axis}); np.delete({x}, 0, axis={axis});
    np.pad({x}, (1, 0), mode='edge'); np.resize({x}, (2, 2)); np.roll({x}, 1, axis={axis}); np.pad({x}, (0, 2), constant_values=0.3)
""")
MOVED_VECTORS = table("np.diag({x}); np.vander({x}, 2); np.diag({x}, 1); np.stack(np.meshgrid({x}, {x}))")
MOVED_MATRICES = table("""
    np.transpose({x}, {order}); np.swapaxes({x}, 0, -1); np.moveaxis({x}, 0, -1); np.reshape({x}, {other}); np.tril({x}); np.triu({x}, 1);
    np.diagonal({x}); np.trace({x}); np.rot90({x}); np.fliplr({x}); {x}.reshape({n}, -1); {x}.swapaxes(-1, 0)
""")
JOINED = table("""
    np.stack([{x}, {y}]); np.stack(({x}, {x} * 2.0, {y}), axis=-1); np.concatenate([np.ravel({x}), np.ravel({y})]); np.append({x}, {y})
""")
JOINED_ARRAYS = table("""
    np.concatenate([{x}, {y}], axis={axis}); np.hstack([{x}, {y}]); np.vstack([{x}, {y}]); np.column_stack([{x}, {y}]);
    np.dstack(({x}, {y}));
    np.concatenate([{x}, {x} * {y}], axis={axis}); np.block([{x}, {y}]); np.where({m}, {x}, {y}); np.choose({m} * 1, [{x}, {y}]);
    np.stack([row * 2.0 for row in {x}]); np.sum(np.stack([np.sum(row) * row for row in {x}]), 0) + {y};
    np.stack(np.broadcast_arrays({x}, {y}))
""")
CAST = table("{x}.astype(float32); float32(0.7) * {x}; {x}.astype(np.float64)")


def moved(d: Draft) -> str | None:
    """The same elements in another shape or order."""
    x = d.pick(complex_too=True)
    if x is None:
        return None
    shape = d.shape(x)
    fields: dict[str, Any] = {"x": x}
    texts = list(MOVED)
    if shape:
        texts += MOVED_ARRAYS
        fields |= {"axis": axis_of(d, x), "k": int(d.rng.integers(-2, 3)), "n": shape[0]}
    if len(shape) == 1:
        texts += MOVED_VECTORS
    if len(shape) >= 2:
        texts += MOVED_MATRICES
        fields |= {"order": tuple(int(n) for n in d.rng.permutation(len(shape))), "other": (shape[1], shape[0], *shape[2:])}
    return add_one_of(d, texts, **fields)


def joined(d: Draft) -> str | None:
    """Several variables in one."""
    found = pair(d, complex_too=True)
    if found is None:
        return None
    x, y = found
    shape = d.shape(x)
    mask = f"np.array({[bool(k % 2) for k in range((shape or (1,))[-1])]})"
    return add_one_of(d, [*JOINED, *(JOINED_ARRAYS if shape else ())], x=x, y=y, m=mask, axis=axis_of(d, x) if shape else 0)


def cast(d: Draft) -> str | None:
    x = d.pick(lambda name: bool(d.shape(name)))
    return None if x is None or d.has_floats or not HAS_NARROW else add_one_of(d, CAST, "kinked", x=x)


# ------------------------------------------------------------------------------------------------ indices

INDICES = table("""
    {a}; {a}:; :{last}; ::-1; ::2; ...; None; [{a}, {b}]; np.array([{a}, {b}, {c}]); [{a}]; {last}:0:-1; np.array([[{a}], [{b}]]); {a}, ...;
    ..., None; ..., {z}; 1:1; np.arange({n}) % 2 == 0; ..., ::-1; (slice(None), None)
""")
INDICES_OF_MATRICES = table("""
    :, {e}; [{a}, {b}], [{e}, {f}]; :, [{e}, {f}, {g}]; {a}, {e}; {a}, ::-1; np.ix_([{a}], [{e}]); [{a}, {a}], [{e}, {e}]; :, None, {e};
    [{a}, {b}], 1:; [[{a}], [{b}]], [{e}, {f}]; None, {a}, :; {a}, [{e}, {f}]
""")
INDEXED = table("""
    {x}[{index}]; {x}[{index}]; {x}[{index}]; {x}[{index}]; {x}[{index}] * 0.5; np.take({x}, [{a}, {b}], axis={axis});
    np.take({x}, {a}, axis={axis}); np.take({x}, [0, -1]); np.split({x}, [{a}], axis={axis})[1]; np.compress({keep}, {x}, axis={axis});
    {x}.take([{b}]); np.array_split({x}, 2, axis={axis})[0]; np.take({x}, [{a}, {n}], axis={axis}, mode='wrap'); sum({x}); {x}.ravel()[{a}];
    np.extract(np.arange({x}.size) % 2 == 0, {x})
""")
VALUES = table("{y}; np.sum({y}); np.mean({y}); {x}[{index}] * 2.0; 0.7; np.tanh({x}[{index}])")
METHODS = table("set; add; multiply; add; set; subtract")


def index_of(d: Draft, shape: tuple[int, ...]) -> str:
    """The text of an index into an array of a shape with axes, none of them empty."""
    n, m = shape[0], shape[1] if len(shape) > 1 else 1
    a, b, c = (int(k) for k in d.rng.integers(-n, n, 3))
    e, f, g = (int(k) for k in d.rng.integers(-m, m, 3))
    z = int(d.rng.integers(-shape[-1], shape[-1]))
    text = str(d.one([*INDICES, *(INDICES_OF_MATRICES if len(shape) > 1 else ())]))
    return text.format(a=a, b=b, c=c, e=e, f=f, g=g, z=z, n=n, last=n - 1)


def indexed(d: Draft) -> str | None:
    x = d.pick(is_full(d), complex_too=True)
    if x is None:
        return None
    axis = axis_of(d, x)
    n = d.shape(x)[axis]
    a, b = (int(k) for k in d.rng.integers(0, n, 2))
    return add_one_of(d, INDEXED, x=x, index=index_of(d, d.shape(x)), a=a, b=b, n=n, axis=axis, keep=[bool(a), True][:n])


def updated(d: Draft) -> str | None:
    """A variable with some of its elements changed."""
    x = d.pick(is_full(d), complex_too=True)
    y = d.pick(complex_too=x is not None and d.is_complex(x))
    if x is None or y is None:
        return None
    index = index_of(d, d.shape(x))
    value = str(d.one(VALUES)).format(x=x, y=y, index=index)
    return d.add(f"at({x})[{index}].{d.one(METHODS)}({value})")


OPERATIONS: dict[Operation, float] = {
    reduction: 4, spread: 2, ordered: 3, running: 1.5, moved: 5, joined: 3, cast: 0.5, indexed: 4, updated: 2.5,
}  # fmt: skip
