"""Several real processes compute what one computes with as many devices, and hear of each other's failures."""

from __future__ import annotations

import json
import re
import textwrap

import numpy as np
import pytest
from checkout import ROOT
from processes import run_processes

import primax as px

pytestmark = pytest.mark.any_word_size

_TRAINING = """
join()
devices = px.devices()
mesh = px.make_mesh((2, 2), ("data", "model"))
rows = px.NamedSharding(mesh, px.P("data"))
whole = px.NamedSharding(mesh, px.P())
x = np.linspace(-1, 1, 8 * 6, dtype=np.float32).reshape(8, 6)
y = np.cos(np.arange(8, dtype=np.float32))
w = {"a": np.full((6, 4), 0.1, np.float32), "b": np.linspace(0, 1, 4, dtype=np.float32)}
found = {}

def loss(w, x, y):
    return pnp.mean((pnp.tanh(x @ w["a"]) @ w["b"] - y) ** 2)

# data-parallel jit
step = px.jit(lambda w, x, y: (loss(w, x, y), px.tree.map(lambda p, g: p - 0.1 * g, w, px.grad(loss)(w, x, y))))
params = px.device_put(w, whole)
batch = px.device_put(x, rows), px.device_put(y, rows)
losses = []
for _ in range(3):
    value, params = step(params, *batch)
    losses.append(float(value))
found["losses"] = losses
found["a"] = px.multihost.process_allgather(params["a"], tiled=True).tolist()

# shard_map over both axes, and its gradient
part = px.shard_map(
    lambda w, x, y: lax.pmean(loss(w, x, y), ("data",)),
    mesh=mesh, in_specs=(px.P(), px.P("data"), px.P("data")), out_specs=px.P(),
)
found["shard_map"] = float(part(w, *batch))
found["gradient"] = px.jit(px.grad(part))(params, *batch)["b"].tolist()
turned = px.jit(px.shard_map(
    lambda x: lax.ppermute(x, "data", [(0, 1), (1, 0)]) + lax.axis_index("model"),
    mesh=mesh, in_specs=px.P("data", "model"), out_specs=px.P("data", "model"),
))(px.device_put(x, px.NamedSharding(mesh, px.P("data", "model"))))
found["turned"] = px.multihost.process_allgather({"x": turned}, tiled=True)["x"].tolist()

# arrays from parts, moved and printed
made = px.make_array_from_callback((8, 6), rows, lambda index: x[index])
found["made"] = np.asarray(px.device_put(made, whole)).tolist()
found["parts"] = [[str(shard.index), shard.data.tolist()] for shard in made.addressable_shards]
found["row"] = made[3].tolist()
found["random"] = px.random.normal(px.random.key(1), (4,)).tolist()
swapped = px.sharding.Mesh(mesh.devices[::-1], mesh.axis_names)
found["swapped"] = np.asarray(px.device_put(px.device_put(made, px.NamedSharding(swapped, px.P("data"))),
                                            px.NamedSharding(swapped, px.P()))).tolist()
px.jit(lambda x: px.debug.print("printed {}", x.sum()))(made)
px.effects_barrier()
if count > 1:
    assert "over devices of several processes" in repr(made) and "several" in str(made), (repr(made), str(made))
    for read in (np.asarray, px.device_get, lambda a: a.tolist()):
        try:
            read(made)
        except px.XlaError as error:
            assert "addressable_shards" in str(error) and "process_allgather" in str(error), error
        else:
            raise AssertionError("it was read")
import json
print("FOUND", json.dumps(found))
"""


def _found(ended):
    assert ended.code == 0, ended.errors[-3000:]
    (line,) = re.findall(r"FOUND (.*)", ended.out)
    return json.loads(line)


@pytest.fixture(scope="module")
def alone():
    """What one process computes with four devices."""
    (ended,) = run_processes(_TRAINING, 1, 4)
    return _found(ended)


@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_processes_compute_what_one_process_does_with_as_many_devices(count, alone):
    expected = dict(alone)
    parts = expected.pop("parts")
    own = 4 // count
    ended = run_processes(_TRAINING, count, own)
    for index, each in enumerate(ended):
        found = _found(each)
        assert found.pop("parts") == parts[index * own : (index + 1) * own]
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            assert np.allclose(found[name], value, rtol=1e-5, atol=1e-6), name
    assert sum(each.out.count("printed ") for each in ended) == 1


