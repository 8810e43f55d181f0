"""How arguments that are no arrays are read, and what is said of those that are refused."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.core import arguments
from primax.extend import backend, source_info_util


def generator(x):
    yield x


@pytest.mark.parametrize("value", [len, functools.partial(len), np.sin, type, px.jit(lambda x: x)])
def test_functions_are_callables(value):
    arguments.check_function("f", "fun", value)


@pytest.mark.parametrize(
    "value,said",
    [(3, "callable"), (None, "callable"), (generator, "generator function"), (staticmethod(len), "staticmethod")],
)
def test_what_gives_no_result_is_no_function(value, said):
    with pytest.raises(TypeError, match=rf"^f: fun must .*{said}"):
        arguments.check_function("f", "fun", value)


@pytest.mark.parametrize("value", [3, np.int8(3), np.array(3), pnp.asarray(3)])
def test_integers_become_those_of_python(value):
    found = arguments.integer("f", "n", value)
    assert (found, type(found)) == (3, int)


@pytest.mark.parametrize("value", [1.5, "1", None, [1], np.ones(2)])
def test_other_values_are_no_integers(value):
    with pytest.raises(TypeError, match=r"^f: n must be an integer, got"):
        arguments.integer("f", "n", value)


def test_a_tracer_says_itself_why_it_is_no_integer():
    with pytest.raises(px.errors.TracerIntegerConversionError, match="static_argnums"):
        px.jit(lambda n: arguments.integer("f", "n", n))(3)


@pytest.mark.parametrize("value", [1, 2.5, np.float16(3), np.array(1.0), True])
def test_real_numbers_are_numbers(value):
    assert arguments.real_number("f", "x", value) == float(value)


@pytest.mark.parametrize("value", ["1", 1j, None, np.ones(2)])
def test_other_values_are_no_real_numbers(value):
    with pytest.raises(TypeError, match=r"^f: x must be a real number, got"):
        arguments.real_number("f", "x", value)


def test_sequences_are_what_can_be_iterated_over():
    assert arguments.sequence("f", "xs", (1, 2)) == arguments.sequence("f", "xs", iter([1, 2])) == [1, 2]
    with pytest.raises(TypeError, match=r"^f: xs must be a sequence, got 3"):
        arguments.sequence("f", "xs", 3)


def test_one_int_or_str_is_a_sequence_of_them():
    assert arguments.one_or_several("f", "n", 3, int) == arguments.one_or_several("f", "n", [3], int) == (3,)
    assert arguments.one_or_several("f", "names", "ab", str) == ("ab",)
    for value in (1.5, "ab", [1, "a"], [True], object()):
        with pytest.raises(TypeError, match=r"^f: n must be int or a sequence of them, got"):
            arguments.one_or_several("f", "n", value, int)


def test_places_that_an_array_does_not_have_are_refused_by_name():
    x = pnp.ones((2, 3))
    for place in (7, 2**64, (2**40,), (0, 3)):
        with pytest.raises(IndexError, match=r"^item: args must be within the bounds of f32\[2,3\]"):
            x.item(place)
    for places in ((), (0, 0, 0)):
        with pytest.raises(ValueError, match=r"^item: args must tell one element of f32\[2,3\]"):
            x.item(*places)


def test_an_int_out_of_range_is_refused_with_the_argument_that_it_is():
    with pytest.raises(OverflowError, match=r"^f_lin: argument\[0\] must be"):
        px.linearize(lambda x: x * 2, 1.0)[1](2**200)
    with pytest.raises(OverflowError, match=r"^vjp: argument\[0\]\['a'\] must be"):
        px.vjp(lambda x: x, {"a": 2**200})


class Unhashable(str):
    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]


def test_names_that_cannot_be_looked_up_are_none_that_is_known():
    name = Unhashable("cpu")
    with pytest.raises(TypeError, match="platform must be a name such as 'cpu'"):
        px.devices(name)
    with pytest.raises(ValueError, match="mode must be 'clip'"):
        pnp.ones(3).at[0].get(mode=name)
    with pytest.raises(ValueError, match="mlir_module: platform must be one of"):
        px.export.export(px.jit(abs))(1.0).mlir_module(name)


def test_keys_are_hashable():
    arguments.check_hashable("f", "name", ("a", 1))
    with pytest.raises(TypeError, match=r"^f: name must be hashable, got \[1\] of type list"):
        arguments.check_hashable("f", "name", [1])


def test_dtypes_are_what_numpy_takes_for_one():
    assert arguments.numpy_dtype("f", "dtype", "int8") == np.int8
    for value in ("no dtype", {"a": 1}, 3):
        with pytest.raises(TypeError, match=r"^f: dtype must be a dtype, got"):
            arguments.numpy_dtype("f", "dtype", value)


@pytest.mark.parametrize(
    "call,name",
    [
        (lambda x: px.lax.sin(x), "sin"),
        (lambda x: px.nn.soft_sign(x), "soft_sign"),
        (lambda x: px.random.split(x), "split"),
    ],
)
def test_what_no_program_can_hold_is_said_with_the_function_that_was_called(call, name):
    with pytest.raises(TypeError, match=f"not a valid primax type.*an argument of {name}"):
        call(object())


def test_an_array_of_too_many_elements_is_refused_before_xla_sees_it():
    with pytest.raises(ValueError, match=r"fewer than 2\*\*59 elements"):
        pnp.broadcast_to(1.0, (2**40, 2**40))


def test_a_shape_without_a_value_is_no_argument_of_what_computes():
    with pytest.raises(TypeError, match=r"has no value; .* \(an argument of sin\)"):
        pnp.sin(px.ShapeDtypeStruct((2,), "float32"))


def test_an_object_that_stands_for_itself_is_no_array():
    class Itself:
        def __jax_array__(self):
            return self

    with pytest.raises(TypeError, match="__jax_array__ of a Itself must return an array"):
        px.lax.sin(Itself())


def test_errors_of_numpy_are_given_the_name_of_the_function():
    with pytest.raises(TypeError, match=r"^f: 'int' object is not iterable"), arguments.naming("f"):
        list(3)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match=r"^f: a fault"), arguments.naming("f"):
        raise UnicodeError("a fault")
    with pytest.raises(ValueError, match=r"^f: x must be positive"), arguments.naming("f"):
        raise ValueError("f: x must be positive")
    with pytest.raises(KeyError), arguments.naming("f"):
        raise KeyError("x")


@pytest.mark.parametrize(
    "call,said",
    [
        (lambda x: pnp.fromstring(x, sep=","), "^fromstring: "),
        (lambda x: pnp.tril_indices(x), "^tril_indices: "),
        (lambda x: pnp.lexsort(x), "^lexsort: keys must be a sequence"),
        (lambda x: pnp.ones(3).item(x), "^item: args must be integers"),
        (lambda x: px.ShapeDtypeStruct(x, "float32"), "^ShapeDtypeStruct: shape must be a sequence"),
        (lambda x: px.ShapeDtypeStruct((2,), x), "^ShapeDtypeStruct: dtype must be a dtype"),
        (lambda x: px.tree.flatten([1], is_leaf=x), "^tree.flatten: is_leaf must be callable"),
        (lambda x: px.tree_util.Partial(x), "^Partial: func must be callable"),
        (lambda x: px.scipy.linalg.hilbert(x), "^hilbert: n must be an integer"),
        (lambda x: px.lax.concatenate(x, 0), "^concatenate: operands must be a sequence"),
        (lambda x: px.checkpoint_policies.save_only_these_names(x), "^save_only_these_names: names must be strings"),
        (lambda x: pnp.ones(3, device=x), "device must be one of"),
        (lambda x: pnp.apply_over_axes(x, pnp.ones(3), 0), "^apply_over_axes: func must be callable"),
        (lambda x: pnp.fromfunction(x, (2,)), "^fromfunction: function must be callable"),
        (lambda x: pnp.mask_indices(2, x), "^mask_indices: mask_func must be callable"),
        (lambda x: pnp.rollaxis(pnp.ones(3), 0, x), "^rollaxis: start must be an integer"),
        (lambda x: pnp.polyder(pnp.ones(3), x), "^polyder: m must be an integer"),
        (lambda x: pnp.unwrap(pnp.ones(3), x), "^unwrap: discont must be an array or a number"),
        (lambda x: pnp.linalg.cross(pnp.ones(3), pnp.ones(3), axis=x), "^cross: axis must be an integer"),
        (lambda x: pnp.can_cast(x, "int8"), "^can_cast: from_ must be a dtype"),
        (lambda x: pnp.promote_types("int8", x), "^promote_types: b must be a dtype"),
        (lambda x: pnp.int8(float), "^.*: a must be an array or a number"),
        (lambda x: px.tree.reduce(x, [1]), "^tree.reduce: function must be callable"),
        (lambda x: px.tree.flatten_with_path([1], x), "^tree.flatten_with_path: is_leaf must be callable"),
        (lambda x: px.tree.broadcast(1, [1], x), "^tree.broadcast: is_leaf must be callable"),
        (lambda x: px.tree_util.build_tree(px.tree.structure([1]), x), "^build_tree: "),
        (lambda x: px.scipy.special.log_ndtr(1.0, x), "^log_ndtr: series_order must be an integer"),
        (lambda x: px.scipy.signal.stft(pnp.ones(3), x), "^stft: fs must be a number other than 0"),
        (lambda x: px.make_jaxpr(abs)(1.0).pretty_print(width=x), "^pretty_print: width must be an integer"),
        (
            lambda x: divmod(px.random.key(0), px.random.key(0)),
            r"^arithmetic is not defined .* \(an argument of divmod\)",
        ),
        (lambda x: source_info_util.register_exclusion(x), "^register_exclusion: path must be a str"),
        (lambda x: px.custom_jvp(abs, nondiff_argnums=x), "nondiff_argnums must be int or a sequence"),
        (lambda x: px.custom_vjp(abs, nondiff_argnames=x), "nondiff_argnames must be str or a sequence"),
        (lambda x: px.checkpoint(abs, static_argnums=x), "^checkpoint: static_argnums must be int or a sequence"),
        (lambda x: px.lax.expand_dims(1.0, x), "^expand_dims: dimensions must be a sequence of integers"),
        (lambda x: px.lax.collapse(pnp.ones(3), x), "^collapse: start_dimension must be an integer"),
        (lambda x: px.lax.collapse(pnp.ones(3), 0, x), "^collapse: stop_dimension must be an integer"),
        (lambda x: px.lax.associative_scan(px.lax.add, pnp.ones(3), axis=x), "^associative_scan: axis must be"),
        (lambda x: px.lax.linalg.eigh(pnp.eye(2), subset_by_index=x), "^eigh: subset_by_index must be a sequence"),
        (lambda x: px.lax.linalg.svd(pnp.eye(2), subset_by_index=x), "^svd: subset_by_index must be a sequence"),
        (lambda x: px.custom_derivatives.linear_call(x, abs, 1.0, 1.0), "^linear_call: fun must be callable"),
        (lambda x: px.custom_derivatives.linear_call(max, x, 1.0, 1.0), "^linear_call: fun_transpose must be callable"),
        (lambda x: px.custom_derivatives.linear_call(max, abs, 1.0, x), "^linear_call: linear_args must be an array"),
        (
            lambda x: px.custom_batching.custom_vmap(abs)(x),
            r"^custom_vmap function abs: argument\[0\] must be an array",
        ),
        (lambda x: px.visualize(abs, 1.0, name=x), "^visualize: name must be a str"),
        (lambda x: px.linearize(abs, 1.0)[1].tree_unflatten(x, []), "^tree_unflatten: rest must be what tree_flatten"),
        (lambda x: backend.fast_function("f", abs, abs, x), "^fast_function: static_argnums must be int"),
        (lambda x: backend.fast_function("f", abs, abs, (), x), "^fast_function: static_argnames must be str"),
        (lambda x: pnp.ones(3).__dlpack__(dl_device=x), "^__dlpack__: dl_device must be a sequence"),
        (lambda x: round(px.random.key(0), 2), r"^arithmetic is not defined .* \(an argument of round\)"),
    ],
)
def test_arguments_of_the_wrong_kind_are_named(call, said):
    with pytest.raises(TypeError, match=said):
        call(object())


@pytest.mark.parametrize("name", [["left"], {"left": 1}, np.zeros((), "V3"), np.ones(3)])
def test_what_is_no_name_is_among_no_names(name):
    assert not arguments.among(name, ("left", "right"))
    assert not arguments.among(name, {"left": 1})
    with pytest.raises(ValueError, match=r"^searchsorted: side must be 'left' or 'right'"):
        pnp.searchsorted(pnp.ones(3), 1.0, side=name)


@pytest.mark.parametrize("shape", [2**64, (2**40, 2**40)])
def test_shapes_of_more_elements_than_can_be_counted_are_refused_by_name(shape):
    with pytest.raises(ValueError, match="argument of ones"):
        pnp.ones(shape)
