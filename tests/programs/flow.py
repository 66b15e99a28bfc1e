"""Control flow for random programs, nested functions, and transforms of them inside the program.

What stands inside of a nested function is drafted as a program of its own, at the points that the function will be called with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.programs import elementwise, matrices, shapes
from tests.programs.draft import BrokenStepError, Draft, Values
from tests.programs.elementwise import Operation, add_where, table
from tests.programs.program import Block, Step

DEEPEST = 2
SMOOTH: dict[Operation, float] = {
    elementwise.smooth: 4, elementwise.binary: 4, elementwise.scale: 1, shapes.moved: 1, shapes.reduction: 1, matrices.product: 1,
}  # fmt: skip
"""What may stand where values are not known."""


def extend(d: Draft, steps: int) -> None:
    """Add random steps to a draft."""
    everything = {**elementwise.OPERATIONS, **shapes.OPERATIONS, **matrices.OPERATIONS, **(OPERATIONS if d.depth < DEEPEST else {})}
    weighted = SMOOTH if d.is_smooth else everything
    operations, weights = list(weighted), np.array(list(weighted.values()))
    wanted = len(d.steps) + steps
    for k in d.rng.choice(len(operations), 12 * steps, p=weights / weights.sum()):
        if len(d.steps) >= wanted:
            break
        operations[k](d)


# ------------------------------------------------------------------------------------------------ Python's control flow

TAILS = table("np.tanh({last}); np.tanh({last} * (k + 0.5)); np.sin({last}) + 0.2 * {name}")
CONDITIONS = table("""
    np.ndim({x}) > 1; np.size({x}) == 3; np.shape({x}) == np.shape({y}); len(np.shape({x})) == 1 and len({x}) > 2; np.ndim({y})
