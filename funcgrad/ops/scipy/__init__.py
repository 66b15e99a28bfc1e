"""What SciPy has beyond NumPy. These modules need SciPy."""
