"""A folder for PYTHONPATH: its sitecustomize lets `import jax` mean primax in the processes that a program starts."""

__all__: list[str] = []
