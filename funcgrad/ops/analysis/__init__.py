"""Numerical analysis: running results, differences, interpolation, convolution, Fourier transforms, polynomials."""
