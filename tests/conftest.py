"""What holds in every test: quiet native logs, one word size for primax and its oracle, and no deadlines."""

from __future__ import annotations

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
if "PRIMAX_ENABLE_X64" in os.environ:
    os.environ.setdefault("JAX_ENABLE_X64", os.environ["PRIMAX_ENABLE_X64"])

import hypothesis

hypothesis.settings.register_profile("primax", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("primax")
