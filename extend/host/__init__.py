"""The plugin host: finding, loading and recording plugins."""

__all__: list[str] = []
