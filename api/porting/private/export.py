"""`jax.export.export`, which reads the option `jax_export_calling_convention_version`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import primax.export as _export
from primax.porting.private.config import config

__all__ = ["export"]


def export(
    fun_jit: Any,
    *,
    platforms: Sequence[str] | None = None,
    disabled_checks: Sequence[_export.DisabledSafetyCheck] = (),
) -> Callable[..., _export.Exported]:
    """`primax.export.export`, with the calling convention that the option selects.

    Raises:
      ValueError: raised at a call, if the version is not supported, or is not the newest for several devices.
    """
    make = _export.export(fun_jit, platforms=platforms, disabled_checks=disabled_checks)
    newest = _export.maximum_supported_calling_convention_version

    @functools.wraps(make)
    def make_of_version(*args: Any, **kwargs: Any) -> _export.Exported:
        version = config.jax_export_calling_convention_version
        if not _export.minimum_supported_calling_convention_version <= version <= newest:
            raise ValueError(
                "export: jax_export_calling_convention_version must be from "
                f"{_export.minimum_supported_calling_convention_version} to {newest}, got {version}"
            )
        exported = make(*args, **kwargs)
        if exported.nr_devices > 1 and version < newest:
            raise ValueError(f"export: programs for several devices are of calling convention {newest}, got {version}")
        exported.calling_convention_version = version
        return exported

    return make_of_version
