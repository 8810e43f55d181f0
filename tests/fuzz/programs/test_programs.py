"""Random programs agree with jax; a program prints as source that runs, and shrinks to a few lines."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import ExitStack

import numpy as np
import pytest

import primax as px

jax = pytest.importorskip("jax")

from fuzz.programs import judge as judging  # noqa: E402
from fuzz.programs.generate import random_program  # noqa: E402
from fuzz.programs.judge import difference as difference_of  # noqa: E402
from fuzz.programs.judge import judge  # noqa: E402
from fuzz.programs.kind import HEADER, Programs, compact, repeated  # noqa: E402
from fuzz.programs.shrinker import shrink  # noqa: E402
from fuzz.programs.text import source  # noqa: E402

PROGRAMS = 8


@pytest.mark.parametrize("part", [0, 1, *(pytest.param(i, marks=pytest.mark.slow) for i in (2, 3))])
@pytest.mark.parametrize("x64", [False, True])
def test_programs_give_what_they_give_in_jax(x64, part):
    counts = Counter()
    with ExitStack() as stack:
        stack.enter_context(px.enable_x64(x64))
        stack.enter_context(jax.enable_x64(x64))
        for seed in range(PROGRAMS * part, PROGRAMS * (part + 1)):
            program = random_program(seed, x64)
            how, difference = judge(program.block)
            assert difference is None, f"{difference}\n{repeated(program.block)}"
            counts[how] += 1
    assert counts["compared"] >= 0.7 * PROGRAMS


def test_most_kinds_of_transformations_and_control_flow_are_in_programs():
    tags = Counter(tag for seed in range(400) for tag in tags_of(random_program(seed)))
    wanted = (
        "vmap grad jvp vjp jit checkpoint jacfwd jacrev hessian custom_jvp custom_vjp custom_vmap closure_convert cond"
    )
    wanted += " switch scan fori_loop while_loop map associative_scan custom_linear_solve custom_root"
    assert [tag for tag in wanted.split() if tags[tag] < 4] == []


def tags_of(program):
    return {*program.name.split("."), *(tag for step in program.block.all_steps() for tag in step.tags)}


def test_a_seed_makes_one_program():
    assert source(random_program(5).block) == source(random_program(5).block) != source(random_program(6).block)


def test_a_number_of_jax_with_a_dtype_is_a_number():
    def constant(lib):
        return lib.extend.core.jaxpr_as_fun(lib.make_jaxpr(lambda x: 2.0)(1.0))(1.0)

    block = random_program(5).block
    assert difference_of(block, "", constant(px), constant(jax)) is None
    assert difference_of(block, "", [2], constant(jax)).sort == "type"


def test_results_of_numpy_may_have_the_types_of_the_compiled_program_of_jax(monkeypatch):
    block = random_program(5).block
    found, eager = [np.ones(2, np.float32)], [np.ones(2, np.float16)]
    for compiled, sort in ((jax.numpy.ones(2, "float32"), None), (jax.numpy.ones(2, "float16"), "type")):
        monkeypatch.setattr(judging, "run_compiled", lambda *_, compiled=compiled: [compiled])
        assert getattr(difference_of(block, "", found, eager), "sort", None) == sort


def test_a_wrong_rule_is_found_and_the_program_has_a_few_lines(monkeypatch):
    sin = px.numpy.sin
    monkeypatch.setattr(px.numpy, "sin", lambda x: sin(x) * 1.01)
    programs = (random_program(seed) for seed in range(40))
    block = next(p.block for p in programs if "pnp.sin" in source(p.block) and sort_of(p.block) == "value")
    block = shrink(block, lambda block: sort_of(block) == "value", 4.0)
    assert len(repeated(block).splitlines()) <= 8
    assert "pnp.sin" in repeated(block)


def sort_of(block):
    difference = judge(block)[1]
    return difference and difference.sort


def test_the_printed_program_runs_by_itself(capsys):
    for seed in (1, 2, 3):
        text = repeated(random_program(seed).block)
        exec(compile(text, "<program>", "exec"), {})
        assert capsys.readouterr().out
        assert text.startswith(HEADER)


def test_functions_of_plain_statements_take_one_line():
    lines = ["def f(x):", "    a = x + x", "    return a * a", "def g(x):", "    def h(y):", "        return y"]
    lines += ["    return h", "print(f(1))"]
    assert compact(lines) == [
        "def f(x): a = x + x; return a * a",
        "def g(x):",
        "    def h(y): return y",
        "    return h",
        "print(f(1))",
    ]


def test_cases_depend_on_the_seed_and_on_the_text_in_their_names():
    case = next(Programs().cases(random.Random(3), "vmap"))
    assert "vmap" in case.name
    assert case.program.startswith("# seed ")
