"""Random programs: how they are made, printed, compared with jax, and made smaller."""
