"""The commands `primax port` and `primax as-jax`."""

__all__: list[str] = []
