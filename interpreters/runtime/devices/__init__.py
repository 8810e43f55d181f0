"""Devices, the plugins of platforms, and processes."""
