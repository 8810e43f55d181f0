"""The functions that `vjp` and `linearize` return, which are pytrees of their residuals."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp

X, Y = np.arange(3.0, dtype=np.float32), np.arange(1.0, 4.0, dtype=np.float32)


def product(x, y):
    return pnp.sin(x * y) * y


def pulled(pull, ct):
    return pull(ct)


def close(found, wanted):
    for a, b in zip(px.tree.leaves(found), px.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_a_pullback_is_an_argument_of_compiled_functions_which_are_compiled_once():
    count = 0

    @px.jit
    def run(pull, ct):
        nonlocal count
        count += 1
        return pull(ct)

    out, pull = px.vjp(product, X, Y)
    close(run(pull, out), pull(out))
    close(run(px.tree.map(lambda r: 2 * r, pull), out), px.tree.map(lambda r: 2 * r, pull)(out))
    assert count == 1


def test_pullbacks_are_results_of_mapped_and_of_compiled_functions():
    out, pull = px.vjp(product, X, Y)
    pulls = px.vmap(lambda x, y: px.vjp(product, x, y)[1])(X, Y)
    close(px.vmap(pulled)(pulls, out), pull(out))
    close(px.jit(lambda x, y: px.vjp(product, x, y)[1])(X, Y)(out), pull(out))


def test_a_linear_function_of_a_compiled_function_leaves_no_tracers():
    _, push = px.linearize(product, X, Y)
    late = px.jit(lambda x, y: px.linearize(product, x, y)[1])(X, Y)
    close(late(X, Y), push(X, Y))
    assert px.tree.leaves(push)


def test_a_pullback_is_the_residual_of_a_custom_rule():
    custom = px.custom_vjp(product)
    custom.defvjp(lambda *args: px.vjp(product, *args), lambda pull, ct: pull(3 * ct))
    wanted = px.vmap(px.grad(product, (0, 1)))(X, Y)
    close(px.vmap(px.grad(custom, (0, 1)))(X, Y), px.tree.map(lambda g: 3 * g, wanted))
    close(px.jit(px.grad(lambda *args: custom(*args).sum(), (0, 1)))(X, Y), px.tree.map(lambda g: 3 * g, wanted))


def test_a_pullback_is_carried_by_a_loop_and_differentiated():
    def total(x):
        out, pull = px.vjp(product, x, Y)
        _, found = px.lax.scan(lambda carry, _: (carry, carry(out)[0]), pull, None, length=2)
        return found.sum()

    close(px.grad(total)(X), px.grad(lambda x: 2 * px.vjp(product, x, Y)[1](product(x, Y))[0].sum())(X))


def test_equal_residuals_are_one_leaf():
    _, pull = px.vjp(lambda x: px.lax.dot(x, x), pnp.asarray(X))
    assert len(px.tree.leaves(pull)) == 1
    assert px.tree.structure(pull) == px.tree.structure(px.tree.map(np.asarray, pull))


@pytest.mark.parametrize("wrong", [{"a": X}, (X, X)])
def test_a_pullback_that_was_taken_apart_still_checks_its_cotangent(wrong):
    pull = px.tree.map(lambda r: r, px.vjp(product, X, Y)[1])
    with pytest.raises(TypeError, match="vjp: the cotangent must have the structure"):
        pull(wrong)


def layer(w, x):
    return pnp.tanh(x @ w["a"] @ w["b"])


W = {"a": pnp.full((3, 3), 0.1, "float32"), "b": pnp.full((3, 2), 0.2, "float32")}


BATCH = pnp.ones((2, 3), "float32")


def test_a_pullback_tells_which_arguments_it_remembers():
    _, pull = px.vjp(layer, W, BATCH)
    assert pull.args_res[0]["a"] is W["a"]
    assert pull.args_res[0]["b"] is W["b"]
    assert pull.args_res[1] is BATCH
    assert len(px.tree.leaves(pull)) == 3 + len(pull.opaque_residuals)
    assert repr(px.vjp(pnp.sin, 1.0)[1].args_res) == "[NotNeeded()]"


@pytest.mark.parametrize("saveable", [(False, True), ((False, False), True), ({"a": False, "b": False}, True)])
def test_arguments_that_are_not_kept_are_restored_before_the_call(saveable):
    out, pull = px.vjp(layer, W, BATCH, saveable_args=saveable)
    assert not any(leaf is W["a"] or leaf is W["b"] for leaf in px.tree.leaves(pull))
    with pytest.raises(ValueError, match=r"args_res\[0\]\['a'\], args_res\[0\]\['b'\] must be restored"):
        pull(out)
    wanted = px.vjp(layer, W, BATCH)[1](out)
    close(pull.replace(args_res=[W, pull.args_res[1]])(out), wanted)
    with pytest.raises(ValueError, match="must be restored"):
        pull(out)
    pull.args_res[0] = W
    close(pull(out), wanted)
    pull.args_res = [W, 2 * BATCH]
    assert not np.allclose(pull(out)[0]["a"], wanted[0]["a"])


def test_pullbacks_without_arguments_pass_through_compiled_functions_and_are_completed_there():
    @px.jit
    def fwd(w, x):
        return px.vjp(layer, w, x, saveable_args=(False, True))

    @px.jit
    def bwd(pull, w, ct):
        pull.args_res[0] = w
        return pull(ct)

    out, pull = fwd(W, BATCH)
    close(bwd(pull, W, out), px.vjp(layer, W, BATCH)[1](out))
    assert px.tree.leaves(pull.args_res[0]) == []


def test_of_one_container_a_part_may_be_left_out():
    out, pull = px.vjp(layer, W, BATCH, saveable_args=((True, False), True))
    assert pull.args_res[0]["a"] is W["a"]
    pull.args_res[0]["b"] = W["b"]
    close(pull(out), px.vjp(layer, W, BATCH)[1](out))


def test_restored_values_have_the_types_and_the_structure_of_the_arguments():
    out, pull = px.vjp(layer, W, BATCH, saveable_args=(False, True))
    pull.args_res[0] = {"a": W["a"], "b": pnp.ones((3, 4))}
    with pytest.raises(TypeError, match=r"args_res\[0\]\['b'\] must be of type f\d\d\[3,2\], got f\d\d\[3,4\]"):
        pull(out)
    pull.args_res[0] = {"a": W["a"]}
    with pytest.raises(ValueError, match=r"args_res\[0\] must have the structure of the argument"):
        pull(out)
    pull.args_res[0] = {"a": "weights", "b": W["b"]}
    with pytest.raises(TypeError, match=r"args_res\[0\]\['a'\]"):
        pull(out)
    with pytest.raises(TypeError, match="an entry for each of the 2 arguments"):
        pull.args_res = [W]
    with pytest.raises(TypeError, match="only args_res can be replaced"):
        pull.replace(opaque_residuals=[])


@pytest.mark.parametrize(
    ("saveable", "error", "message"),
    [
        ((1, 0), TypeError, r"saveable_args\[0\] must be a bool"),
        ("no", TypeError, "saveable_args must be a bool"),
        ((True,), ValueError, "as many entries as there are in its place, 2, got 1"),
        ((True, (False,)), ValueError, r"saveable_args\[1\] must be a bool, which stands for one array"),
        ((True, ()), ValueError, r"saveable_args\[1\] must be a bool, which stands for one array, got \(\)"),
        (((True,), True), ValueError, r"saveable_args\[0\] must be a bool, or have as many entries"),
    ],
)
def test_saveable_args_must_fit_the_arguments(saveable, error, message):
    with pytest.raises(error, match=message):
        px.vjp(layer, W, BATCH, saveable_args=saveable)


def test_an_argument_given_twice_is_kept_if_it_may_be_once():
    x = pnp.arange(3.0)
    _, pull = px.vjp(lambda a, b: a * b, x, x, saveable_args=(False, True))
    close(pull(pnp.ones(3)), (x, x))


def test_values_that_are_no_arguments_are_kept_whatever_saveable_args_says():
    x = pnp.arange(3.0)
    out, pull = px.vjp(lambda x: pnp.sin(x), x, saveable_args=False)
    close(pull(out), px.vjp(pnp.sin, x)[1](out))


@px.tree_util.register_pytree_node_class
class Matrix:
    """A container that takes matrices alone."""

    def __init__(self, values):
        if getattr(values, "ndim", None) != 2:
            raise ValueError("values must be a matrix")
        self.values = values

    def tree_flatten(self):
        return (self.values,), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)


def test_containers_that_refuse_what_is_no_array_are_restored():
    matrix = Matrix(W["a"])
    out, pull = px.vjp(lambda m, x: x @ m.values, matrix, BATCH, saveable_args=(False, True))
    with pytest.raises(ValueError, match=r"leaf 0 of args_res\[0\] must be restored"):
        pull(out)
    pull.args_res = [matrix, BATCH]
    close(pull(out), px.vjp(lambda m, x: x @ m.values, matrix, BATCH)[1](out))
