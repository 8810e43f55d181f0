"""Dtypes and promotion, against jax where it is installed and against the lattice's laws where it is not."""

from __future__ import annotations

import contextlib
import itertools
import subprocess
import sys
import types
import warnings

import ml_dtypes
import numpy as np
import pytest

from primax.extend import dtypes
from primax.extend.dtypes import (
    ExtendedDType,
    TypePromotionError,
    canonicalize_dtype,
    check_user_dtype,
    dtype,
    extended,
    float0,
    is_bool,
    is_complex,
    is_extended,
    is_floating,
    is_inexact,
    is_integer,
    is_numeric,
    is_signed_integer,
    is_unsigned_integer,
    issubdtype,
    itemsize_bits,
    promote_types,
    python_scalar_dtypes,
    result_type,
    scalar_dtype,
    scalar_type_of,
    short_dtype_name,
    supports_inf,
    tangent_dtype,
    to_complex_dtype,
    to_floating_dtype,
    to_inexact_dtype,
    to_numeric_dtype,
)
from primax.extend.options import enable_x64, numpy_dtype_promotion

UNSIGNED = [np.dtype(t) for t in (ml_dtypes.uint2, ml_dtypes.uint4, "u1", "u2", "u4", "u8")]
SIGNED = [np.dtype(t) for t in (ml_dtypes.int2, ml_dtypes.int4, "i1", "i2", "i4", "i8")]
NARROW_FLOATS = [
    np.dtype(t)
    for t in (
        ml_dtypes.float4_e2m1fn,
        ml_dtypes.float6_e2m3fn,
        ml_dtypes.float6_e3m2fn,
        ml_dtypes.float8_e3m4,
        ml_dtypes.float8_e4m3,
        ml_dtypes.float8_e4m3b11fnuz,
        ml_dtypes.float8_e4m3fn,
        ml_dtypes.float8_e4m3fnuz,
        ml_dtypes.float8_e5m2,
        ml_dtypes.float8_e5m2fnuz,
        ml_dtypes.float8_e8m0fnu,
    )
]
FLOATS = [*NARROW_FLOATS, *(np.dtype(t) for t in (ml_dtypes.bfloat16, "f2", "f4", "f8"))]
COMPLEX = [np.dtype("c8"), np.dtype("c16")]
NUMBERS = [*UNSIGNED, *SIGNED, *FLOATS, *COMPLEX]
DTYPES = [np.dtype(bool), *NUMBERS]
WEAK = [int, float, complex]
X64 = pytest.mark.parametrize("x64", [False, True], ids=["x32", "x64"])
MODE = pytest.mark.parametrize("mode", ["standard", "strict"])


class Valued:
    """Stands for an array: all that promotion reads of one is its aval."""

    def __init__(self, dtype, weak_type=False):
        self.dtype = dtype
        self.aval = types.SimpleNamespace(dtype=dtype, weak_type=weak_type, shape=())

    def __repr__(self):
        return f"Valued({self.dtype}, weak_type={self.aval.weak_type})"


class KeyScalar(extended):
    pass


class Key(ExtendedDType):
    type = KeyScalar
    name = "key<fry>"

    def __eq__(self, other):
        return type(other) is Key

    def __hash__(self):
        return hash(Key)


def outcome(fun, *args, **kwargs):
    """The result of a call, or the kind of promotion error that it raised."""
    try:
        return fun(*args, **kwargs)
    except ValueError:
        return ValueError


@pytest.fixture
def jax():
    return pytest.importorskip("jax")


@pytest.fixture
def in_mode(jax):
    def enter(x64, mode="standard"):
        stack = contextlib.ExitStack()
        stack.enter_context(jax.enable_x64(x64))
        stack.enter_context(jax.numpy_dtype_promotion(mode))
        stack.enter_context(enable_x64(x64))
        stack.enter_context(numpy_dtype_promotion(mode))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        return stack

    return enter


def test_all_is_sorted_and_exists():
    assert dtypes.__all__ == sorted(dtypes.__all__)
    assert all(hasattr(dtypes, name) for name in dtypes.__all__)


