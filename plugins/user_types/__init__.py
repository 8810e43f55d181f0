"""Types of users' own: programs with values that are made of arrays."""

from __future__ import annotations

from primax.extend import core, hookimpl
from primax.extend.core.user_types import support
from primax.extend.rule_types import Table
from primax.plugins.user_types import operations as _operations
from primax.plugins.user_types import parts as _parts
from primax.plugins.user_types.operations import PROTOCOL, add_of_type_p, by_parts_p, select_of_type_p, zeros_of_type_p
from primax.plugins.user_types.parts import map_parts, pack_p, unpack_p, unpacked
from primax.plugins.user_types.registration import install

__all__ = ["add_of_type_p", "by_parts_p", "install", "pack_p", "select_of_type_p", "unpack_p", "zeros_of_type_p"]

RULES: Table = {**_operations.RULES, **_parts.RULES}


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(primitive, **rules)
    registry.enter("support", support, "install", install)
    for name, value in {"protocol": PROTOCOL, "unpacked": unpacked, "map_parts": map_parts}.items():
        registry.enter("support", support, name, value)
