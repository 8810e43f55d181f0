"""How arguments that are no arrays are read, and what is said of those that are refused."""

from __future__ import annotations

import functools
from types import SimpleNamespace

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.core import arguments
from primax.extend import backend, held_programs, source_info_util
from primax.extend import mlir as extend_mlir
from primax.extend.core import Primitive
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.provisional import dividing, narrow, runtime, sampling
from primax.extend.provisional.arguments import read_size
from primax.extend.testing import batching as testing_batching
from primax.extend.testing import values
from primax.plugins.export.stablehlo_artifact import artifact_text


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
    assert [type(n) for n in arguments.one_or_several("f", "n", [np.int64(3), 4], int)] == [int, int]
    for value in (1.5, "ab", [1, "a"], [True], object()):
        with pytest.raises(TypeError, match=r"^f: n must be int or a sequence of them, got"):
            arguments.one_or_several("f", "n", value, int)


def test_places_that_an_array_does_not_have_are_refused_by_name():
    x = pnp.ones((2, 3))
    for place in (7, 2**64, (2**40,), (0, 3)):
        with pytest.raises(IndexError, match=r"^item: args must be within the bounds of f\d\d\[2,3\]"):
            x.item(place)
    for places in ((), (0, 0, 0)):
        with pytest.raises(ValueError, match=r"^item: args must select one element of f\d\d\[2,3\]"):
            x.item(*places)


def test_an_int_out_of_range_is_refused_with_the_argument_that_it_is():
    with pytest.raises(OverflowError, match=r"^f_lin: argument\[0\] must be"):
        px.linearize(lambda x: x * 2, 1.0)[1](2**200)
    with pytest.raises(OverflowError, match=r"^vjp: argument\[0\]\['a'\] must be"):
        px.vjp(lambda x: x, {"a": 2**200})


@pytest.mark.parametrize(
    "call,name",
    [
        (lambda x: px.lax.cond(x, abs, abs, 1.0), "cond: pred"),
        (lambda x: px.lax.fori_loop(0, x, max, 1.0), "fori_loop: upper"),
        (lambda x: px.lax.scan(max, (x,), None, 3), r"scan: init\[0\]"),
        (lambda x: px.lax.scatter_add(pnp.ones(3), x, 1.0, ()), "scatter_add: scatter_indices"),
        (lambda x: px.vjp(lambda y: [y, x], 1.0), r"<lambda>: the result\[1\]"),
        (lambda x: px.custom_derivatives.linear_call(max, abs, x, 1.0), "linear_call: residual_args"),
    ],
)
def test_what_an_argument_cannot_be_is_said_with_its_name(call, name):
    with pytest.raises(OverflowError, match=f"^{name} must be .*: Python int must fit"):
        call(2**200)
    with pytest.raises(ValueError, match=f"^{name} must be .*: an array with a mask"):
        call(np.ma.masked_array([1.0, 2.0], [True, False]))
    with pytest.raises(TypeError, match=f"^{name} must be .*: a value of type object"):
        call(object())


def test_a_rule_that_returns_what_no_program_can_hold_is_told_so():
    p = px.extend.core.Primitive("overflowing")
    p.def_abstract_eval(lambda x: x)
    ad.primitive_jvps[p] = lambda xs, ts: (2**200, ts[0])
    with pytest.raises(px.errors.RuleError, match="must return arrays"):
        px.jvp(p.bind, (1.0,), (1.0,))


@pytest.mark.usefixtures("without_gc")
def test_arguments_without_an_end_are_said_to_be_so():
    endless = [1.0]
    endless.append(endless)
    with pytest.raises(RecursionError, match="tree must not contain itself"):
        px.jit(lambda x: x)(endless)


def test_sizes_that_the_dtype_of_integers_does_not_hold_are_refused():
    with px.enable_x64(False), pytest.raises(OverflowError, match=r"^shape_as_value: shape must consist of sizes"):
        px.lax.shape_as_value((2**40,))


