"""The parts of a program: types, primitives, rule tables, traces, jaxprs, pytrees and errors."""
