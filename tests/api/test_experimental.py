"""Modules of primax.experimental: programs as bytes, generators with a state."""

import subprocess
import sys

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.experimental import compilation_cache
from primax.experimental.random import stateful_rng
from primax.experimental.serialize_executable import deserialize_and_load, serialize

TABLE = np.arange(4.0, dtype=np.float32)


def scaled(x, *, by):
    return {"product": x * by["factor"] + TABLE, "unused": x.shape[0]}


def compiled():
    return px.jit(scaled).lower(pnp.zeros(4), by={"factor": pnp.float32(2.0), "other": pnp.ones(3)}).compile()


def test_a_compiled_program_is_loaded_from_bytes():
    program = compiled()
    stored, in_tree, out_tree = serialize(program)
    loaded = deserialize_and_load(stored, in_tree, out_tree)
    by = {"factor": pnp.float32(3.0), "other": pnp.ones(3)}
    out = loaded(pnp.ones(4), by=by)
    assert out["product"].tolist() == program(pnp.ones(4), by=by)["product"].tolist() == [3.0, 4.0, 5.0, 6.0]
    assert "scaled" in repr(loaded)
    with pytest.raises(TypeError, match=r"must be f32\[4\], which it was compiled for, got f32\[5\]"):
        loaded(pnp.ones(5), by=by)
    with pytest.raises(TypeError, match="differ in structure"):
        loaded(pnp.ones(4))


def test_keys_and_weak_numbers_pass_through_loaded_programs():
    f = px.jit(lambda k, x: (px.random.fold_in(k, 1), x + 1.0))
    key = px.random.key(0)
    loaded = deserialize_and_load(*serialize(f.lower(key, 1.0).compile()))
    made, number = loaded(key, 2.0)
    assert px.random.key_data(made).tolist() == px.random.key_data(px.random.fold_in(key, 1)).tolist()
    assert number == 3.0
    assert number.weak_type


def test_another_process_loads_the_bytes(tmp_path):
    program = px.jit(lambda x: pnp.sin(x) * 2.0).lower(pnp.zeros(3)).compile()
    (tmp_path / "program").write_bytes(serialize(program)[0])
    code = """
import primax as px, primax.numpy as pnp, sys
from primax.experimental.serialize_executable import deserialize_and_load
structures = [px.tree_util.tree_structure(x) for x in (((0,), {}), 0)]
loaded = deserialize_and_load(open(sys.argv[1], "rb").read(), *structures)
print(loaded(pnp.zeros(3)).tolist())
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "program")], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[0.0, 0.0, 0.0]\n"


def test_what_cannot_be_serialized_says_why():
    with pytest.raises(TypeError, match="serialize: compiled must be a Compiled, got 3"):
        serialize(3)
    called = px.jit(lambda x: px.pure_callback(lambda x: x, x, x)).lower(pnp.ones(2)).compile()
    with pytest.raises(ValueError, match="serialize: compiled must call no Python function"):
        serialize(called)
    donating = px.jit(lambda x: x + 1.0, donate_argnums=0).lower(pnp.ones(2)).compile()
    with pytest.raises(ValueError, match="serialize: compiled must donate nothing"):
        serialize(donating)
    with pytest.raises(TypeError, match="deserialize_and_load: serialized must be bytes, got int"):
        deserialize_and_load(3, None, None)
    with pytest.raises(ValueError, match="execution_devices must be one device, got 2"):
        deserialize_and_load(*serialize(compiled()), execution_devices=px.devices()[:1] * 2)


def test_a_generator_draws_by_the_next_key_of_its_seed():
    rng, key = stateful_rng(1701), px.random.key(1701)
    keys = [px.random.fold_in(key, i) for i in range(7)]
    assert rng.uniform(2.0, 3.0, 4).tolist() == px.random.uniform(keys[0], (4,), minval=2.0, maxval=3.0).tolist()
    assert rng.normal(1.0, 2.0, (2,)).tolist() == (1.0 + 2.0 * px.random.normal(keys[1], (2,))).tolist()
    assert rng.integers(3, 9, size=(3,)).tolist() == px.random.randint(keys[2], (3,), 3, 9).tolist()
    assert rng.integers(5) == px.random.randint(keys[3], (), 0, 5)
    assert rng.random(2).tolist() == px.random.uniform(keys[4], (2,)).tolist()
    children = rng.spawn(2)
    first = px.random.fold_in(px.random.split(keys[5], 2)[0], 0)
    assert px.random.key_data(children[0].key()).tolist() == px.random.key_data(first).tolist()
    assert rng.key((3,)).shape == (3,)
    assert rng.uniform(pnp.zeros(3), pnp.ones((2, 1))).shape == (2, 3)


def test_a_generator_takes_seeds_of_several_kinds():
    assert "rbg" in repr(stateful_rng(3, impl="rbg"))
    key = px.random.key(5)
    assert stateful_rng(key).random() == px.random.uniform(px.random.fold_in(key, 0))
    assert 0.0 <= float(stateful_rng().random()) <= 1.0
    with pytest.raises(ValueError, match="seed must be given inside of traced functions"):
        px.jit(lambda: stateful_rng().random())()
    with pytest.raises(ValueError, match=r"a generator of shape \(3,\) draws numbers inside of vmap only"):
        stateful_rng(0).split(3).random()


def test_the_directory_of_compiled_programs_is_set_as_jax_spells_it(tmp_path):
    before = px.config.compilation_cache_dir
    try:
        compilation_cache.set_cache_dir(str(tmp_path))
        assert px.config.compilation_cache_dir == str(tmp_path)
        compilation_cache.reset_cache()
        assert px.config.compilation_cache_dir == str(tmp_path)
    finally:
        px.config.update("compilation_cache_dir", before)