def test_names_that_are_half_a_character_do_no_harm():
    def f(x):
        return x + 1

    f.__name__ = "\ud800"
    assert float(px.jit(f)(1.0)) == 2.0
    assert float(px.jit(lambda x: px.jit(f)(x) + px.named_scope("\ud800")(f)(x))(1.0)) == 4.0
    assert px.export.export(px.jit(f))(1.0).serialize()
    assert 'digraph "?"' in px.visualize(f, 1.0).dot


def test_what_is_no_artifact_is_refused_and_nothing_is_printed(capfd):
    with pytest.raises(ValueError, match=r"^artifact_text: .* the file is damaged \(custom op 'abc' is unknown"):
        artifact_text(b"abc")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "call,said",
    [
        (lambda n: px.lax.slice_in_dim(pnp.ones(3), 0, 2, n), "slice: strides"),
        (lambda n: px.lax.pad(pnp.ones(3), 0.0, ((n, -n, 0),)), "pad: padding_config"),
        (lambda n: px.lax.scan(lambda c, x: (c, None), 1.0, None, n), "scan: length"),
        (lambda n: px.lax.conv(np.ones((1, 1, 3)), np.ones((1, 1, 2)), (n,), "VALID"), ".*: window_strides"),
    ],
)
def test_numbers_that_xla_cannot_be_told_are_refused_with_the_parameter(call, said):
    with pytest.raises(OverflowError, match=f"^{said} must fit 64 bits, got"):
        call(2**64)


@pytest.mark.parametrize(
    "call,error,said",
    [
        (lambda n: px.lax.reduce_precision(1.0, n, 2), ValueError, "^reduce_precision: exponent_bits must be below"),
        (lambda n: px.lax.reduce_precision(1.0, 2, n), ValueError, "^reduce_precision: mantissa_bits must be below"),
        (
            lambda n: px.lax.reduce_window(pnp.ones(3), 0.0, px.lax.add, (n,), (1,), "SAME"),
            ValueError,
            "window_dimensions must have fewer than",
        ),
        (lambda n: px.lax.scan(max, 1.0, None, n, unroll=True), ValueError, "^scan: unroll must be below"),
        (lambda n: px.lax.convert_element_type(n**200, "float32"), OverflowError, "^convert_element_type: operand"),
        (
            lambda n: px.lax.dynamic_index_in_dim(pnp.ones(3), n),
            OverflowError,
            r"must fit int32.* \(an argument of dynamic_index_in_dim\)",
        ),
    ],
)
def test_numbers_that_would_not_end_or_not_fit_are_refused(call, error, said):
    with px.enable_x64(False), pytest.raises(error, match=said):
        call(2**40)


@pytest.mark.parametrize(
    "call,said",
    [
        (lambda x: px.lax.reduce_min(x, (0,)), "^reduce_min: operand must be a number or a boolean, got float0"),
        (lambda x: px.lax.argmax(x, 0, "int32"), "^argmax: operand must be real, got float0"),
        (lambda x: px.lax.sort(x), "^sort: arrays to sort by must have an order, got float0"),
        *[
            (getattr(px.lax, name), f"^{name}: argument 0 must be .*, got float0")
            for name in ("eq", "ne", "lt", "le", "gt", "ge", "max", "min")
        ],
    ],
)
def test_values_without_bits_have_no_order(call, said):
    x = np.zeros(2, px.dtypes.float0)
    with pytest.raises(TypeError, match=said):
        call(*(x, x)[: 2 if " 0 must" in said else 1])


@pytest.mark.parametrize("axes", [np.ones((1, 2)), ["i"], "i"])
def test_axes_that_are_no_longer_named_are_refused(axes):
    with pytest.raises(NotImplementedError, match="linear_transpose: reduce_axes must be"):
        px.linear_transpose(lambda x: x, 1.0, reduce_axes=axes)


def test_filters_of_more_elements_than_memory_holds_are_refused():
    with pytest.raises(ValueError, match=r"^conv_general_dilated_patches: filter_shape must be"):
        px.lax.conv_general_dilated_patches(np.ones((1, 1, 3, 3)), (2**40, 2**40), (1, 1), "SAME")


