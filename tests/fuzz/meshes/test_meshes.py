"""Random programs over meshes give the same results as in jax; wrong results and wrong shardings are detected."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter

import numpy as np
import pytest

import primax as px

jax = pytest.importorskip("jax")

from fuzz.meshes.generate import Program, mesh_line, random_program  # noqa: E402
from fuzz.meshes.kind import JAX_ALONE, difference, execute, is_ill_conditioned  # noqa: E402
from fuzz.runner import Job, run  # noqa: E402


def test_programs_over_meshes_give_what_they_give_in_jax():
    place = "fuzz.meshes.kind:Meshes"
    outcome = run([Job(place, 32, "short", cases=16)])
    assert outcome.reached[place]["compared"] >= 10
    assert not outcome.findings, "\n".join(f"{one.message}\n{one.program}" for one in outcome.findings.values())


def test_a_seed_makes_one_program_of_eight_lines_at_most():
    programs = [random_program(random.Random(seed)) for seed in range(300)]
    assert programs[7] == random_program(random.Random(7)) != programs[8]
    assert max(len(made.text.splitlines()) for made in programs) <= 8


def test_forms_transformations_and_collectives_are_in_programs():
    programs = [random_program(random.Random(seed)) for seed in range(1500)]
    names = Counter(part for made in programs for part in made.name.split("."))
    wanted = "shard_map jit eager explicit pmap partly unchecked wrong grad jvp linearize vjp vmap checkpoint scan"
    assert [name for name in wanted.split() if names[name] < 4] == []
    text = "\n".join(made.text for made in programs)
    collectives = "psum pmean pmax pmin all_gather psum_scatter all_to_all ppermute pcast axis_index"
    assert [name for name in collectives.split() if text.count(f"lax.{name}(") < 20] == []


@pytest.fixture
def doubled():
    lines = (
        mesh_line({"a": 4}),
        "g = px.shard_map(lambda x: x * 2, mesh=mesh, in_specs=px.P('a'), out_specs=px.P('a'))",
        "result = g(A((8,)))",
    )
    return Program("doubled", lines, placed=True)


def result_of(made: Program, lib: object) -> object:
    return execute(compile("\n".join(made.lines), "<program>", "exec"), lib)


@pytest.mark.parametrize(
    "change, sort",
    [
        (("x * 2", "x * 2"), None),
        (("x * 2", "x * 2.01"), "value"),
        (("x * 2", "x.astype('float16') * 2"), "type"),
        (("x * 2", "(x * 2,)"), "tree"),
        (("g(A((8,)))", "g(A((8,)))[:4]"), "type"),
        (("g(A((8,)))", "px.device_put(np.asarray(g(A((8,)))), px.NamedSharding(mesh, px.P()))"), "sharding"),
        (("g(A((8,)))", "g.nothing"), "internal AttributeError"),
    ],
)
def test_the_sort_of_a_difference_is_named(doubled, change, sort, in_32_bits):
    changed = dataclasses.replace(doubled, lines=tuple(line.replace(*change) for line in doubled.lines))
    found = difference(doubled, result_of(changed, px), result_of(doubled, jax))
    assert (found and found[0]) == sort


def test_differences_of_rounding_where_rounding_decides_are_none(doubled, in_32_bits):
    wrong, steep = (
        dataclasses.replace(doubled, lines=tuple(line.replace("x * 2", text) for line in doubled.lines))
        for text in ("x * 2.01", "px.numpy.sin(1e8 * x)")
    )
    assert not is_ill_conditioned(doubled, result_of(wrong, px), result_of(doubled, jax))
    moved = dataclasses.replace(steep, lines=tuple(line.replace("1e8", "1.000001e8") for line in steep.lines))
    found, wanted = result_of(moved, px), result_of(steep, jax)
    assert difference(steep, found, wanted)[0] == "value"
    assert is_ill_conditioned(steep, found, wanted)


def test_what_must_be_refused_is_a_finding_where_it_is_not(doubled, in_32_bits):
    wrong = dataclasses.replace(doubled, refused=True)
    result = result_of(doubled, px)
    assert difference(wrong, result, ValueError("no"))[0] == "jax raises"
    assert difference(wrong, result, ValueError(f"psum {JAX_ALONE} varying")) is None
    assert difference(doubled, result, ValueError("no")) is None
    assert np.asarray(result).shape == (8,)


def test_a_program_that_fails_alike_on_both_is_no_finding(doubled, in_32_bits):
    alike = AttributeError("'numpy.ndarray' object has no attribute 'at'")
    assert difference(doubled, alike, AttributeError(str(alike))) is None
    assert difference(doubled, alike, AttributeError("another"))[0] == "internal AttributeError"
