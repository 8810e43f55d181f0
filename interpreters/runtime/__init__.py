"""Compiling programs with XLA, and running them on devices."""