def test_import_loads_neither_jax_nor_mlir():
    code = "import sys, primax.extend.dtypes;print([m for m in ('jax', 'jaxlib.mlir', 'scipy') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.stdout == "[]\n", result.stderr


@X64
@MODE
def test_promote_types_agrees_with_jax_on_all_pairs(in_mode, jax, x64, mode):
    with in_mode(x64, mode):
        for a, b in itertools.product([*DTYPES, *WEAK], repeat=2):
            assert outcome(promote_types, a, b) == outcome(jax.numpy.promote_types, a, b), (a, b)


@X64
@MODE
def test_result_type_agrees_with_jax_on_all_pairs_of_strong_and_weak(in_mode, jax, x64, mode):
    with in_mode(x64, mode):
        canonical = sorted({canonicalize_dtype(d) for d in DTYPES}, key=str)
        strong = [Valued(d) for d in canonical]
        # jax has no default dtype for a weak narrow integer.
        weak = [Valued(d, True) for d in canonical if d not in UNSIGNED[:2] + SIGNED[:2]]
        operands = [*DTYPES, *strong, *weak, True, 1, 2.0, 3j, bool, int, float, complex, None]
        for a in operands:
            assert result_type(a, return_weak_type=True) == jax.dtypes.result_type(a, return_weak_type_flag=True), a
        for a, b in itertools.product(operands, repeat=2):
            expected = outcome(jax.dtypes.result_type, a, b, return_weak_type_flag=True)
            assert outcome(result_type, a, b, return_weak_type=True) == expected, (a, b)


@X64
def test_result_type_agrees_with_jax_on_triples(in_mode, jax, x64):
    with in_mode(x64):
        some = [np.dtype(t) for t in (bool, "u1", "i1", "u4", "i4", "f2", ml_dtypes.bfloat16, "f4", "c8")]
        operands = [*some, ml_dtypes.float8_e4m3fn, ml_dtypes.int4, 1, 2.0, 3j, Valued(np.dtype("f4"), True)]
        for triple in itertools.product(operands, repeat=3):
            expected = outcome(jax.dtypes.result_type, *triple, return_weak_type_flag=True)
            assert outcome(result_type, *triple, return_weak_type=True) == expected, triple


@X64
def test_issubdtype_agrees_with_jax(in_mode, jax, x64):
    abstract = [
        np.generic, np.number, np.inexact, np.floating, np.complexfloating, np.integer, np.signedinteger,
        np.unsignedinteger, np.bool_, np.character, np.flexible,
    ]  # fmt: skip
    names = ["float32", "int8", "bool", "bfloat16"]
    subjects = [
        *DTYPES,
        *(d.type for d in DTYPES),
        *abstract,
        *names,
        float0,
        int,
        float,
        complex,
        bool,
        extended,
    ]
    with in_mode(x64):
        for a, b in itertools.product(subjects, repeat=2):
            assert issubdtype(a, b) == jax.numpy.issubdtype(a, b), (a, b)


@X64
def test_conversions_agree_with_jax(in_mode, jax, x64):
    theirs = pytest.importorskip("jax._src.dtypes")
    names = [
        "canonicalize_dtype",
        "to_numeric_dtype",
        "short_dtype_name",
        "itemsize_bits",
        "dtype",
        "scalar_type_of",
    ]
    with in_mode(x64):
        for d in DTYPES:
            for name in names:
                assert getattr(dtypes, name)(d) == getattr(theirs, name)(d), (name, d)
            if d not in (np.dtype(ml_dtypes.int2), np.dtype(ml_dtypes.uint2)):  # jax leaves these integers
                assert to_inexact_dtype(d) == theirs.to_inexact_dtype(d), d
                assert to_floating_dtype(d) == theirs.to_floating_dtype(d), d
                assert to_complex_dtype(d) == theirs.to_complex_dtype(d), d
            aval = jax.core.ShapedArray((), d)
            assert tangent_dtype(d) == aval.to_tangent_aval().dtype, d
        for value in (
            True,
            1,
            2.0,
            3j,
            bool,
            int,
            float,
            complex,
            "float32",
            "int64",
            np.float64(1),
            np.ones(3),
        ):
            assert dtype(value) == theirs.dtype(value), value
            assert scalar_type_of(value) == theirs.scalar_type_of(value), value


