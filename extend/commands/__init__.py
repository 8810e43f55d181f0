"""The commands of `python -m primax`."""
