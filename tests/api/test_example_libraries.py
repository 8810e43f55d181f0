"""Optimizers and layers against those of jax."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.example_libraries import optimizers, stax

pytestmark = [pytest.mark.usefixtures("in_32_bits"), pytest.mark.any_release]

OPTIMIZERS = {
    "sgd": (0.1,),
    "momentum": (0.1, 0.8),
    "nesterov": (0.1, 0.8),
    "adagrad": (0.1,),
    "rmsprop": (0.1,),
    "rmsprop_momentum": (0.1,),
    "adam": (0.1,),
    "adamax": (0.1,),
    "sm3": (0.1,),
}
PARAMS = {"w": np.float32([[1.0, -2.0], [0.0, 3.0]]), "b": [np.float32([0.5])]}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_take_the_steps_of_jax(jax, name):
    def run(tree_map, module):
        optimizer = getattr(module, name)(*OPTIMIZERS[name])
        state = optimizer.init_fn(PARAMS)
        for i in range(4):
            params = optimizer.params_fn(state)
            state = optimizer.update_fn(i, tree_map(lambda x, i=i: 2 * x + i, params), state)
        return optimizer.params_fn(state)

    from_jax = pytest.importorskip("jax.example_libraries.optimizers")
    got, want = run(px.tree.map, optimizers), run(jax.tree.map, from_jax)
    np.testing.assert_allclose(got["w"], want["w"], rtol=1e-5)
    np.testing.assert_allclose(got["b"][0], want["b"][0], rtol=1e-5)


def test_schedules_are_those_of_jax(jax):
    from_jax = pytest.importorskip("jax.example_libraries.optimizers")
    schedules = {
        "constant": (0.3,),
        "exponential_decay": (0.3, 4, 0.5),
        "inverse_time_decay": (0.3, 4, 0.5, True),
        "polynomial_decay": (0.3, 4, 0.1, 2.0),
        "piecewise_constant": ([1, 3], [0.3, 0.2, 0.1]),
    }
    for name, args in schedules.items():
        got, want = getattr(optimizers, name)(*args), getattr(from_jax, name)(*args)
        for i in range(6):
            np.testing.assert_allclose(got(i), want(i), rtol=1e-6, err_msg=name)
    assert optimizers.make_schedule(0.5)(3) == 0.5
    with pytest.raises(TypeError, match="the step size must be a function or a number"):
        optimizers.make_schedule([1.0])
    with pytest.raises(TypeError, match="make_schedule: the step size must be a function or a number: a value of type"):
        optimizers.make_schedule("a")
    with pytest.raises(ValueError, match="values must be one longer than boundaries"):
        optimizers.piecewise_constant([1, 2], [0.1, 0.2])


def test_states_are_pytrees_and_can_be_stored():
    optimizer = optimizers.adam(0.1)
    state = px.jit(lambda s: optimizer.update_fn(0, PARAMS, s))(optimizer.init_fn(PARAMS))
    marked = optimizers.unpack_optimizer_state(state)
    assert [len(point.subtree) for point in px.tree.leaves(marked)] == [3, 3]
    again = optimizers.pack_optimizer_state(marked)
    assert px.tree.structure(again) == px.tree.structure(state)
    with pytest.raises(TypeError, match="adam: gradients must have the structure of the parameters"):
        optimizer.update_fn(0, [1.0], state)
    with pytest.raises(TypeError, match="must have JoinPoints as leaves"):
        optimizers.pack_optimizer_state([1.0])


def test_gradients_are_clipped_by_their_norm():
    np.testing.assert_allclose(optimizers.l2_norm([3.0, 4.0]), 5.0)
    np.testing.assert_allclose(optimizers.clip_grads([3.0, 4.0], 1.0), [0.6, 0.8], rtol=1e-6)
    np.testing.assert_allclose(optimizers.clip_grads([3.0, 4.0], 10.0), [3.0, 4.0])


def layers(stax):
    return {
        "conv": (stax.Conv(4, (3, 3), padding="SAME"), (2, 5, 6, 3)),
        "strided": (stax.Conv(4, (3, 2), (2, 1)), (2, 5, 6, 3)),
        "transposed": (stax.ConvTranspose(4, (3, 3), (2, 2), padding="SAME"), (2, 5, 6, 3)),
        "transposed1": (stax.Conv1DTranspose(4, (3,)), (2, 5, 3)),
        "max": (stax.MaxPool((2, 2), padding="SAME"), (2, 5, 6, 3)),
        "sum": (stax.SumPool((2, 2), (2, 1)), (2, 5, 6, 3)),
        "avg": (stax.AvgPool((2, 2), (2, 2), padding="SAME"), (2, 5, 6, 3)),
        "norm": (stax.BatchNorm(), (2, 5, 6, 3)),
        "dropout": (stax.Dropout(0.5), (2, 30)),
        "dropped": (stax.Dropout(0.5, mode="test"), (2, 30)),
        "flat": (stax.Flatten, (2, 3, 4)),
        "activations": (
            stax.serial(*(getattr(stax, name) for name in "Tanh Relu Exp Softplus Elu LeakyRelu Selu Gelu".split())),
            (3, 4),
        ),
        "classes": (stax.parallel(stax.Softmax, stax.LogSoftmax, stax.Sigmoid), [(3, 4)] * 3),
        "branches": (
            stax.serial(
                stax.Dense(3),
                stax.FanOut(2),
                stax.parallel(stax.Identity, stax.serial(stax.Dense(5), stax.shape_dependent(lambda s: stax.Dense(3)))),
                stax.FanInSum,
                stax.FanOut(2),
                stax.FanInConcat(),
            ),
            (4, 3),
        ),
    }


@pytest.mark.parametrize("name", layers(stax))
def test_layers_are_those_of_jax(jax, name):
    def run(module, key, split):
        (init, apply), shape = layers(module)[name]
        first, second = split(key)
        out_shape, params = init(first, shape)
        rng = np.random.default_rng(0)
        several = isinstance(shape, list)
        inputs = [rng.normal(size=s).astype(np.float32) for s in (shape if several else [shape])]
        return out_shape, params, apply(params, inputs if several else inputs[0], rng=second)

    module = pytest.importorskip("jax.example_libraries.stax")
    shape, params, out = run(stax, px.random.key(3), px.random.split)
    want_shape, want_params, want = run(module, jax.random.key(3), jax.random.split)
    assert px.tree.map(int, shape) == jax.tree.map(int, want_shape)
    for a, b in zip(px.tree.leaves((params, out)), jax.tree.leaves((want_params, want)), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


def test_networks_are_trained():
    init, apply = stax.serial(stax.Dense(16), stax.Tanh, stax.Dense(1))
    _, params = init(px.random.key(0), (-1, 1))
    optimizer = optimizers.adam(0.05)
    x = pnp.linspace(-1, 1, 20)[:, None]

    def loss(params):
        return pnp.mean((apply(params, x) - x**2) ** 2)

    @px.jit
    def step(i, state):
        return optimizer.update_fn(i, px.grad(loss)(optimizer.params_fn(state)), state)

    state = optimizer.init_fn(params)
    for i in range(100):
        state = step(i, state)
    assert loss(optimizer.params_fn(state)) < 0.02 < loss(params)


def test_dropout_asks_for_a_key():
    with pytest.raises(ValueError, match="Dropout: apply_fun must be given a key"):
        stax.Dropout(0.5)[1]((), np.ones(3))


@pytest.mark.parametrize(
    "call,said",
    [
        (
            lambda: stax.MaxPool((2,), spec="NHWC"),
            "^MaxPool: window_shape and strides must have a size for each of the 2",
        ),
        (lambda: stax.MaxPool((2, 2), strides=(1,)), "^MaxPool: window_shape and strides must"),
        (lambda: stax.SumPool((2.5,)), "^SumPool: window_shape must be an integer"),
        (lambda: stax.AvgPool(2), "^AvgPool: window_shape must be a sequence"),
        (lambda: stax.AvgPool((2, 2), spec=3), "^AvgPool: spec must be a string"),
        (lambda: stax.GeneralConv((1, 2), 3, (2, 2)), "^GeneralConv: dimension_numbers must be three strings"),
        (lambda: stax.GeneralConv(("NH", "HIO", "NHC"), 3, (2,)), "^GeneralConv: dimension_numbers must have C"),
        (lambda: stax.Conv(3, (2,)), "^GeneralConv: filter_shape and strides must have a size for each of the 2"),
        (lambda: stax.ConvTranspose(3, (2, 2), strides=(1, "a")), "^GeneralConvTranspose: strides must be an integer"),
        (lambda: stax.serial(stax.Dense), "^serial: layers must be pairs"),
        (lambda: stax.parallel(3), "^parallel: layers must be pairs"),
        (lambda: stax.BatchNorm(axis="a"), "^BatchNorm: axis must be int"),
        (lambda: optimizers.unpack_optimizer_state(3), "^unpack_optimizer_state: opt_state must be an OptimizerState"),
        (lambda: optimizers.clip_grads([1.0], "2"), "^clip_grads: max_norm must be a number"),
    ],
)
def test_what_is_no_layer_and_no_state_is_refused_by_name(call, said):
    with pytest.raises((TypeError, ValueError), match=said):
        call()
