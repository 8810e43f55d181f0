"""What packages use of the private modules of JAX, where primax stands in for it."""

__all__: list[str] = []
