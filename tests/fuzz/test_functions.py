"""Random calls of public functions: a few hundred that never change, and, as a slow test, enough of each function."""

from __future__ import annotations

import itertools
import random
import re
from dataclasses import replace

import numpy as np
import pytest

import primax as px

jax = pytest.importorskip("jax")

from fuzz.compare import Difference, difference, judged_right  # noqa: E402
from fuzz.differences import MEANT, is_meant  # noqa: E402
from fuzz.differences.entry import Meant  # noqa: E402
from fuzz.differences.right import is_of  # noqa: E402
from fuzz.functions import ENOUGH, TRIES, Functions, SteadyFunctions, attempt, compare, program  # noqa: E402
from fuzz.oracles import numpy_says  # noqa: E402
from fuzz.pairs import pairs  # noqa: E402
from fuzz.runner import Job, run  # noqa: E402

# Parts of the paths, of about as many functions each.
PARTS = [
    r"^[^.]*$|^(nn|tree|tree_util|debug|dtypes|custom_.*|ad_checkpoint|checkpoint_policies|export)\.",
    r"^lax\.[a-dA-Z]",
    r"^lax\.[e-z]",
    r"^numpy\.[a-d]\w*$",
    r"^numpy\.[e-l]\w*$",
    r"^numpy\.[m-z]\w*$",
    r"^numpy\.\w+\.",
    r"^(random|scipy\.fft)\.",
    r"^scipy\.linalg\.",
    r"^scipy\.(signal|special)\.",
    r"^scipy\.stats\.",
    r"^Array\.",
]
PARTS.append(f"^(?!{'|'.join(PARTS)})")  # the others


def told(outcome):
    return "\n".join(
        f"{found.name}: {found.sort}\n{found.message}\n{found.program}" for found in outcome.findings.values()
    )


@pytest.mark.parametrize(
    ("seed", "word_size"),
    [
        ("short a", 32),
        ("short b", 64),
        pytest.param("short a", 64, marks=pytest.mark.slow),
        pytest.param("short b", 32, marks=pytest.mark.slow),
    ],
)
def test_random_calls_do_not_differ(seed, word_size):
    place = "fuzz.functions:SteadyFunctions"
    outcome = run([Job(place, word_size, seed, cases=30)])
    assert outcome.cases[place] == 30
    assert outcome.reached[place].total() > 12
    assert not outcome.findings, told(outcome)


def test_a_function_whose_call_fails_is_called_again():
    kind = Functions()
    cases = kind.cases(random.Random("same"), "numpy.(sin|cos)$")
    first = next(cases).name
    assert next(cases).name == first
    kind.succeeded = True
    second = next(cases).name
    assert second != first
    assert [next(cases).name for _ in range(TRIES - 1)] == [second] * (TRIES - 1)


def test_functions_with_the_fewest_successes_are_called_first():
    kind = Functions()
    kind.before.update({"numpy.sin": 3, "numpy.tan": 1})
    names = dict.fromkeys(
        case.name for case in itertools.islice(kind.cases(random.Random("a"), "numpy.(sin|cos|tan)$"), 9)
    )
    assert list(names) == ["numpy.cos", "numpy.tan", "numpy.sin"]


def test_calls_of_a_function_do_not_depend_on_which_others_there_are():
    def first(only):
        cases = SteadyFunctions().cases(random.Random("same"), only)
        return [case.text for case in itertools.islice(cases, 20) if case.name == "numpy.sin"]

    assert first("numpy.(sin|cos)$")[:3] == first("numpy.(sin|cos|tan|exp)$")[:3]


@pytest.mark.slow
@pytest.mark.parametrize("word_size", [32, 64])
@pytest.mark.parametrize("part", PARTS)
def test_enough_calls_of_every_function_succeed_in_both(part, word_size):
    place = "fuzz.functions:RareFunctions"
    outcome = run([Job(place, word_size, "reach", only=part)], seconds=840)
    chosen = [pair.path for pair in pairs() if re.search(part, pair.path)]
    few = {path: outcome.reached[place][path] for path in chosen if outcome.reached[place][path] < ENOUGH}
    assert not few
    assert not outcome.findings, told(outcome)


