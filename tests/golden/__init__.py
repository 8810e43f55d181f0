"""Values recorded from jax, which tests compare with where jax is not installed."""
