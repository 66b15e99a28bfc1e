"""Linear algebra, as numpy.linalg has it."""