def test_more_axes_than_memory_holds_are_refused():
    for rank in (2**40, 2**64):
        with pytest.raises(ValueError, match=r"^broadcast_to_rank: rank must be"):
            px.lax.broadcast_to_rank(1.0, rank)


class Unhashable(str):
    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]


def test_names_without_a_hash_are_none_that_is_known_unless_they_are_read_as_text():
    name = Unhashable("cpu")
    assert px.devices(name) == px.devices("cpu")
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
        (lambda x: px.nn.relu(x), "relu"),
    ],
)
def test_what_no_program_can_hold_is_said_with_the_function_that_was_called(call, name):
    with pytest.raises(
        TypeError, match=rf"^{name}: argument x .*not a valid primax type|primax type.*\(an argument of {name}\)"
    ):
        call(object())


def test_an_array_of_too_many_elements_is_refused_before_xla_sees_it():
    with pytest.raises(ValueError, match=r"fewer than 2\*\*59 elements"):
        pnp.broadcast_to(1.0, (2**40, 2**40))
    for name in ("glu", "relu", "softmax"):
        with pytest.raises(ValueError, match=rf"fewer than 2\*\*59 elements.*\(an argument of {name}\)"):
            getattr(px.nn, name)(px.ShapeDtypeStruct((2**40, 2**40), "float32"))


def test_an_array_of_too_many_axes_is_refused_before_xla_sees_it():
    with pytest.raises(ValueError, match=r"at most 1024 axes, got 100000 \(an argument of bernoulli\)"):
        px.random.bernoulli(px.random.key(0), shape=range(10**5))


def test_an_index_makes_no_more_axes_than_numpy_has():
    with pytest.raises(IndexError, match=r"would have 65 \(an argument of circulant\)"):
        px.scipy.linalg.circulant(np.ones((1,) * 64, np.float32))


@pytest.mark.parametrize(
    "name", ["deg2rad", "sinc", "round", "frexp", "spacing", "median", "polyder", "roots", "dot", "arctan2"]
)
def test_arrays_without_values_are_no_numbers(name):
    x = np.zeros(2, px.dtypes.float0)
    with pytest.raises(TypeError, match=name):
        getattr(pnp, name)(*(x, x)[: 2 if name in ("dot", "arctan2") else 1])


def test_a_step_of_zero_is_refused_with_the_function_that_was_called():
    with pytest.raises(ValueError, match=r"step cannot be zero \(an argument of getitem\)"):
        pnp.ones(3)[slice(None, None, 0)]


def test_elements_without_a_dtype_of_dlpack_are_refused_by_name():
    with pytest.raises(BufferError, match=r"^from_dlpack: DLPack only supports"):
        pnp.from_dlpack(np.zeros(2, "M8[s]"))


def test_a_shape_without_a_value_is_no_argument_of_what_computes():
    shape = px.ShapeDtypeStruct((2,), "float32")
    for name in ("sin", "asarray", "nonzero", "unique"):
        with pytest.raises(TypeError, match=rf"without a value; .* \(an argument of {name}\)"):
            getattr(pnp, name)(shape)
    for function in (px.scipy.special.digamma, px.scipy.special.ndtr, px.scipy.linalg.toeplitz):
        with pytest.raises(TypeError, match=rf"without a value; .* \(an argument of {function.__name__}\)"):
            function(shape)


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


