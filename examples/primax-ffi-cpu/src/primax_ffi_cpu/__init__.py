"""A linear recurrence in C++ as a primitive of primax, and smoothing built on it."""

from __future__ import annotations

from primax_ffi_cpu.recurrence import primax_register, recurrence, recurrence_p, smooth

__all__ = ["primax_register", "recurrence", "recurrence_p", "smooth"]