def test_finfo_and_iinfo_agree_with_jax(jax):
    for d in FLOATS:
        ours, theirs = dtypes.finfo(d), jax.numpy.finfo(d)
        assert (ours.bits, ours.max, ours.eps) == (theirs.bits, theirs.max, theirs.eps)
    for d in [*SIGNED, *UNSIGNED]:
        ours, theirs = dtypes.iinfo(d), jax.numpy.iinfo(d)
        assert (ours.bits, ours.min, ours.max) == (theirs.bits, theirs.min, theirs.max)


@X64
def test_promotion_is_idempotent_and_does_not_depend_on_order(x64):
    with enable_x64(x64):
        assert all(promote_types(d, d) == d for d in DTYPES)
        for a, b in itertools.product([*DTYPES, *WEAK], repeat=2):
            assert outcome(promote_types, a, b) == outcome(promote_types, b, a), (a, b)
        for a, b, c in itertools.combinations([*DTYPES, *WEAK], 3):
            results = {outcome(result_type, *order) for order in itertools.permutations((a, b, c))}
            assert len(results) == 1, (a, b, c)


@pytest.mark.parametrize(
    "a, b, x32, x64",
    [
        ("u4", "i4", "int32", "int64"),
        ("u1", "i1", "int16", "int16"),
        ("i4", "f2", "float16", "float16"),
        ("f2", "bfloat16", "float32", "float32"),
        ("i4", float, "float32", "float64"),
        ("f4", complex, "complex64", "complex64"),
        ("bool", int, "int32", "int64"),
    ],
)
def test_result_type_of_documented_pairs(a, b, x32, x64):
    for wide, name in ((False, x32), (True, x64)):
        with enable_x64(wide):
            assert result_type(np.dtype(a), b) == np.dtype(name)
            assert result_type(b, np.dtype(a)) == np.dtype(name)


def test_result_type_of_weak_operands_is_weak_and_has_the_default_width():
    for wide in (False, True):
        with enable_x64(wide):
            default = {bool: np.dtype(bool), **{t: python_scalar_dtypes[t] for t in WEAK}}
            assert result_type(1, 2, return_weak_type=True) == (default[int], True)
            assert result_type(1, 2.0, return_weak_type=True) == (default[float], True)
            assert result_type(True, True, return_weak_type=True) == (default[bool], False)
            assert result_type(True, 1, return_weak_type=True) == (default[int], True)
            assert result_type(Valued(np.dtype("i1"), True), return_weak_type=True) == (default[int], True)
            small = Valued(np.dtype(ml_dtypes.int4), True)
            assert result_type(small, small, return_weak_type=True) == (default[int], True)
            assert result_type(Valued(np.dtype("f2"), True), np.dtype("f2"), return_weak_type=True) == (
                np.dtype("f2"),
                False,
            )


def test_arrays_keep_a_wide_dtype_without_x64_and_numpy_arrays_do_not():
    wide = np.dtype("f8")
    with enable_x64(False):
        assert dtype(Valued(wide)) == wide
        assert result_type(Valued(wide), Valued(wide)) == wide
        assert dtype(np.ones(2)) == np.dtype("f4")
        assert dtype("float64") == np.dtype("f4")
    with enable_x64(True):
        assert dtype(np.ones(2)) == wide


def test_result_type_of_one_dtype_lets_extended_dtypes_and_float0_through():
    key = Key()
    assert result_type(key) is key
    assert result_type(key, Key()) == key
    assert result_type(Valued(key), Valued(key)) == key
    assert result_type(float0, float0) == float0
    for error in (TypePromotionError, TypeError):
        with pytest.raises(error, match="key<fry> does not promote"):
            result_type(key, np.dtype("f4"))
    with pytest.raises(TypePromotionError, match="does not promote"):
        result_type(key, 1.0)


