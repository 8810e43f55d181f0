"""`primax.lax` has the names of `jax.lax`, and few others; functions that only families use stay inside."""

from __future__ import annotations

import pytest

from primax import lax

# What primax has besides, as far as `jax.lax` lacks it in one of the releases that tests are compared with.
OTHERS = frozenset(
    """add_any add_any_p all_gather_invariant_p all_gather_reduced_p composite_p copy dce_sink_p eq_to le_to
    log2 log2_p lt_to one_minus_square one_minus_square_p ones_like pbroadcast_p polynomial preduced_p
    psum_invariant_p pvary pvary_p random_gamma_grad_p reduce_scatter_p reduced_vary_cast_p scatter_apply_p
    unreduced_psum_p unreduced_reduce_scatter_p vary_unreduced_cast_p zero_of zeros_like""".split()
)


def test_names_beyond_those_of_jax_are_known() -> None:
    theirs = pytest.importorskip("jax").lax
    found = {name for name in lax.__all__ if not hasattr(theirs, name)}
    assert sorted(found - OTHERS) == []
