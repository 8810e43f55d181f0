"""Everyday mistakes as small programs, and what primax and jax say about them."""
