"""Worked examples of funcgrad, each one command: `python -m examples.NAME`; `SUMMARIES` says what each shows.

`python -m examples` runs moons, then digits.
"""

SUMMARIES = {
    "engine": "derivatives of scalar expressions, the tape, rules against differences",
    "tensor": "the same on arrays: broadcasting, a network's pieces, cross-entropy",
    "xor": "a 2-2-1 network on Python floats",
    "moons": "two half circles told apart, on Python floats and on arrays",
    "digits": "handwritten digits read by a small network",
    "modes": "when forward mode is cheaper, when reverse mode",
    "extend": "a compiled solver of SciPy's made differentiable, and a disc found in a heated plate (needs SciPy)",
}