def test_functions_are_found_by_introspection():
    paths = {pair.path for pair in pairs()}
    assert len(paths) > 1000
    assert {"grad", "numpy.linalg.svd", "scipy.stats.norm.pdf", "numpy.add.reduce", "Array.sum", "lax.scan"} <= paths


def test_a_program_repeats_a_call_in_both(capsys):
    text = program("m.numpy.add(A([1, 2], 'int8'), array([1.5, nan], 'float32'))")
    exec(text, {})
    mine, other = capsys.readouterr().out.splitlines()
    assert len(text.splitlines()) <= 8
    assert mine == other == "Array([2.5, nan], dtype=float32)"


def test_an_entry_of_the_table_holds_for_its_functions_and_differences_only():
    found = Difference(
        "jax raises", "jax raises TypeError: _ScalarMeta.__call__() missing 1 required argument\nprimax: 0"
    )
    assert is_meant("numpy.int8", "m.numpy.int8()", found)
    assert not is_meant("numpy.int8", "m.numpy.int8()", Difference("primax raises", found.message))
    assert not is_meant("numpy.int8", "m.numpy.int8()", Difference("jax raises", "jax raises TypeError: no"))


def test_quantiles_of_other_dtypes_than_the_result_are_meant_of_normal_distributions_alone():
    found = Difference("value", "primax: np.float64(-0.57477390), jax: np.float64(-0.57477391)")
    mixed = "m.scipy.stats.{}(A([0.446], 'float32'), loc=A([0.0], 'float64'))"
    assert is_meant("scipy.stats.norm.ppf", mixed.format("norm.ppf"), found)
    assert not is_meant("scipy.stats.cauchy.ppf", mixed.format("cauchy.ppf"), found)
    for alone in ("(A([0.446], 'float32'))", "(A([0.446], 'float64'), A([0.0], 'float32'))"):
        assert not is_meant("scipy.stats.norm.ppf", f"m.scipy.stats.norm.ppf{alone}", found)


def test_each_entry_of_the_table_gives_a_reason_in_a_sentence():
    assert all(
        meant.reason.endswith(".") and meant.reason[0].isupper() | meant.reason.startswith("jax") for meant in MEANT
    )


@pytest.mark.parametrize("meant", MEANT, ids=lambda meant: meant.functions)
def test_no_entry_of_the_table_accepts_any_value(meant):
    assert not meant.accepts_any_value


def test_an_entry_of_values_says_which_are_right():
    assert Meant("numpy.sin", "nan|value", "Any.", text="inf").accepts_any_value
    assert Meant("numpy.sin", ".*", "Any.").accepts_any_value
    assert not Meant("numpy.sin", "dtype|jax raises", "None.").accepts_any_value
    for said in ({"message": "nan"}, {"within": 1e-3}, {"right": lambda text, found: True}):
        assert not Meant("numpy.sin", "value", "Some.", **said).accepts_any_value


def found_in(mine, other):
    return difference(px.numpy.asarray(mine), jax.numpy.asarray(other))


def test_each_element_that_differs_must_be_meant():
    nan, inf = np.float32([np.nan, 1, np.nan]), np.float32([np.inf, 1, np.inf])
    by_message = Meant("numpy.sin", "value", "Infinite.", message=r"primax: \S*inf\S*, jax: \S*nan")
    assert by_message.holds("numpy.sin", "", found_in(inf, nan))
    assert not by_message.holds("numpy.sin", "", found_in(np.float32([np.inf, 1, -2]), np.float32([np.nan, 1, 2])))
    near = Meant("numpy.sin", "value", "Near.", within=1e-2)
    one = np.float32([1, 1, 1])
    assert near.holds("numpy.sin", "", found_in(one, one + np.float32([0, 1e-3, 9e-3])))
    assert not near.holds("numpy.sin", "", found_in(one, one + np.float32([0, 1e-3, 2e-2])))