def test_result_type_rejects_no_operands_and_what_has_no_dtype():
    with pytest.raises(ValueError, match="one operand or more"):
        result_type()
    for bad in (object(), [object()], object, "spam"):
        with pytest.raises(TypeError, match="x must"):
            result_type(bad, 1)
    for bad in (np.array(["a"]), np.dtype("M8[s]"), np.array([object()]), "U3"):
        with pytest.raises(TypeError, match="must have a bool, number or extended dtype"):
            dtype(bad)


def test_strict_promotion_raises_unless_weak():
    with numpy_dtype_promotion("strict"):
        with pytest.raises(TypePromotionError, match=r"got float32, int32; numpy_dtype_promotion is 'strict'"):
            result_type(np.dtype("f4"), np.dtype("i4"))
        assert result_type(np.dtype("f2"), 1) == np.dtype("f2")
        assert result_type(np.dtype("f2"), np.dtype("f2")) == np.dtype("f2")
        with pytest.raises(TypePromotionError):
            result_type(np.dtype("i4"), 1.0)
    assert issubclass(TypePromotionError, ValueError)


@pytest.mark.parametrize("narrow", [*NARROW_FLOATS, *UNSIGNED[:2], *SIGNED[:2]], ids=str)
def test_narrow_dtypes_promote_with_scalars_alone(narrow):
    assert result_type(narrow, 1) == narrow
    with pytest.raises(TypePromotionError, match=f"{narrow.name}.*cast one with astype"):
        result_type(narrow, np.dtype("f4") if is_floating(narrow) else np.dtype("i4"))


def test_promotion_follows_x64_at_once():
    operands = np.dtype("i4"), np.dtype("u4")
    for wide, name in ((False, "int32"), (True, "int64"), (False, "int32")):
        with enable_x64(wide):
            assert result_type(*operands).name == name


def test_canonicalize_dtype():
    for wide in (False, True):
        with enable_x64(wide):
            for d in DTYPES:
                narrowed = {
                    "float64": "float32",
                    "int64": "int32",
                    "uint64": "uint32",
                    "complex128": "complex64",
                }
                expected = d if wide else np.dtype(narrowed.get(d.name, d))
                assert canonicalize_dtype(d) == canonicalize_dtype(d.type) == expected
            assert canonicalize_dtype(int) == python_scalar_dtypes[int]
            assert canonicalize_dtype("float64") == python_scalar_dtypes[float]
    assert canonicalize_dtype(float0) == float0
    assert canonicalize_dtype(Key()) == Key()
    with pytest.raises(TypeError, match="canonicalize_dtype: dtype must be a dtype, got 'spam'"):
        canonicalize_dtype("spam")


def test_check_user_dtype_warns_where_the_user_called():
    def zeros(dtype):
        return check_user_dtype(dtype, "dtype", "zeros")

    with enable_x64(False):
        with pytest.warns(UserWarning, match=r"zeros: dtype float64 is not available.*enable_x64") as caught:
            assert zeros("float64") == np.dtype("f4")
        assert caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert zeros(float) == np.dtype("f4")
            assert zeros(int) == np.dtype("i4")
            assert zeros(np.float32) == np.dtype("f4")
    with enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert zeros("float64") == zeros(float) == np.dtype("f8")
    assert zeros(Key()) == Key()


@pytest.mark.parametrize("bad", [None, "spam", object, "U3", 3, np.ones(2), Valued(np.dtype("f4"))], ids=repr)
def test_check_user_dtype_rejects_what_is_no_dtype(bad):
    with pytest.raises(TypeError, match="full: dtype must be a bool, number or extended dtype, got"):
        check_user_dtype(bad, "dtype", "full")