def test_errors_of_the_objects_that_are_given_remain_as_causes():
    def numbers():
        yield 1
        raise ValueError("of the user")

    with pytest.raises(ValueError, match=r"^fromiter: of the user") as error:
        pnp.fromiter(numbers(), "float32")
    assert error.value.__cause__.__traceback__.tb_frame.f_code is numbers.__code__


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
        (
            lambda x: px.checkpoint_policies.save_only_these_names(type("Name", (str,), {"__eq__": object.__eq__})()),
            "^save_only_these_names: names must be hashable",
        ),
        (lambda x: pnp.power(1.0, np.timedelta64(3, "D")), "^power: argument 1 must be an array or a number"),
        (lambda x: pnp.ones(3).transpose(px.tree.structure([1])), "^transpose: axes must be a sequence of integers"),
        (lambda x: values.varied(1.0, x), "^varied: k must be an integer"),
        (lambda x: pnp.size(SimpleNamespace(shape="ab")), "^shape: a.shape must be an integer, got 'a'"),
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
        (lambda x: px.vjp(abs, 1.0)[1].tree_unflatten((x,) * 5, []), "^tree_unflatten: rest must be what tree_flatten"),
        (
            lambda x: px.vjp(abs, 1.0)[1].tree_unflatten(px.vjp(abs, 1.0)[1].tree_flatten()[1], x),
            "^tree_unflatten: residuals must be a sequence",
        ),
        (lambda x: runtime.fast_function("f", abs, abs, x), "^fast_function: static_argnums must be int"),
        (lambda x: runtime.fast_function("f", abs, abs, (), x), "^fast_function: static_argnames must be str"),
        (lambda x: pnp.ones(3).__dlpack__(dl_device=x), "^__dlpack__: dl_device must be a sequence"),
        (lambda x: runtime.fast_function("f", type("A", (), {"x": x})(), abs), "^fast_function: fun must be callable"),
        (lambda x: backend.register_platform("no platform", x), "^register_platform: make_client must be callable"),
        (lambda x: px.lax.linalg.svd(pnp.eye(2), algorithm=[x]), "^svd: algorithm must be hashable"),
        (lambda x: px.lax.linalg.eigh(pnp.eye(2), implementation=[x]), "^eigh: implementation must be hashable"),
        (lambda x: px.lax.linalg.eig(pnp.eye(2), implementation=[x]), "^eig: implementation must be hashable"),
        (
            lambda x: px.lax.dynamic_slice(pnp.ones(3), (0,), (1,), allow_negative_indices=x),
            "^dynamic_slice: allow_negative_indices must be a sequence",
        ),
        (lambda x: px.tree_util.register_dataclass(Unhashable, x, ()), "data_fields must be a sequence"),
        (lambda x: px.tree_util.register_dataclass(Unhashable, (), (x,)), "meta_fields must be a sequence of names"),
        (lambda x: ad.jvp_flat(abs, (1.0,), (1.0,), x), "^jvp_flat: parent must be a trace or None"),
        (lambda x: ad.linearize_flat(abs, (1.0,), x), "^linearize_flat: active must be a sequence"),
        (lambda x: ad.deflinear2(x, abs), "^jvp rules are for primitives"),
        (lambda x: ad.deflinear2(px.lax.add_p, x), r"^transpose\(add\): each rule must be a function or None"),
        (lambda x: batching.defvectorized(x), "^batch rules are for primitives"),
        (lambda x: mlir.register_lowering(x, abs, "cpu"), "^lowering rules are for primitives"),
        (lambda x: px.dtypes.canonicalize_dtype({"a": {"a": x}}), "^canonicalize_dtype: dtype must be a dtype"),
        (lambda x: px.dtypes.prng_key(x), r"an argument of prng_key\)"),
        (
            lambda x: px.lax.conv_general_dilated_patches(type(x), (1,), (1,), "SAME"),
            "argument of conv_general_dilated_patches",
        ),
        (lambda x: round(px.random.key(0), 2), r"^arithmetic is not defined .* \(an argument of round\)"),
        (lambda x: px.lax.linalg.qdwh(pnp.ones((2, 2)), eps=x), "^qdwh: eps must be a real number"),
        (lambda x: pnp.fromiter([1, 2], "float32", count=x), "^fromiter: "),
        (lambda x: pnp.array(1.0, ndmin=x), "^array: ndmin must be an integer"),
        (lambda x: pnp.identity(x), "^identity: n must be an integer"),
        (lambda x: pnp.eye(2, x), "^eye: M must be an integer"),
        (lambda x: pnp.repeat(1.0, 2, total_repeat_length=x), "^repeat: total_repeat_length must be an integer"),
        (lambda x: pnp.diff(pnp.ones(3), n=x), "^diff: n must be an integer"),
        (lambda x: pnp.histogram(pnp.ones(3), bins=x), "^histogram: bins must be an array or a number"),
        (lambda x: pnp.histogram(pnp.ones(3), bins=[x, x]), "^histogram: bins must consist of real numbers"),
        (lambda x: pnp.hsplit(x, 2), "^hsplit: ary must be an array"),
        (lambda x: pnp.corrcoef(None), "^corrcoef: |^cov: "),
        (lambda x: pnp.array_str(pnp.ones(3), max_line_width=x), "^array_str: "),
        (
            lambda x: px.jit(lambda r: pnp.histogram_bin_edges(pnp.ones(2), range=r))(1.0),
            "^histogram_bin_edges: range must be a sequence",
        ),
        (lambda x: pnp.choose(0, x), "^choose: choices must be a sequence"),
        (lambda x: pnp.ravel_multi_index(x, (2,)), "^ravel_multi_index: multi_index must be a sequence"),
        (lambda x: pnp.diagflat(px.random.key(0)), r"no elements that are numbers \(an argument of diagflat\)"),
        (lambda x: pnp.from_dlpack(np.ones(2), device=x), "^from_dlpack: device must be one of"),
        (lambda x: px.nn.celu(1.0, alpha=None), "^celu: alpha must be an array or a number"),
        (lambda x: px.nn.standardize(pnp.ones(3), epsilon={}), "^standardize: epsilon must be an array or a number"),
        (lambda x: px.scipy.linalg.lu_solve(x, pnp.ones(3)), "^lu_solve: lu_and_piv must be a sequence"),
        (lambda x: px.lax.linalg.svd(pnp.ones((2, 2)), subset_by_index=x), "^svd: subset_by_index must be a sequence"),
        (lambda x: px.lax.linalg.eigh(pnp.ones((2, 2)), subset_by_index=x), "^eigh: subset_by_index must be a seq"),
        (lambda x: px.lax.linalg.svd(pnp.ones((2, 2)), algorithm=[]), "^svd: algorithm must be hashable"),
        (lambda x: pnp.ufunc(x, 1, 1), "^ufunc: func must be callable"),
        (lambda x: pnp.empty_like(np.float32), "^empty_like: shape must be a sequence"),
        (lambda x: pnp.concatenate(np.array(1.0)), "^concatenate: arrays must be a sequence of arrays"),
        (lambda x: pnp.einsum("i,i", np.ones(2), np.ones(2), optimize=[3]), "^einsum: optimize must be a sequence of"),
        (
            lambda x: px.random.multinomial(px.random.key(0), 2, pnp.ones(2), dtype="\ud800"),
            "^multinomial: dtype must be",
        ),
    ],
)
def test_arguments_of_the_wrong_kind_are_named(call, said):
    with pytest.raises(TypeError, match=said):
        call(object())