def test_a_reference_says_which_elements_are_right_where_they_differ():
    text = "m.numpy.negative(A([1.0, 2.0, 3.0], 'float32'))"
    says = is_of(numpy_says)
    assert says(text, found_in(np.float32([-1, -2, 9]), np.float32([-1, 5, 9])))
    assert not says(text, found_in(np.float32([-1, 2, 9]), np.float32([-1, 5, 9])))
    assert not says(text, found_in(np.float32([-1, np.nan, 9]), np.float32([-1, 5, 9])))
    assert is_of(numpy_says, nan=True)(text, found_in(np.float32([-1, np.nan, 9]), np.float32([-1, 5, 9])))
    assert not says(text, Difference("value", "primax: np.float32(-2.0), jax: np.float32(5.0)"))


def test_a_condition_that_cannot_be_checked_does_not_hold():
    meant = Meant("numpy.sin", "value", "As NumPy.", right=is_of(numpy_says))
    assert not meant.holds("numpy.sin", "m.numpy.no_such(1)", found_in(np.float32(1), np.float32(2)))


# A call for many of the entries whose differences are of values, and whether primax's and jax's values fit them.
VALUES = [
    ("numpy.concatenate", "m.numpy.concatenate((A([complex(0, 1)], 'complex64'), A([0.0], 'float32')), dtype=bool)"),
    ("nn.log_sigmoid", "m.nn.log_sigmoid(A([3, 2, 1], 'uint32'))"),
    ("nn.hard_tanh", "m.nn.hard_tanh(A([0, 2, 4294967295], 'uint32'))"),
    ("nn.standardize", "m.nn.standardize(A([[-3, 47, -51, 3]], 'int8'))"),
    ("nn.log_sigmoid", "m.nn.log_sigmoid(A([complex(-inf, 1.0), complex(inf, 4.0)], 'complex64'))"),
    ("lax.cumlogsumexp", "m.lax.cumlogsumexp(A([complex(-inf, 1.0), complex(inf, 1.0)], 'complex64'))"),
    ("scipy.linalg.hankel", "m.scipy.linalg.hankel(A([[1.0, inf, 2.0], [1.0, 2.0, 3.0]], 'float32'))"),
    ("lax.sort", "m.lax.sort(A([[1, 1, 1], [1, 0, 0], [1, 1, 1]], 'int2'))"),
    ("Array.searchsorted", "A([3, 3, 0], 'int8').searchsorted(A([0, 1, 2], 'int8'), side='right')"),
    ("numpy.kaiser", "m.numpy.kaiser(4, array([[0.0], [3.0]], 'bfloat16'))"),
    ("lax.linalg.qr", "m.lax.linalg.qr(A(np.zeros((0, 3)), 'float32'), pivoting=True)"),
    (
        "scipy.linalg.expm",
        "m.scipy.linalg.expm(A([[3.0, -2.097, 0.533], [4.227, -3.0, 3.0], [-0.044, -0.05, 1.274]], 'float32'), "
        "upper_triangular=True)",
    ),
    ("scipy.special.betaln", "m.scipy.special.betaln(A([0.0, -2.0, inf], 'float32'), A([0.0, 1.0, inf], 'float32'))"),
    ("scipy.special.hyp2f1", "m.scipy.special.hyp2f1(-2.0, A([3.0], 'float32'), -2.0, A([1.5], 'float32'))"),
    (
        "scipy.stats.dirichlet.pdf",
        "m.scipy.stats.dirichlet.pdf(A([0.0, 0.4, 0.6], 'float32'), A([1, 1.5, 2], 'float32'))",
    ),
    ("numpy.geomspace", "m.numpy.geomspace(0.0, 5.0, 4)"),
    (
        "lax.scaled_dot",
        "m.lax.scaled_dot(A([[1.0001, 2]], 'float32'), A([[1.01], [3]], 'float32'), preferred_element_type=np.float32)",
    ),
    ("numpy.unique", "m.numpy.unique(A([complex(1, nan), complex(2, 1)], 'complex64'), size=3)"),
    ("Array.sum", "A([[0.989], [-0.051]], 'float32').sum(axis=-1, initial=1.5, promote_integers=True)"),
    ("scipy.special.logit", "m.scipy.special.logit(A([complex(2.0, 0.0)], 'complex64'))"),
    ("numpy.array_repr", "m.numpy.array_repr(A([1.1, 2.25], 'float16'))"),
    (
        "random.weibull_min",
        "m.random.weibull_min(m.random.key(91), A(2, 'int32'), A([[2.9, 0.777], [1.647, 0.716]], 'float32'), "
        "dtype=np.dtype('float32'))",
    ),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path, text", VALUES)
def test_an_entry_of_values_holds_for_those_of_primax_and_no_others(path, text, in_32_bits):
    found = compare(text, *attempt(text, px), *attempt(text, jax))
    if found is None:
        pytest.skip("this release of jax has the same values")
    assert found.sort in ("value", "nan")
    assert is_meant(path, text, found)
    if found.mine is not None and path != "Array.searchsorted":  # any position is right there
        with np.errstate(all="ignore"):
            changed = ~found.mine if found.mine.dtype == bool else (found.mine == 0) + found.mine * 3
            wrong = np.where(found.where(), changed, found.mine)
        other = difference(px.numpy.asarray(wrong.astype(found.mine.dtype)), jax.numpy.asarray(found.other))
        assert other is None or not is_meant(path, text, replace(other, at=found.at))


@pytest.mark.parametrize(
    "change, sort",
    [
        (lambda m: m.numpy.asarray([1.0, 2.0]), None),
        (lambda m: m.numpy.asarray([1.0, 2.0 + (m.__name__ == "jax") * 1e-3]), "value"),
        (lambda m: m.numpy.asarray([1.0, float("nan") if m.__name__ == "jax" else 1.0]), "nan"),
        (lambda m: m.numpy.asarray([1, 2], "int16" if m.__name__ == "jax" else "int32"), "dtype"),
        (lambda m: m.numpy.asarray(1.0 if m.__name__ == "jax" else [1.0]), "shape"),
        (lambda m: m.numpy.full((2,), 1.0 if m.__name__ == "jax" else m.numpy.float32(1)), "weak type"),
        (lambda m: (1, [m.numpy.zeros(2)] * (1 + (m.__name__ == "jax"))), "structure"),
        (lambda m: [1] if m.__name__ == "jax" else (1,), "type"),
        (lambda m: np.zeros(2) if m.__name__ == "jax" else m.numpy.zeros(2), "type"),
        (lambda m: "a" if m.__name__ == "jax" else "b", "value"),
    ],
)
def test_the_first_difference_of_two_results_is_named(change, sort, in_32_bits):
    found = difference(change(px), change(jax))
    assert (found and found.sort) == sort


def test_objects_of_one_class_are_compared_as_such_though_one_can_be_called():
    mine = type("Mesh", (), {})()
    assert difference(mine, type("Mesh", (), {"__call__": len})()) is None
    assert difference(mine, type("Plan", (), {"__call__": len})()).sort == "type"


def test_values_apart_by_more_than_an_entry_says_are_no_difference_that_is_meant():
    meant = Meant("numpy.sin", "value", "Rounding.", within=1e-6)
    found = [Difference("value", f"primax: np.float32({x}), jax: np.float32(0.0)") for x in ("9.5e-07", "1.1e-06")]
    assert [meant.holds("numpy.sin", "m.numpy.sin(1)", x) for x in found] == [True, False]


@pytest.mark.parametrize("dtype", ["int32", "int4", "bfloat16", "float32", "bool"])
def test_values_that_jax_does_not_compute_are_those_of_numpy(dtype):
    def judged(call):
        text = call.format(f"array([0, 1, 1], '{dtype}')")
        value, error = attempt(text, px)
        assert error is None
        return compare(text, value, None, None, TypeError("not in jax"))

    assert judged("m.numpy.insert({}, [0, 2], 1)") is None
    assert judged("m.numpy.roll({}, int(getattr(m, '__name__', '') == 'primax'))").sort == "jax raises"


def test_an_element_is_named_with_its_dtype():
    mine, other = (np.array([0, x], "bfloat16") for x in (0, np.nan))
    assert "primax: np.bfloat16(0), jax: np.bfloat16(nan)" in difference(mine, other).message


def test_the_reference_decides_only_where_results_differ():
    mine, other = np.float32([1, 2, np.nan]), np.float32([1, 2, -np.inf])
    assert judged_right(mine, other, np.array([1, 9, np.nan]))
    assert not judged_right(mine, other, np.array([1, 2, -np.inf]))
