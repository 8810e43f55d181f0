"""Rules made wrong on purpose, to see whether the conformance kit finds each: `make mutants`."""
