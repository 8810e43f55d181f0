"""Every primitive of the built-in families passes the conformance kit at its samples."""

from __future__ import annotations

import pytest

import primax as px
from primax.extend.core import primitives
from primax.extend.testing import check_primitive, samples_of
from primax.plugins import BUILTIN_FAMILIES

_USERS = "its rules are the functions of the user that it holds"

WITHOUT_SAMPLES = {
    "custom_jvp_call": _USERS,
    "custom_lin": _USERS,
    "custom_vjp_call": _USERS,
    "custom_vmap_call": _USERS,
    "linear_call": _USERS,
}
PRIMITIVES = [name for name in primitives if primitives[name].plugin in BUILTIN_FAMILIES]


@pytest.mark.skipif(px.config.enable_x64, reason="the kit checks both word sizes, whatever the option says")
@pytest.mark.parametrize("name", [name for name in PRIMITIVES if name not in WITHOUT_SAMPLES])
def test_the_rules_of_a_primitive_pass_every_check(name):
    check_primitive(primitives[name])


def test_what_is_excused_from_the_checks_exists_and_has_no_samples():
    assert set(WITHOUT_SAMPLES) <= set(PRIMITIVES)
    assert not [name for name in WITHOUT_SAMPLES if samples_of(primitives[name])]
