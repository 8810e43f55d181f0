"""Signal processing."""
