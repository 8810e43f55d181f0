"""Random programs: generation, printing, comparison with jax, and shrinking."""
