"""The files here belong to packages outside of primax; tests/support/outside.py builds and tests them."""

from __future__ import annotations

collect_ignore_glob = ["*"]
