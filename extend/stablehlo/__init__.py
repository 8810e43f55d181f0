"""The parts of lowering rules: operations of StableHLO, foreign calls, calls of the host, other functions."""

__all__: list[str] = []
