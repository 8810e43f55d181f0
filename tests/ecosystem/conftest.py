"""`make ecosystem` runs these files, in environments that have the packages."""

from __future__ import annotations

collect_ignore_glob = ["*.py", "programs/*.py"]