""")


def loop(d: Draft) -> str | None:
    """`for` over a count, the state of one shape."""
    x = d.pick()
    if x is None:
        return None
    name, shape = d.new("v"), d.shape(x)
    inner = Draft(d.rng, [{**point, name: point[x]} for point in d.points], [*d.names[-4:], name, name, name], d)
    inner.is_smooth = True
    extend(inner, int(d.rng.integers(1, 4)))
    last = inner.pick(lambda one: inner.shape(one) == shape and one not in d.names and one != name)
    if last is None:
        return None
    count = int(d.rng.integers(1, 4))
    head = d.one((f"for k in range({count}):", f"for k in range({count}):", f"for k in np.linspace(0.2, 0.5, {count}):"))
    tail = f"{name} = {str(d.one(TAILS)).format(last=last, name=name)}"
    return d.accept(Step(name, f"{name} = {x}", (Block(str(head), tuple(inner.steps), tail),)))


def branch(d: Draft) -> str | None:
    """`if` on a shape."""
    x, y = d.pick(complex_too=True), d.pick()
    if x is None or y is None:
        return None
    name = d.new("v")
    condition = str(d.one(CONDITIONS)).format(x=x, y=y)
    inner = Draft(d.rng, d.points, d.names[-4:], d)
    extend(inner, 2)
    if not inner.steps:
        return None
    is_taken = all(eval(condition, dict(point)) for point in d.points)
    taken, other = Block("", tuple(inner.steps), f"{name} = {inner.names[-1]}"), Block("", (), f"{name} = {x} + {y}")
    blocks = zip((f"if {condition}:", "else:"), (taken, other) if is_taken else (other, taken), strict=True)
    return d.accept(Step(name, "", tuple(Block(head, one.steps, one.tail) for head, one in blocks)))


def concrete(d: Draft) -> str | None:
    """`if` and `while` on a value, which a mapped function cannot do."""
    x = None if d.is_mapped else d.pick(lambda name: np.size(d.points[0][name]) > 0)
    if x is None:
        return None
    name, traits = d.new("v"), frozenset({"concrete", "kinked"})
    if d.chance(0.3) and all(min(abs(np.max(np.abs(v)) * 0.6**k - 1.0) for k in range(9)) > 0.05 for v in d.at_all(x)):
        halving = Block(f"while np.max(np.abs({name})) > 1.0:", (), f"{name} = {name} * 0.6")
        return d.accept(Step(name, f"{name} = {x}", (halving,), traits=traits))
    totals = [float(np.sum(value)) for value in d.at_all(x)]
    level = round(totals[0] + d.one((-0.3, 0.3)), 1)
    if min(abs(total - level) for total in totals) < 0.1:
        return None
    blocks = []
    for head in (f"if np.sum({x}) > {level}:", "else:"):
        inner = Draft(d.rng, d.points, [x, *d.names[-2:], x], d)
        last = elementwise.smooth(inner) if d.chance(0.5) else add_where(inner, elementwise.WITHIN, x)
        blocks.append(Block(head, tuple(inner.steps), f"{name} = {last or x}"))
    return d.accept(Step(name, "", tuple(blocks), traits=traits))


# ------------------------------------------------------------------------------------------------ nested functions


def function(
    d: Draft, operands: Sequence[str], is_closed: bool = False, rows: Sequence[tuple[Values, Any]] | None = None
) -> tuple[str, Block, Draft, str] | None:
    """A nested function: its name, its text, its draft and the variable that it returns.

    Args:
        operands: the variables that it is made for, one for each parameter.
        is_closed: whether it may use its parameters alone.
        rows: of a function that is mapped, the values of its parameter, with those of the variables around.
    """
    name, parameters = d.new("g"), [d.new("u") for _ in operands]
    if rows is None:
        points = [{**point, **{p: point[o] for p, o in zip(parameters, operands, strict=True)}} for point in d.points]
    else:
        points = [{**point, parameters[0]: row} for point, row in rows]
    inner = Draft(d.rng, points, [*([] if is_closed else d.names[-3:]), *parameters * 2], d)
    inner.is_mapped = d.is_mapped or rows is not None
    head = f"def {name}({', '.join(parameters)}):"
    try:
        extend(inner, int(d.rng.integers(1, 5)))
    except BrokenStepError as error:
        block, result = Block(head, (*inner.steps, error.step), f"return {error.step.name}"), d.new("v")
        raise BrokenStepError(Step(result, "", (block,), f"{result} = {name}({', '.join(operands)})")) from None
    if not inner.steps:
        return None
    last = inner.gather(inner.steps[-1].name, 2)
    return name, Block(head, tuple(inner.steps), f"return {last}"), inner, last


JVP_RULE = "h{g}.defjvp(lambda primals, tangents: jvp({g}, primals, tangents))\n"
VJP_RULE = "h{g}.defvjp(lambda *primals: ({g}(*primals), primals), lambda primals, ct: vjp({g}, *primals)[1](ct))\n"
CALLS = {
    "call": "{v} = {g}({args})",
    "call twice": "{v} = {g}({args}) * 0.5 + np.tanh({g}(*({args},)))",
    "checkpoint": "{v} = checkpoint({g})({args})",
    "custom_jvp": "h{g} = custom_jvp({g})\n" + JVP_RULE + "{v} = h{g}({args})",
    "custom_vjp": "h{g} = custom_vjp({g})\n" + VJP_RULE + "{v} = h{g}({args})",
    "both rules": "h{g} = custom_jvp({g})\n" + JVP_RULE + VJP_RULE + "{v} = h{g}({args})",
}
TRAITS = {"custom_jvp": {"own layout"}, "both rules": {"own layout"}, "custom_vjp": {"own layout", "backward"}}


def inside(d: Draft) -> str | None:
    """A nested function that is called, checkpointed, or given a rule for its derivative, which is the right one."""
    operands = [one for one in (d.pick(), d.pick()) if one is not None][: 1 + d.chance(0.4)]
    kind = d.one(("call", "call twice", "checkpoint", "checkpoint", "custom_jvp", "custom_jvp", "both rules", "custom_vjp"))
    if not operands or (kind == "custom_vjp" and d.depth):
        return None
    made = function(d, operands, is_closed=kind in TRAITS)
    if made is None:
        return None
    name = d.new("v")
    after = CALLS[kind].format(v=name, g=made[0], args=", ".join(operands))
    return d.accept(Step(name, "", (made[1],), after, frozenset(TRAITS.get(kind, ()))), kind != "call twice")


FORWARD = table("""
    jvp({g}, ({x},), ({x},))[1]; linearize({g}, {x})[1]({x}); jvp({g}, ({x},), (np.ones_like({x}),))[1];
    jvp(lambda u: jvp({g}, (u,), ({x},))[1], ({x},), ({x},))[1]
