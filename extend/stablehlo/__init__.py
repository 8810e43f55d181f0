"""What lowering rules are made of: operations of StableHLO, foreign calls, calls of the host, other functions."""

__all__: list[str] = []