@pytest.mark.parametrize("q", ["0.5", 0.5j, object(), ["a"], np.zeros(2, "M8[s]")])
@pytest.mark.parametrize("name", ["quantile", "percentile", "nanpercentile"])
def test_quantiles_are_read_by_one_reader(name, q):
    with pytest.raises(TypeError, match=f"^{name}: q must consist of real numbers"):
        getattr(pnp, name)(pnp.ones(3), q)


class OfClasses:
    __iter__ = 3


@pytest.mark.parametrize("axis", [px.Array, OfClasses(), 1.5])
@pytest.mark.parametrize(
    "call,name",
    [
        (lambda x, axis: pnp.roll(x, 1, axis=axis), "roll"),
        (lambda x, axis: pnp.moveaxis(x, axis, 0), "moveaxis"),
        (lambda x, axis: pnp.squeeze(x, axis), "squeeze"),
        (lambda x, axis: pnp.linalg.vecdot(x, x, axis=axis), "vecdot"),
        (lambda x, axis: px.scipy.signal.fftconvolve(x, x, axes=axis), "fftconvolve"),
        (lambda x, axis: px.scipy.fft.dctn(x, axes=axis), "dctn"),
    ],
)
def test_what_cannot_be_iterated_over_is_one_axis(call, name, axis):
    with pytest.raises(TypeError, match=rf"^{name}: (axis|axes|source) must be an? (integer|sequence of integers)"):
        call(np.ones((2, 2), np.float32), axis)


