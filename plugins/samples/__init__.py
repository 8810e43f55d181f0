"""Samples of the built-in primitives, a module for each family, which the conformance kit alone imports."""