def test_processes_know_their_places_and_tell_each_other_values():
    program = """
    join()
    assert px.distributed.is_initialized()
    assert (px.process_index(), px.process_count(), px.process_indices()) == (index, 2, [0, 1])
    assert (px.local_device_count(), px.device_count()) == (2, 4)
    assert [d.process_index for d in px.devices()] == [0, 0, 1, 1]
    assert px.local_devices() == px.local_devices(index, backend="cpu") == px.devices()[2 * index : 2 * index + 2]

    def raises(kind, words, f, *args):
        try:
            f(*args)
        except kind as error:
            assert all(word in str(error) for word in words), str(error)
        else:
            raise AssertionError(f"{f} did not raise")

    raises(ValueError, ["process_index", "[0, 1]", "7"], px.local_devices, 7)
    raises(RuntimeError, ["once"], px.distributed.initialize)
    raises(ValueError, ["local_devices", f"process {1 - index}"], px.device_put, 1.0, px.local_devices(1 - index)[0])

    mh = px.multihost
    mh.sync_global_devices("start")
    d = pnp.arange(2, dtype="bfloat16") - index
    tree = {"a": np.arange(3) + index, "b": 1.5 + index, "c": np.bool_(index), "d": d}
    first = mh.broadcast_one_to_all(tree)
    assert [first[k].tolist() for k in "abcd"] == [[0, 1, 2], 1.5, False, [0, 1]], first
    second = mh.broadcast_one_to_all(tree, is_source=index == 1)
    assert [second[k].tolist() for k in "abcd"] == [[1, 2, 3], 2.5, True, [-1, 0]], second
    assert [first[k].dtype for k in "abcd"] == [pnp.asarray(tree[k]).dtype for k in "abcd"]
    assert np.signbit(mh.broadcast_one_to_all(np.float32(-0.0)))
    assert mh.process_allgather({"a": tree["a"], "i": index})["a"].tolist() == [[0, 1, 2], [1, 2, 3]]
    assert mh.process_allgather(tree["a"], tiled=True).tolist() == [0, 1, 2, 1, 2, 3]
    assert mh.process_allgather(index, tiled=True).tolist() == [0, 1]
    mh.assert_equal({"a": np.arange(3), "z": np.float32(-0.0 if index else 0.0)})
    raises(AssertionError, ["odd", "[1]", f"process {index} has"], mh.assert_equal, tree, "odd")
    raises(AssertionError, ["[1]"], mh.assert_equal, np.zeros(2 + index))
    raises(AssertionError, [f"'at {index}'", "[1]"], mh.sync_global_devices, f"at {index}")
    raises(TypeError, ["key_data"], mh.process_allgather, px.random.key(0))

    mesh = px.make_mesh((2, 2), ("host", "dev"))
    local = np.arange(4.0) + 10 * index
    specs = px.P("host"), px.P(("host", "dev")), px.P("dev")
    a, b, c = mh.host_local_array_to_global_array((local, local, local), mesh, specs)
    both = [0, 1, 2, 3, 10, 11, 12, 13]
    assert (a.shape, b.shape, c.shape) == ((8,), (8,), (4,))
    assert mh.process_allgather(a, tiled=True).tolist() == mh.process_allgather(b, tiled=True).tolist() == both
    raises(ValueError, ["tiled"], mh.process_allgather, a)
    raises(ValueError, ["pspecs"], mh.host_local_array_to_global_array, local, mesh, None)
    raises(ValueError, ["multiple of 2"], mh.host_local_array_to_global_array, np.ones(3), mesh, px.P("dev"))
    assert mh.host_local_array_to_global_array(a, mesh, px.P("host")) is a
    for spec, wanted in ((px.P("host"), local), (px.P(("host", "dev")), local), (px.P(), both)):
        back = mh.global_array_to_host_local_array(a, mesh, spec)
        assert back.is_fully_addressable and back.tolist() == list(wanted), back
    whole = px.make_array_from_process_local_data(px.NamedSharding(mesh, px.P("host")), local)
    assert whole.shape == (8,) and np.asarray(whole.addressable_shards[0].data).tolist() == local.tolist()
    px.distributed.shutdown()
    assert not px.distributed.is_initialized()
    px.distributed.shutdown()
    print("done")
    """
    for ended in run_processes(program, 2, 2):
        assert ended.code == 0, ended.errors[-3000:]
        assert "done" in ended.out


def test_the_program_of_the_document_runs_in_processes_that_variables_tell_of():
    text = (ROOT / "docs" / "guide" / "processes.md").read_text()
    program = textwrap.dedent(re.search(r"`train.py`:\n\n(.*?)\n\nTwo processes", text, re.DOTALL)[1])
    for index, ended in enumerate(run_processes(program, 2, 2)):
        assert ended.code == 0, ended.errors[-3000:]
        assert f"{index} (4, 3) 6.0" in ended.out


_STEP = """
join({options})
mesh = px.make_mesh((count,), ("data",))
x = px.device_put(np.arange(4.0 * count), px.NamedSharding(mesh, px.P("data")))
def train(x): return (x * 2).sum()
def evaluate(x): return (x * 2).max()
print("first", px.jit(lambda x: x.sum())(x))
"""


@pytest.mark.parametrize(
    ("how", "count", "victim", "message"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", 2, 1, "process 1 has ended without notice"),
        ("raise ValueError('the data are bad')", 3, 2, "process 2 failed: ValueError: the data are bad"),
        ("raise ValueError('the data are bad')", 2, 0, "process 0 failed: ValueError: the data are bad"),
        ("px.jit(lambda: px.debug.callback(lambda: 1 / 0))(); sys.exit(0)", 2, 1, "process 1 failed: JaxRuntimeError"),
    ],
)
def test_the_others_hear_which_process_has_ended(how, count, victim, message):
    program = _STEP.format(options="") + f"if index == {victim}: {how}\nprint('second', px.jit(train)(x))\n"
    ended = run_processes(program, count, 1)
    for index, each in enumerate(ended):
        assert "first" in each.out
        assert "second" not in each.out
        assert each.code != 0
        if index != victim:
            assert message in each.errors, each.errors[-3000:]


