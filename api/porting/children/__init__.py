"""A folder for PYTHONPATH; its sitecustomize makes `import jax` import primax in child processes."""

__all__: list[str] = []
