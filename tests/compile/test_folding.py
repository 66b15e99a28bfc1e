"""Constants: calls that depend on no input are made once."""

import numpy as np

from funcgrad.instructions import Instruction, Variable
from funcgrad.transforms.compile.folding import with_constants_folded
from funcgrad.transforms.compile.program import Program
from tests.compile.programs import names, program_of, run


def with_constant(function, *args, **options):
    """A program of x that adds to it what a call of constants gives, and that call's value."""
    x = Variable(np.ones(3))
    made, total = Variable(function(*args, **options)), Variable(np.ones(3))
    calls = [Instruction(function, args, options, made, None), Instruction(np.add, (x, made), {}, total, None)]
    return Program("f", [x], calls, [total, made], [])


def test_a_call_of_constants_is_one():
    program = with_constants_folded(with_constant(np.sin, np.arange(3.0)))
    assert names(program) == ["add"]
    total, made = run(program, [np.ones(3)])
    np.testing.assert_array_equal(total, 1.0 + np.sin(np.arange(3.0)))
    np.testing.assert_array_equal(made, np.sin(np.arange(3.0)))
    made[...] = 5.0
    np.testing.assert_array_equal(run(program, [np.ones(3)])[1], np.sin(np.arange(3.0)))


def test_a_chain_of_them_too():
    program = with_constant(np.sin, np.arange(3.0))
    y = Variable(np.float64(1.0))
    program.instructions.append(Instruction(np.add.reduce, (program.outputs[1],), {}, y, None))
    program.outputs.append(y)
    folded = with_constants_folded(program)
    assert names(folded) == ["add"] and type(folded.outputs[2]) is np.float64


def test_views_of_constants_are_copies():
    base = np.arange(6.0).reshape(2, 3)
    program = with_constants_folded(with_constant(np.transpose, np.ones((3, 1))))
    assert program.outputs[1].base is None
    program = with_constants_folded(with_constant(np.ndarray.__getitem__, base, 0))
    base[...] = 7.0
    np.testing.assert_array_equal(program.outputs[1], [0.0, 1.0, 2.0])


def test_what_raises_or_is_large_stays():
    program = with_constant(np.zeros, 3)
    program.instructions[0].function = np.linalg.inv
    assert names(with_constants_folded(program)) == ["inv", "add"]
    large = with_constant(np.zeros, 3)
    large.instructions[0].args = (200_000,)
    large.instructions[0].output.shape = (200_000,)
    assert len(with_constants_folded(large).instructions) == 2


def test_programs_without_any():
    program = program_of(lambda x: np.sin(x) * 2.0, np.ones(3))
    assert with_constants_folded(program) is program
