"""Names and keywords of JAX's functions that are seldom used."""

import logging

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax


def test_device_put_takes_a_source_and_may_copy_or_give_away():
    x = pnp.arange(3.0)
    assert px.device_put(x, may_alias=True) is x
    copy = px.device_put(x, may_alias=False)
    assert copy.tolist() == [0.0, 1.0, 2.0]
    assert copy._b.unsafe_buffer_pointer() != x._b.unsafe_buffer_pointer()
    keys = px.device_put(px.random.split(px.random.key(0)), may_alias=False)
    assert keys.shape == (2,)
    put = px.device_put({"a": x, "b": 1.0}, px.devices()[0], src=px.devices()[0], donate=True)
    assert put["a"].tolist() == [0.0, 1.0, 2.0]
    assert not x.is_deleted()
    assert px.jit(lambda x: px.device_put(x, may_alias=False) * 2.0)(3.0) == 6.0
    for both in ({"donate": True, "may_alias": True}, {"donate": [True, False], "may_alias": [True, None]}):
        with pytest.raises(ValueError, match="device_put: may_alias must not be True where donate is"):
            px.device_put([x, x], **both)


def test_device_put_copies_those_leaves_that_may_not_be_shared():
    x, y = pnp.arange(3.0), pnp.ones(2)
    same, copy = px.device_put([x, y], may_alias=[True, False], donate=(np.False_))
    assert same is x
    assert copy.tolist() == y.tolist()
    assert copy._b.unsafe_buffer_pointer() != y._b.unsafe_buffer_pointer()


@pytest.mark.parametrize("argument", ["donate", "may_alias"])
@pytest.mark.parametrize("value", ["a", 3, 0.5, [1.5, True]])
def test_device_put_refuses_what_is_no_bool(argument, value):
    with pytest.raises(
        TypeError, match=f"device_put: {argument} must be a bool or a tree of bools, got ('a'|3|0.5|1.5)$"
    ):
        px.device_put([1.0, 2.0], **{argument: value})


@pytest.mark.parametrize("value", ["a", 3, 0.5, [1]])
def test_jit_refuses_flags_that_are_no_bools(value):
    with pytest.raises(TypeError, match="jit: inline must be a bool or an Inline, got "):
        px.jit(lambda x: x, inline=value)
    with pytest.raises(TypeError, match="jit: keep_unused must be a bool, got "):
        px.jit(lambda x: x, keep_unused=value)
    assert px.jit(lambda x: x, inline=np.True_, keep_unused=None)(1.0) == 1.0


@pytest.mark.skipif(len(px.devices()) < 2, reason="there is one device")
def test_device_put_deletes_what_it_moves_elsewhere_if_that_is_given_away():
    x, y = pnp.arange(3.0), pnp.ones(2)
    moved = px.device_put([x, y], px.devices()[1], donate=[True, False])
    assert moved[0].tolist() == [0.0, 1.0, 2.0]
    assert x.is_deleted()
    assert not y.is_deleted()


def test_checkpoint_refuses_concrete_values():
    with pytest.raises(NotImplementedError, match="checkpoint: concrete must be False, got True; use static_argnums"):
        px.checkpoint(lambda x: x, concrete=True)
    assert px.checkpoint(lambda x: x, concrete=False)(1.0) == 1.0


def test_mul_multiplies_in_a_wider_dtype():
    x = pnp.asarray([300.0, 2.0], "float16")
    out = lax.mul(x, x, out_dtype="float32")
    assert out.dtype == "float32"
    assert out.tolist() == [90000.0, 4.0]
    assert px.grad(lambda x: lax.mul(x, x, out_dtype="float32"))(pnp.float16(3.0)) == 6.0
    assert lax.mul(x, x, out_dtype=pnp.bfloat16).dtype == pnp.bfloat16
    with pytest.raises(TypeError, match=r"mul: out_dtype must be .*'moon'"):
        lax.mul(x, x, out_dtype="moon")


def test_debug_log_writes_to_a_log(caplog):
    with caplog.at_level(logging.INFO, logger="primax.debug"):
        px.jit(lambda x: px.debug.log("x = {x:.1f}", x=x))(2.0)
        px.effects_barrier()
        px.debug.log("{} of {}", 1, np.arange(2))
    assert caplog.messages == ["x = 2.0", "1 of [0 1]"]
    with pytest.raises(TypeError, match=r"debug\.log: fmt must be a string, got 3"):
        px.debug.log(3)
    with pytest.raises(KeyError, match=r"debug\.log: fmt must refer to values that are given"):
        px.debug.log("{y}", x=1)


