"""Random meshes, shardings and programs over eight CPU devices, compared with jax on the same number."""
