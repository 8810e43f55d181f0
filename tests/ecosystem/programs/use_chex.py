"""Assertions about shapes and values, dataclasses that are pytrees, and variants of tests."""

import json

import chex
import jax
import jax.numpy as jnp


@chex.dataclass(frozen=True)
class State:
    place: chex.Array
    speed: chex.Array


@jax.jit
@chex.assert_max_traces(n=1)
def step(state):
    chex.assert_equal_shape([state.place, state.speed])
    return State(place=state.place + 0.1 * state.speed, speed=state.speed * 0.9)


state = State(place=jnp.zeros(3), speed=jnp.arange(3.0))
for _ in range(5):
    state = step(state)
chex.assert_tree_all_finite(state)
chex.assert_shape(state.place, (3,))
try:
    chex.assert_rank(state.place, 2)
    refused = False
except AssertionError:
    refused = True


@chex.chexify
@jax.jit
def checked(x):
    chex.assert_trees_all_close(x, jnp.ones(2))
    return x + 1


print(json.dumps({"place": state.place.tolist(), "refused": refused, "checked": checked(jnp.ones(2)).tolist()}))
