"""`LoweringParameters`, which lowering rules written for JAX read from the context of their module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["LoweringParameters"]


@dataclass(frozen=True)
class LoweringParameters:
    """How JAX lowers a module. primax lowers all modules in one way, which these values describe.

    Attributes:
      override_lowering_rules: rules that replace those of the table.
      global_constant_computation: whether constants are computed once for all devices.
      for_export: whether the module is built for another process.
      export_ignore_forward_compatibility: whether the module may require the newest consumers.
      hoist_constants_as_args: whether large constants are arguments.
    """

    override_lowering_rules: tuple[tuple[Any, Any], ...] | None = None
    global_constant_computation: bool = False
    for_export: bool = False
    export_ignore_forward_compatibility: bool = False
    hoist_constants_as_args: bool = False
