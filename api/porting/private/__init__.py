"""The names of JAX's private modules that packages use, in the stand-in for JAX."""

__all__: list[str] = []