@pytest.mark.parametrize(
    "call,said",
    [
        (lambda: pnp.blackman(2**70), "^blackman: "),
        (lambda: pnp.kaiser(2**70, 1.0), "^kaiser: "),
        (lambda: pnp.identity(2**64), "^identity: "),
        (lambda: pnp.fft.fftfreq(2**70), "^fftfreq: n must be at most"),
        (lambda: pnp.fromfunction(np.sin, (2**62,)), r"of fromfunction\)"),
        (lambda: pnp.geomspace(1, 4, num=2**70), "^geomspace: num must be at most"),
        (lambda: pnp.fft.fft(pnp.ones(3), n=2**70), "^fft: n must be at most"),
        (lambda: pnp.repeat(1.0, 1, total_repeat_length=-1), "^repeat: total_repeat_length must not be negative"),
        (lambda: pnp.unravel_index(np.array([0, 1]), 2**64), "^unravel_index: "),
        (lambda: pnp.unique_inverse(pnp.ones(3), size=2**70), "^unique: size must be at most"),
        (lambda: pnp.nonzero(pnp.ones(3), size=2**70), "^nonzero: size must be at most"),
        (lambda: pnp.polyint(pnp.ones(3), m=2**70), "^polyint: "),
        (lambda: px.scipy.special.bernoulli(2**63), "^bernoulli: "),
        (lambda: px.scipy.linalg.pascal(2**40), "^pascal: n must be in"),
        (lambda: px.scipy.linalg.invhilbert(2**40), "^invhilbert: n must be in"),
        (lambda: px.lax.linalg.qdwh(pnp.ones((2, 2)), max_iterations=2**64), "^qdwh: max_iterations must be at most"),
        (lambda: pnp.ones(3) + 10**400, "^add: "),
        (lambda: pnp.pad(pnp.ones(3), 1, constant_values=[1, 2, 3]), "^pad: "),
        (lambda: px.scipy.signal.convolve2d(*[np.ones((2, 2))] * 2, fillvalue=[1, 2]), "^convolve2d: fillvalue"),
        (lambda: px.scipy.signal.stft(pnp.ones(3), fs=0), "^stft: fs must be a number other than 0"),
        (lambda: px.scipy.linalg.qr_multiply(np.ones((2, 2)), 1.0), "^qr_multiply: c must be of rank 1"),
        (lambda: pnp.einsum(np.ones(2), [60]), "^einsum: subscripts must be integers from 0 to 51"),
        (lambda: pnp.einsum("i,i", np.ones(2), np.ones(2), optimize=[(0, 5)]), "^einsum: optimize must be 1 pairs"),
        (lambda: pnp.tile(pnp.ones(2), -1), "^tile: reps must consist of non-negative integers"),
        (lambda: pnp.quantile(pnp.ones(2), 10**400), "^quantile: q must consist of real numbers"),
        (lambda: px.scipy.signal.istft(np.ones((2, 2)), nperseg=2**64), "^istft: nperseg must be at most"),
        (lambda: pnp.histogramdd([]), "^histogramdd: sample must be"),
        (lambda: pnp.polyval(1.0, pnp.ones(3)), "^polyval: p must be of rank 1"),
        (lambda: px.lax.rng_bit_generator(np.ones(4, np.uint32), (2,), algorithm="x"), "^rng_bit_generator: algorithm"),
    ],
)
def test_sizes_and_numbers_that_are_too_large_or_do_not_fit_are_named(call, said):
    with pytest.raises((ValueError, TypeError, OverflowError), match=said):
        call()


