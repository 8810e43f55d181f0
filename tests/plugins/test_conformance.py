"""Every primitive of the built-in families passes the conformance kit at its samples."""

from __future__ import annotations

import pytest
from checkout import FAMILIES

import primax as px
from primax.extend.core import primitives
from primax.extend.testing import check_primitive

# These stand inside of shard_map alone, where types tell along which axes values vary: tests/plugins/sharding has
# their laws.
OF_MESHES = {"all_gather_invariant", "all_gather_reduced", "preduced", "pscatter", "psum_invariant", "pvary"} | {
    *("reduced_vary_cast", "unreduced_psum", "unreduced_reduce_scatter", "vary_unreduced_cast")
}
# Tokens are no arrays, and nothing determines the numbers of the last: tests/plugins/test_tokens.py is about them.
NO_SAMPLES = {"after_all", "create_token", "rng_uniform"}
PRIMITIVES = [name for name in primitives if primitives[name].plugin in FAMILIES and name not in OF_MESHES | NO_SAMPLES]


@pytest.mark.skipif(px.config.enable_x64, reason="the kit checks both word sizes, whatever the option says")
@pytest.mark.parametrize("name", PRIMITIVES)
def test_the_rules_of_a_primitive_pass_every_check(name):
    check_primitive(primitives[name])