def test_predicates_partition_the_dtypes():
    expected = {
        is_bool: [np.dtype(bool)],
        is_unsigned_integer: UNSIGNED,
        is_signed_integer: SIGNED,
        is_integer: UNSIGNED + SIGNED,
        is_floating: FLOATS,
        is_complex: COMPLEX,
        is_inexact: FLOATS + COMPLEX,
        is_numeric: NUMBERS,
    }
    for predicate, members in expected.items():
        for d in [*DTYPES, float0]:
            assert predicate(d) is (d in members), (predicate, d)
            assert predicate(d.type) is (d in members and d != float0)
        assert predicate(Key()) is False
    assert is_floating("bfloat16")
    assert is_floating("float32")


def test_extended_dtypes_belong_to_their_scalar_class():
    key = Key()
    assert is_extended(key)
    assert not is_extended(np.dtype("f4"))
    assert issubdtype(key, KeyScalar)
    assert issubdtype(key, extended)
    assert issubdtype(key, np.generic)
    assert issubdtype(key, key)
    assert not issubdtype(key, np.number)
    assert not issubdtype(np.dtype("f4"), extended)
    assert not issubdtype(np.dtype("f4"), key)
    assert tangent_dtype(key) == float0
    assert short_dtype_name(key) == str(key) == "key<fry>"
    assert dtype(Valued(key)) is key
    with pytest.raises(TypeError, match="abstract"):
        ExtendedDType()


def test_python_scalars_have_the_default_dtypes():
    for wide, names in ((False, "bool int32 float32 complex64"), (True, "bool int64 float64 complex128")):
        with enable_x64(wide):
            assert [d.name for d in python_scalar_dtypes.values()] == names.split()
            assert [scalar_dtype(x).name for x in (True, 1, 2.0, 3j)] == names.split()
            assert dtypes.default_uint_dtype().name == "u" + names.split()[1]
            assert [
                dtypes.default_int_dtype(),
                dtypes.default_float_dtype(),
                dtypes.default_complex_dtype(),
            ] == [python_scalar_dtypes[t] for t in WEAK]
            bits = 64 if wide else 32
            scalar_dtype(2 ** (bits - 1) - 1)
            scalar_dtype(-(2 ** (bits - 1)))
            with pytest.raises(OverflowError, match=f"must fit int{bits}"):
                scalar_dtype(2 ** (bits - 1))


def test_short_names():
    names = {
        "bool": "bool", "int32": "i32", "uint8": "u8", "float16": "f16", "bfloat16": "bf16", "float64": "f64",
        "complex64": "c64", "float8_e4m3fn": "f8_e4m3fn", "int4": "i4", "uint2": "u2",
        "float4_e2m1fn": "f4_e2m1fn",
    }  # fmt: skip
    assert {long: short_dtype_name(np.dtype(long)) for long in names} == names
    assert short_dtype_name(float0) == "float0"


def test_conversions_to_sorts_of_number():
    assert to_numeric_dtype(bool) == np.dtype("i4")
    assert to_inexact_dtype(ml_dtypes.int2) == np.dtype("f4")
    assert to_inexact_dtype("int64") == np.dtype("f8")
    assert to_floating_dtype("complex64") == np.dtype("f4")
    assert to_floating_dtype("complex128") == np.dtype("f8")
    assert to_complex_dtype("bfloat16") == np.dtype("c8")
    assert to_complex_dtype("float64") == np.dtype("c16")
    assert all(tangent_dtype(d) == (d if d in FLOATS + COMPLEX else float0) for d in DTYPES)


def test_itemsize_and_infinity():
    assert [itemsize_bits(t) for t in (bool, ml_dtypes.int2, "u2", ml_dtypes.bfloat16, "c8")] == [
        8,
        2,
        16,
        16,
        64,
    ]
    with pytest.raises(TypeError, match="not defined for values of dtype float0"):
        itemsize_bits(float0)
    with_infinity = {"float8_e3m4", "float8_e4m3", "float8_e5m2", "bfloat16", "float16", "float32", "float64"}
    assert {d.name for d in FLOATS if supports_inf(d)} == with_infinity
    assert supports_inf("complex64")
    assert not supports_inf("int32")
