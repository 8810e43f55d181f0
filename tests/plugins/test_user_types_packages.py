"""What packages of users' types need of the mechanism."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import primax as px
from primax.extend import core, define_primitive

pytestmark = pytest.mark.any_word_size


class Scaled:
    def __init__(self, array):
        self.array = array

    def __rmatmul__(self, x):
        return product_p.bind(x, self)


class Base:
    def __init__(self, array):
        self.array = array


@dataclasses.dataclass(frozen=True)
class BaseType(core.UserType):
    shape: tuple[int, ...] = ()

    @classmethod
    def of(cls, x):
        return cls(np.shape(x.array))

    def part_types(self):
        return [core.ShapedArray(self.shape, np.float32)]

    def to_parts(self, x):
        return [x.array]

    def from_parts(self, parts):
        return self.value_class(*parts)

    def to_tangent_aval(self):
        return core.ShapedArray(self.shape, np.float32)


class ScaledType(BaseType):
    pass


core.register_user_type(BaseType, Base)
core.register_user_type(ScaledType, Scaled)  # the class of a subclass is another one

product_p = define_primitive(
    "test_product_with_scaled",
    impl=lambda x, scaled: x @ scaled.array,
    abstract_eval=lambda x, scaled: x,
)


def test_the_type_of_a_subclass_has_a_class_of_its_own():
    out = px.jit(lambda pair: pair)((Base(np.float32(1)), Scaled(np.float32(2))))
    assert [type(x) for x in out] == [Base, Scaled]


def test_the_reflected_operator_is_called_where_both_operands_are_tracers():
    x = np.ones((2, 2), np.float32)
    np.testing.assert_array_equal(px.jit(lambda x, y: x @ y)(x, Scaled(x)), [[2, 2], [2, 2]])
    with pytest.raises(TypeError, match="unsupported operand"):
        px.jit(lambda x, y: x + y)(x, Scaled(x))


def test_grad_of_a_function_with_such_a_result_says_so():
    with pytest.raises(TypeError, match="must return a scalar, got BaseType"):
        px.grad(lambda x: x)(Base(np.float32(1)))


identity_p = define_primitive(
    "test_identity_on_base",
    impl=lambda x: Base(x),
    abstract_eval=lambda x: BaseType(x.shape),
    jvp=lambda primals, tangents: (identity_p.bind(*primals), tangents[0]),
)


def test_a_tangent_may_be_weakly_typed():
    value, tangent = px.jvp(identity_p.bind, (np.float32(1),), (np.float32(2),))
    assert (type(value), float(tangent)) == (Base, 2)
    assert type(px.jvp(lambda x: identity_p.bind(x), (1.0,), (2.0,))[0]) is Base


def test_a_value_made_of_traced_values_by_its_class_is_refused():
    message = "a Scaled is made of traced values; inside of transformed functions a primitive must make it of them"
    for run in (px.jit(Scaled), lambda x: px.jvp(Scaled, (x,), (x,))):
        with pytest.raises(px.errors.UnexpectedTracerError, match=message):
            run(np.float32(1))


def test_what_is_not_supported_says_so():
    x = np.ones((2, 2), np.float32)
    exported = px.export.export(px.jit(lambda x: x))(Base(x))
    with pytest.raises(ValueError, match=r"the arguments hold a value of type BaseType.*no serialized form"):
        exported.serialize()
    mesh = px.make_mesh((1,), ("i",))
    inside = px.shard_map(lambda x: (identity_p.bind(x), x)[1], mesh=mesh, in_specs=px.P("i"), out_specs=px.P("i"))
    with pytest.raises(px.errors.UnsupportedError, match="shard_map: the function must compute with arrays only"):
        inside(x)


@dataclasses.dataclass(frozen=True)
class HalvedType(BaseType):
    """Tangents are of another dtype than the part."""

    def to_tangent_aval(self):
        return core.ShapedArray(self.shape, np.float16)


class Halved(Base):
    pass


core.register_user_type(HalvedType, Halved)

magnitude_p = define_primitive(
    "test_magnitude",
    impl=lambda value: value.array,
    abstract_eval=lambda kind: kind.part_types()[0],
    jvp=lambda primals, tangents: (magnitude_p.bind(*primals), tangents[0].astype(np.float32)),
)


def test_derivatives_pass_through_what_takes_values_apart(capfd):
    def cost(value):
        px.debug.callback(lambda value: print("value", value.array), value)
        return magnitude_p.bind(px.device_put(value, px.devices()[0])) ** 2

    assert float(px.grad(cost)(Base(np.float32(3)))) == 6
    assert float(px.jit(px.grad(cost))(Base(np.float32(3)))) == 6
    assert float(px.jvp(lambda x: magnitude_p.bind(px.device_put(identity_p.bind(x))), (3.0,), (1.0,))[1]) == 1
    with pytest.raises(px.errors.UnsupportedError, match=r"tangents of type f16\[\] are not those of its parts"):
        px.grad(lambda value: magnitude_p.bind(px.device_put(value)))(Halved(np.float32(3)))
    px.effects_barrier()
    assert capfd.readouterr().out.count("value 3.0") == 2