def test_a_process_that_ends_before_devices_are_used_is_named():
    program = "join()\nif index == 1: raise ValueError('no data')\nprint(px.devices())"
    waiting, _ = run_processes(program, 2, 1)
    assert waiting.code == 1
    assert "process 1 failed: ValueError: no data; process 0 waits for the devices" in waiting.errors


def test_the_others_hear_whose_callback_has_failed():
    program = (
        _STEP.format(options="")
        + """
def look(x): raise ValueError("the tide is out")
y = px.jit(lambda x: px.pure_callback(look, px.ShapeDtypeStruct(x.shape, x.dtype), x) + 1)(x)
print("second", px.jit(train)(y))
"""
    )
    first, other = run_processes(program, 2, 2)
    for each in (first, other):
        assert each.code != 0
        assert "second" not in each.out
    assert "CallbackError: ValueError: the tide is out" in first.errors
    assert "process 0 failed: JaxRuntimeError: CallbackError: ValueError: the tide is out" in other.errors


def test_the_others_hear_which_process_runs_another_program():
    program = _STEP.format(options="") + "print('second', px.jit(evaluate if index == 1 else train)(x))"
    for each in run_processes(program, 2, 1):
        assert each.code != 0
        assert "second" not in each.out
        assert re.search(r"process (0|1) runs 'jit_(train|evaluate)', but process (1|0)", each.errors)
        assert "program number 2 over the devices of several processes" in each.errors


def test_the_others_hear_which_process_does_not_come_to_a_program():
    program = _STEP.format(options="shutdown_timeout_seconds=2") + "if index == 0: px.jit(train)(x).block_until_ready()"
    waiting, ended = run_processes(program, 2, 1)
    assert waiting.code != 0
    assert re.search("process 1 ended its program [0-9]+ s ago", waiting.errors)
    assert ended.code == 1
    assert re.search("process 0 (does not end its program within 2 s|failed)", ended.errors)


def test_a_process_that_comes_late_is_named_and_hears_why_it_is_alone(tmp_path):
    program = f"""
    import pathlib
    gone = pathlib.Path({str(tmp_path / "gone")!r})
    while index == 1 and not gone.exists(): time.sleep(0.1)
    try:
        join(initialization_timeout=2)
    finally:
        gone.touch()
    print("joined")
    """
    first, late = run_processes(program, 2, 1)
    assert first.code == late.code == 1
    assert "process 1 did not connect within 2 s" in first.errors
    assert "process 1 could not reach process 0" in late.errors
    assert "has stopped waiting" in late.errors


def test_what_initialize_cannot_use_is_refused():
    initialize = px.distributed.initialize
    px.devices()
    with pytest.raises(RuntimeError, match=r"must be called before the first use of devices, but \['cpu'\]"):
        initialize("127.0.0.1:1234", 1, 0)
    assert not px.distributed.is_initialized()
    assert (px.process_index(), px.process_count(), px.process_indices()) == (0, 1, [0])
    assert px.local_device_count() == px.device_count() == len(px.local_devices(0))
    px.multihost.sync_global_devices("alone")
    px.multihost.assert_equal(np.arange(3))
    assert px.multihost.process_allgather({"x": np.arange(3)})["x"].tolist() == [[0, 1, 2]]
    assert px.multihost.process_allgather(np.arange(3), tiled=True).tolist() == [0, 1, 2]
    assert px.multihost.broadcast_one_to_all([1, 2.5])[1].dtype == px.typeof(2.5).dtype
    with pytest.raises(TypeError, match="arrays must have values, got ShapeDtypeStruct"):
        px.multihost.broadcast_one_to_all(px.ShapeDtypeStruct((2,), "float32"))


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ((None, 2, 0), ValueError, "coordinator_address must be given"),
        (("h:1", 2, 2), ValueError, "process_id must be at least 0 and below num_processes=2, got 2"),
        (("h:1", 0, 0), ValueError, "num_processes must be positive, got 0"),
        (("h", 2, 0), ValueError, "coordinator_address must be host and port"),
        (("h:1", 2.5, 0), TypeError, "num_processes"),
        (("h:1", 2, 0, "x"), TypeError, "local_device_ids"),
        (("h:1", 2, 0, None, None, -1), ValueError, "initialization_timeout must be positive, got -1"),
    ],
)
def test_arguments_of_initialize_are_checked(arguments, kind, message, monkeypatch):
    monkeypatch.setattr("primax.interpreters.runtime.devices.backends._clients", {})
    with pytest.raises(kind, match=message):
        px.distributed.initialize(*arguments)