""")
BACKWARD = table("""
    vjp({g}, {x})[1](np.cos({g}({x})))[0]; grad({s})({x}); np.sum(value_and_grad({s})({x})[1] * {x});
    grad(lambda u: np.sum(grad({s})(u)))({x});
    value_and_grad(lambda u: np.sum(np.sin({g}(u))))({x})[1]; hvp(lambda u: np.sum(np.sin({g}(u))))({x}, np.ones_like({x}));
    grad(lambda u: np.sum(jvp({g}, (u,), ({x} * 1.0,))[1]))({x}); linear_transpose(linearize({g}, {x})[1], {x})(np.cos({g}({x})))[0]
""")
JACOBIANS = table("jacrev({g})({x}); jacfwd({g})({x}); np.sum(hessian({s})({x}), axis=0); jacfwd(jacrev({s}))({x})")
MAPPED = table("vmap({g}, {axis}, {out})({x}); vmap({g}, {axis}, {out})({x}); vmap({g}, {axis}, {out})({x})")
MAPPED_DERIVATIVES = table("""
    vmap(grad({s}), {axis})({x}); vmap(lambda u: jvp({g}, (u,), (u,))[1], {axis}, {out})({x}); vmap(jacfwd({g}), {axis})({x});
    grad(lambda u: np.sum(np.sin(vmap({g}, {axis})(u))))({x}); vmap(hvp({s}), ({axis}, {axis}))({x}, {x});
    vmap(lambda u: vjp({g}, u)[1](np.tanh({g}(u)) * 1.0)[0], {axis})({x})
""")
STOPPED = table("stop_gradient({x}) * {x}; stop_gradient(np.sin({x})) + {x}; {x} * np.tanh(stop_gradient({x} * {x}))")


def transformed(d: Draft, block: Block, expressions: Sequence[str], **fields: Any) -> str | None:
    """A step that calls a transform of a nested function, which must work."""
    name = d.new("v")
    after = f"{name} = {str(d.one(expressions)).format(**fields)}"
    return d.accept(Step(name, "", (block,), after, frozenset({"kinked", "own layout"})), is_sure=True)


def derivative(d: Draft) -> str | None:
    """The derivative of a nested function, which may use the variables around it, at one of these."""
    x = d.pick(lambda name: np.size(d.points[0][name]) <= 12)
    made = None if x is None else function(d, [x])
    if x is None or made is None:
        return None
    g, block, inner, last = made
    texts = list(FORWARD)
    if not inner.is_complex(last):
        texts += BACKWARD
        if np.size(inner.points[0][last]) * np.size(d.points[0][x]) <= 12:
            texts += JACOBIANS
        pairs = zip(inner.at_all(last), d.at_all(x), strict=True)
        if all(np.shape(a) == np.shape(b) and np.result_type(a) == np.result_type(b) for a, b in pairs):
            texts += ["vjp({g}, {x})[1](np.sin({x}))[0]"]
    return transformed(d, block, texts, g=g, x=x, s=f"lambda u: np.sum({g}(u))" if inner.shape(last) else g)


def mapped(d: Draft) -> str | None:
    """A nested function mapped over an axis of a variable."""
    x = d.pick(shapes.is_full(d))
    if x is None:
        return None
    axis = shapes.axis_of(d, x)
    made = function(d, [x], rows=[(point, row) for point in d.points for row in np.moveaxis(point[x], axis, 0)])
    if made is None:
        return None
    g, block, inner, last = made
    ndim = len(inner.shape(last))
    texts = [*MAPPED, *([] if inner.is_complex(last) else MAPPED_DERIVATIVES)]
    out = int(d.rng.integers(-ndim - 1, ndim + 1))
    return transformed(d, block, texts, g=g, x=x, s=f"lambda u: np.sum({g}(u))", axis=axis, out=out)


def stopped(d: Draft) -> str | None:
    """Part of a variable as a constant; a witness needs its value, so it is not inside of anything."""
    x = d.pick()
    if x is None or d.depth:
        return None
    name = d.new("v")
    return d.accept(Step(name, f"{name} = {str(d.one(STOPPED)).format(x=x)}", traits=frozenset({"kinked"})), is_sure=True)


OPERATIONS: dict[Operation, float] = {loop: 2, branch: 1, concrete: 0.4, inside: 2.5, derivative: 2.5, mapped: 2, stopped: 0.8}