def test_a_number_of_elements_is_bounded():
    assert read_size("f", "n", np.int8(3)) == 3
    with pytest.raises(ValueError, match=r"^f: n must not be negative, got -1"):
        read_size("f", "n", -1)
    with pytest.raises(ValueError, match=rf"^f: n must be at most {2**59 - 1}, got {2**60}"):
        read_size("f", "n", 2**60)
    with pytest.raises(ValueError, match=r"^f: n must be at most 4, got 5"):
        read_size("f", "n", 5, 4)


def test_one_element_that_stands_for_terabytes_is_not_counted():
    with pytest.raises(MemoryError):
        pnp.trim_zeros(np.broadcast_to(np.float32(1), (2**22, 2**30)))


@pytest.mark.parametrize("order", [np.ones(3, pnp.bfloat16), px.tree.structure([1, 2]), ["C"]])
@pytest.mark.parametrize(
    "call,name",
    [
        (lambda x: pnp.reshape(np.ones(2), (2, 1), order=x), "reshape"),
        (lambda x: pnp.ravel(np.ones(2), order=x), "reshape"),
        (lambda x: pnp.asarray(1.0, order=x), "asarray"),
        (lambda x: pnp.take(np.ones(2), 1, mode=x), "take"),
        (lambda x: pnp.put(np.ones(2), 1, 1.0, mode=x, inplace=False), "put"),
        (lambda x: pnp.choose(0, [1, 2], mode=x), "choose"),
        (lambda x: pnp.convolve(np.ones(2), np.ones(2), mode=x), "convolve"),
        (lambda x: px.scipy.signal.convolve(np.ones(2), np.ones(2), mode=x), "convolve"),
        (lambda x: pnp.linalg.qr(np.ones((2, 2)), mode=x), "qr"),
        (lambda x: pnp.fft.fft(np.ones(2), norm=x), "fft"),
        (lambda x: px.scipy.linalg.solve_triangular(np.ones((2, 2)), np.ones(2), trans=x), "solve_triangular"),
        (lambda x: pnp.ones(3).at[0].get(mode=x), "mode"),
    ],
)
def test_names_of_options_are_compared_with_nothing_but_names(call, name, order):
    with pytest.raises(ValueError, match=rf"^{name}(: \w+)? must be"):
        call(order)


@pytest.mark.parametrize("name", [["left"], {"left": 1}, np.zeros((), "V3"), np.ones(3), np.array("left")])
def test_what_is_no_name_is_among_no_names(name):
    assert not arguments.among(name, ("left", "right"))
    assert not arguments.among(name, {"left": 1})
    with pytest.raises(ValueError, match=r"^searchsorted: side must be 'left' or 'right'"):
        pnp.searchsorted(pnp.ones(3), 1.0, side=name)


@pytest.mark.parametrize("shape", [2**64, (2**40, 2**40)])
def test_shapes_of_more_elements_than_can_be_counted_are_refused_by_name(shape):
    with pytest.raises(ValueError, match="argument of ones"):
        pnp.ones(shape)


def test_ranks_of_arguments_to_map_are_not_negative():
    with pytest.raises(ValueError, match=r"^choices: ranks must not be negative, got -1"):
        testing_batching.choices({0: -1})


def test_no_exclusion_of_all_files_is_registered():
    with pytest.raises(ValueError, match=r"^register_exclusion: path must not be empty"):
        source_info_util.register_exclusion("")


