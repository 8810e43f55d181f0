"""The plugin host: finding, loading and recording plugins."""