def test_effects_of_looking_are_public():
    program = px.make_jaxpr(lambda x: px.debug.print("{}", x))(1.0)
    assert program.effects == {px.debug.DebugEffect()}
    program = px.make_jaxpr(lambda x: px.debug.print("{}", x, ordered=True))(1.0)
    assert program.effects == {px.debug.OrderedDebugEffect()}


def test_compiled_functions_depend_on_contexts_of_users():
    scale, other = px.make_user_context(1.0), px.make_user_context()
    traced = []

    @px.jit
    def f(x):
        traced.append(scale.value)
        return x * scale.value

    assert f(2.0) == 2.0
    with scale(3.0), other("anything"):
        assert f(2.0) == 6.0
        assert f(4.0) == 12.0
        assert other.value == "anything"
    assert f(5.0) == 5.0
    assert traced == [1.0, 3.0]
    assert other.value is None


def test_contexts_have_values_with_a_hash_and_others_harm_no_later_call():
    with pytest.raises(TypeError, match=r"make_user_context: default_value must be hashable, got array\(\[1\]\)"):
        px.make_user_context(np.array([1]))
    context = px.make_user_context("default")
    with pytest.raises(ValueError, match=r"value must be hashable, got array\(\[1\]\)"), context(np.array([1])):
        pass
    assert context.value == "default"
    with px.disable_jit(False):
        assert px.jit(lambda x: x + 1)(1.0) == 2.0


def test_functions_are_traced_again_where_a_context_has_another_value_than_its_default(caplog):
    f = px.jit(lambda x: x + 1)
    with px.explain_cache_misses(), caplog.at_level(logging.WARNING, "primax"):
        f(1.0)
        context = px.make_user_context(1)
        with context(1):
            f(1.0)
        f(1.0)
        assert len(caplog.records) == 1
        with context(2):
            f(1.0)
        f(1.0)
    (_, again) = caplog.messages
    assert again.endswith(f"the user contexts are {{{context.short_name!r}: 2}}, earlier {{}}")


def test_exports_take_checks_to_leave_out():
    check = px.export.DisabledSafetyCheck
    made = px.export.export(px.jit(lambda x: x), disabled_checks=[check.platform(), check.custom_call("f")])(1.0)
    assert made.platforms == (px.export.default_export_platform(),) == ("cpu",)
    assert px.export.deserialize(blob=made.serialize()).call(2.0) == 2.0
    assert check.custom_call("f").is_custom_call() == "f"
    assert check.platform().is_custom_call() is None
    assert check.platform() == check.platform() != check.custom_call("platform")
    with pytest.raises(TypeError, match="export: disabled_checks must be DisabledSafetyChecks, got"):
        px.export.export(px.jit(lambda x: x), disabled_checks=[3])
    with pytest.raises(TypeError, match="export: fun_jit must be a function returned by jit"):
        px.export.export(fun_jit=lambda x: x)


def test_exports_for_other_platforms_run_here_without_the_check():
    def export(*checks):
        made = px.export.export(pnp.tanh, platforms=["tpu", "cuda"], disabled_checks=checks)(0.5)
        return px.export.deserialize(made.serialize(vjp_order=1))

    with pytest.raises(
        NotImplementedError, match=r"tanh was exported for \['cuda', 'tpu'\].*DisabledSafetyCheck.platform"
    ):
        export().call(0.5)
    there = export(px.export.DisabledSafetyCheck.platform())
    assert there.platforms == ("tpu", "cuda")
    assert float(there.call(0.5)) == pytest.approx(np.tanh(0.5))
    assert float(px.grad(there.call)(0.5)) == pytest.approx(1 - np.tanh(0.5) ** 2)


def test_parts_of_arrays_on_devices_are_shards():
    x = pnp.ones(3)
    (shard, *_) = x.addressable_shards
    assert isinstance(shard, px.Shard)
    made = px.Shard(device=shard.device, sharding=x.sharding, global_shape=(3,), data=shard.data)
    assert (made.index, made.replica_id, made.data) == ((slice(None),), 0, shard.data)
    assert repr(made) == repr(shard)


def test_a_shard_is_made_of_a_device_that_the_sharding_has():
    x = pnp.ones(3)
    with pytest.raises(TypeError, match="Shard: sharding must be a sharding, got 2"):
        px.Shard(x.device, 2, (3,))
    with pytest.raises(ValueError, match=r"Shard: device must be one of .*, which the sharding has, got 'cpu'"):
        px.Shard("cpu", x.sharding, (3,))
    with pytest.raises(TypeError, match=r"Shard: global_shape must be an integer, got 1\.5"):
        px.Shard(x.device, x.sharding, (1.5,))
