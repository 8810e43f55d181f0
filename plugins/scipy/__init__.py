"""SciPy's functions on primax arrays."""