@pytest.mark.parametrize(
    "call,said",
    [
        (lambda: pnp.ones(3, device=["cpu"]), r"device must be one of primax.devices\(\).*argument of ones"),
        (lambda: px.devices(b"cpu"), "^backend must be the name of a platform"),
        (lambda: px.dtypes.itemsize_bits([1]), "^itemsize_bits: dtype must be"),
        (lambda: px.lax.polynomial(1.0, 3), "^polynomial: coeffs must be a sequence"),
        (lambda: px.grad(lambda x: x, reduce_axes=3), "^grad: reduce_axes must be"),
        (lambda: px.pure_callback(len, px.ShapeDtypeStruct((), int), vmap_method=np.ones(2)), "^pure_callback: vmap_m"),
        (lambda: px.enable_x64.set_here((None,)), "^enable_x64: value must be"),
        (lambda: px.scipy.stats.gaussian_kde(np.arange(4.0), bw_method=object()), "^gaussian_kde: bw_method must be"),
        (lambda: px.scipy.stats.gaussian_kde(np.arange(4.0), lambda k: object()), "^gaussian_kde: bw_method must be"),
        (
            lambda: px.nn.scaled_dot_general(pnp.ones(2), pnp.ones(2), 0, configs=3),
            "^scaled_dot_general: co",
        ),
        (lambda: ad.transpose_jaxpr(px.make_jaxpr(pnp.sin)(1.0), [True] * 9, [True]), "^transpose_jaxpr: linear must"),
        (lambda: narrow.in_whole_bytes(len, bits=3), "^in_whole_bytes: bits must be 2 or 4"),
        (lambda: dividing.common_axes([]), "^common_axes: avals must hold a type"),
        (lambda: sampling.numbers((2,), start=0.5), "^numbers: start must be an integer"),
        (lambda: held_programs.merge([True], [], []), "^merge: there must be one element for each flag"),
        (lambda: px.test_util.check_grads(len, 3, 1), "^check_grads: args must be a sequence"),
        (lambda: px.test_util.check_grads(len, (1.0,), 1, eps=[1]), "^check_grads: eps must be"),
        (lambda: px.test_util.check_grads(len, (1.0,), 1, 3), "^check_grads: modes must be"),
        (lambda: backend.get_compile_options("0", 1), "^get_compile_options: num_replicas must be"),
        (lambda: extend_mlir.serialize_portable_artifact(3, "1.9.0"), "^serialize_portable_artifact: module must be"),
        (lambda: extend_mlir.deserialize_portable_artifact(3), "^deserialize_portable_artifact: artifact must be"),
        (lambda: px.lax.reduce_sum(pnp.ones(2, bool), ()), "^reduce_sum: operand must be an array of numbers"),
    ],
)
def test_arguments_that_other_functions_read_are_named_too(call, said):
    with pytest.raises((TypeError, ValueError, NotImplementedError), match=said):
        call()


def test_a_rule_that_wraps_itself_is_registered():
    def rule(ct, x):
        return ct

    rule.__wrapped__ = rule
    primitive = Primitive("wraps_itself")
    ad.defjvp2(primitive, rule)
    assert primitive in ad.primitive_jvps


def test_functions_are_wrapped_whatever_their_attributes_are():
    class Odd:
        __annotations__ = 3
        __name__ = 4
        __type_params__ = 5

        def __call__(self, x):
            return 2 * x

    assert px.vmap(Odd())(np.ones(2, np.float32)).tolist() == [2, 2]
    assert px.jit(Odd())(1.0) == 2
    assert px.vmap(Odd()).__name__ == "Odd"


@pytest.mark.parametrize("transform", [px.jit, px.grad, px.vmap, px.checkpoint, px.jacfwd])
def test_transformed_objects_and_partial_functions_have_the_names_of_what_is_inside(transform):
    class Nameless:
        def __call__(self, x):
            return x

    def inner(x, y):
        return x * y

    assert transform(functools.partial(functools.partial(inner), 2.0)).__name__ == "inner"
    assert transform(Nameless()).__name__ == "Nameless"


def test_a_program_is_named_after_the_function_in_a_partial_function():
    program = px.make_jaxpr(px.jit(functools.partial(lambda x, y: x, 1.0)))(2.0)
    assert program.eqns[0].params["name"] == "<lambda>"


@pytest.mark.parametrize("transform", [px.grad, px.vmap, px.checkpoint, px.jacfwd, px.custom_jvp])
def test_a_transformed_function_has_not_the_methods_of_the_jitted_one_inside(transform):
    f = px.jit(lambda x: x)
    f.mine = 3
    for name in ("lower", "trace", "eval_shape", "clear_cache"):
        assert hasattr(f, name)
        assert not hasattr(transform(f), name)
    assert transform(f).mine == 3
