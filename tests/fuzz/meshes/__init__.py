"""Random meshes, shardings and programs over eight devices of the CPU, compared with jax over as many."""
