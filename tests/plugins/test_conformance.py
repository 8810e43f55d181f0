"""Every primitive of the built-in families passes the conformance kit at its samples."""

from __future__ import annotations

import pytest
from checkout import FAMILIES

from primax.extend.core import primitives
from primax.extend.testing import CHECKS, Report, iter_checks

# These stand inside of shard_map alone, where types tell along which axes values vary: tests/plugins/sharding has
# their laws.
OF_MESHES = {"all_gather_invariant", "all_gather_reduced", "preduced", "pscatter", "psum_invariant", "pvary"} | {
    *("reduced_vary_cast", "unreduced_psum", "unreduced_reduce_scatter", "vary_unreduced_cast")
}
# They act on values of any user's type: tests/plugins/test_user_types.py is about them.
OF_TYPES = {"add_of_type", "by_parts", "pack", "select_of_type", "unpack", "zeros_of_type"}
# Their frames pass bases from one rule to another, not numbers, so that the laws of linear maps do not hold:
# tests/plugins/test_linalg.py is about the derivatives that follow.
OF_FRAMES = {"from_spectrum", "singular_spectrum", "spectral_changes", "spectral_turns", "spectrum"}
EXCEPTIONS = OF_MESHES | OF_FRAMES | OF_TYPES
PRIMITIVES = [name for name in primitives if primitives[name].plugin in FAMILIES and name not in EXCEPTIONS]
# Their lowerings compute by the operations of other families.
COMPOSED = {"random_gamma"} | {name for name in PRIMITIVES if primitives[name].plugin in ("sparse", "special")}

pytestmark = pytest.mark.any_word_size  # the kit checks both, whatever the option says


def checks_of(name, further):
    """The checks of a primitive with its first sample and the next one with other parameters; or with the others."""
    checks = list(iter_checks(primitives[name]))
    cases = list(dict.fromkeys(check.case for check in checks if check.case is not None))
    others = [case for case in cases if repr(case.sample.params) != repr(cases[0].sample.params)]
    first = [*cases[:1], *others[:1]]
    if further:
        return [check for check in checks if check.case is not None and check.case not in first]
    return [check for check in checks if check.case is None or check.case in first]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.any_release] * (name in COMPOSED)) for name in PRIMITIVES]
)
def test_the_rules_of_a_primitive_pass_every_check(name):
    checks = checks_of(name, further=False)
    assert len(checks) > len(CHECKS) // 2
    Report([check.run() for check in checks]).require()


@pytest.mark.slow
@pytest.mark.parametrize("name", PRIMITIVES)
def test_further_samples_of_a_primitive_pass_every_check(name):
    if checks := checks_of(name, further=True):
        Report([check.run() for check in checks]).require()
    else:
        pytest.skip("all its samples are checked in each run")
