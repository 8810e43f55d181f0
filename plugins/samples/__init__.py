"""Samples of the built-in primitives, a module for each family, which only the conformance kit imports."""
