"""A program for each primitive, with its StableHLO: at one of its samples, or one where primax itself uses it."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.core.primitive import Primitive
from primax.extend import core
from primax.extend.commands.coverage import coverage
from primax.extend.core import primitives
from primax.extend.core.samples import Sample, samples_of
from primax.sharding import AxisType
from reference import docstrings

_LINES = 30  # of a program that is shown
_WIDTH = 240
_ON_INTERVALS = "Here `interval` is a [type of one's own](../../authors/types.md) with two arrays as parts."
_IN_SHARD_MAP = "It occurs inside `shard_map` only."
P = px.P


@dataclasses.dataclass
class Program:
    """A function and its arguments, or the types of these.

    Attributes:
      call: the function.
      args: its arguments.
      about: a sentence on it.
      scope: what the function is traced in.
    """

    call: Callable[..., Any]
    args: tuple[Any, ...]
    about: str = ""
    scope: Callable[[], Any] = contextlib.nullcontext


def shown(primitive: Primitive) -> list[str]:
    """The first program that there is, as Markdown, or the reason why there is none."""
    without = []
    for program in programs(primitive):
        jaxpr, module = texts(program)
        if module:
            return [*_about(program), *_text(jaxpr), '??? note "StableHLO"', "", *_indented(_text(module))]
        without += [[*_about(program), *_text(jaxpr)]] if jaxpr else []
    why = why_no_lowering(primitive)
    if without and why:
        return [*without[0], f"It has no StableHLO: {docstrings.escaped(why)}.", ""]
    why = why or ("none of its samples is a program" if samples_of(primitive) else "it has no samples")
    return [f"No program is shown: {docstrings.escaped(why)}.", ""]


def why_no_lowering(primitive: Primitive) -> str:
    """The reason that its plugin gives, or its samples."""
    cell = coverage(primitive, "lowering")
    if cell.status == "unsupported":
        return cell.reason
    return next((sample.skip["lowering"] for sample in samples_of(primitive) if "lowering" in sample.skip), "")


def programs(primitive: Primitive) -> Iterator[Program]:
    """Programs of one primitive, those of one equation first."""
    if primitive.name in _small():
        yield _small()[primitive.name]
    for sample in samples_of(primitive):
        bound = partial(call, primitive, sample.params)
        yield _along_axes(bound, sample) if sample.axes else Program(bound, tuple(sample.args))


def texts(program: Program) -> tuple[str, str]:
    """The jaxpr and the StableHLO of a program, each empty if there is none."""
    jaxpr = ""
    for double in (False, True):  # a program among the parameters may be one of doubles
        with contextlib.suppress(Exception), px.enable_x64(double), program.scope():
            jaxpr = str(px.make_jaxpr(program.call)(*program.args))
            return jaxpr, px.jit(program.call).lower(*program.args).as_text()
    return jaxpr, ""


def call(primitive: Primitive, params: Any, *args: Any) -> Any:
    return primitive.bind(*args, **params)


def _about(program: Program) -> list[str]:
    return [program.about, ""] if program.about else []


def _text(program: str) -> list[str]:
    lines = program.rstrip().splitlines()
    if len(lines) > _LINES:
        lines = [*lines[:_LINES], f"... {len(lines) - _LINES} more lines"]
    return ["```text", *(line if len(line) < _WIDTH else f"{line[:_WIDTH]} ..." for line in lines), "```", ""]


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" if line else "" for line in lines]


def _along_axes(bound: Callable[..., Any], sample: Sample) -> Program:
    """A sample of a collective inside of `shard_map`: each device has the arguments that are in front."""
    mesh = px.make_mesh(tuple(sample.axes.values()), tuple(sample.axes))
    mapped = px.shard_map(bound, mesh=mesh, in_specs=P(), out_specs=P(), check_vma=False)
    return Program(mapped, tuple(np.asarray(arg)[(0,) * len(sample.axes)] for arg in sample.args))


@cache
def _small() -> dict[str, Program]:
    """Programs for primitives without samples, and for those whose samples alone are no programs, by name."""
    return {**dict(_of_references()), **dict(_of_meshes()), **dict(_of_types()), **dict(_of_spectra())}


def _of_references() -> Iterator[tuple[str, Program]]:
    x = np.arange(3, dtype=np.float32)

    def freed(x: Any) -> Any:
        ref = px.new_ref(x)
        value = ref[0]
        px.free_ref(ref)
        return value

    def filled(x: Any) -> Any:
        ref = px.empty_ref(px.ShapeDtypeStruct((3,), np.float32))
        ref[...] = x
        return px.freeze(ref)

    frozen = Program(lambda x: px.freeze(px.new_ref(x)), (x,))
    yield from {"new_ref": frozen, "freeze": frozen, "free_ref": Program(freed, (x,))}.items()
    yield "empty_ref", Program(filled, (x,))


def _of_meshes() -> Iterator[tuple[str, Program]]:
    """Programs on two devices, for primitives that types of `shard_map` call for."""
    mesh = px.make_mesh((2,), ("x",), AxisType.Explicit)
    sums, same = P(None, None, unreduced={"x"}), P(None, None, reduced={"x"})

    def program(f: Callable[..., Any], ins: Any, outs: Any) -> Program:
        x = px.ShapeDtypeStruct((4, 2), np.float32, sharding=px.NamedSharding(mesh, ins))
        mapped = px.shard_map(f, mesh=mesh, in_specs=ins, out_specs=outs)
        return Program(mapped, (x,), _IN_SHARD_MAP, lambda: px.set_mesh(mesh))

    def cast(to: str) -> Callable[..., Any]:
        return lambda x: lax.pcast(x, "x", to=to)

    def gathered(to: str) -> Callable[..., Any]:
        return lambda x: lax.all_gather(x, "x", tiled=True, to=to)

    params = {"all_gather_dimension": 0, "axis_name": ("x",), "axis_size": 2, "tiled": True}
    yield "pvary", program(cast("varying"), P(), P("x"))
    yield "psum_invariant", program(lambda x: lax.psum(x, "x"), P("x"), P())
    yield "all_gather_invariant", program(gathered("invarying"), P("x"), P())
    yield "pscatter", program(partial(call, primitives["pscatter"], params), P(), P("x"))
    yield "preduced", program(cast("reduced"), P(), same)
    yield "unreduced_psum", program(lambda x: lax.psum(x, "x"), sums, P())
    yield "vary_unreduced_cast", program(cast("unreduced"), P("x"), sums)
    yield "reduced_vary_cast", program(cast("varying"), same, P("x"))
    yield "all_gather_reduced", program(gathered("reduced"), P("x"), same)
    yield "unreduced_reduce_scatter", program(lambda x: lax.psum_scatter(x, "x", tiled=True), sums, P("x"))


class Interval:
    """The numbers between two."""

    def __init__(self, low: Any, high: Any) -> None:
        self.low, self.high = low, high


@dataclasses.dataclass(frozen=True)
class IntervalType(core.UserType):
    """The type of an interval, or of an array of intervals."""

    shape: tuple[int, ...]

    @classmethod
    def of(cls, value: Interval) -> IntervalType:
        return cls(np.shape(value.low))

    def part_types(self) -> list[Any]:
        return [core.ShapedArray(self.shape, np.float32)] * 2

    def to_parts(self, value: Interval) -> list[Any]:
        return [value.low, value.high]

    def from_parts(self, parts: Any) -> Interval:
        return Interval(*parts)

    def to_tangent_aval(self) -> IntervalType:
        return self

    def zeros(self) -> Interval:
        return Interval(pnp.zeros(self.shape), pnp.zeros(self.shape))

    def add(self, x: Interval, y: Interval) -> Interval:
        return Interval(x.low + y.low, x.high + y.high)

    def str_short(self) -> str:
        return f"interval[{','.join(map(str, self.shape))}]"


def _of_types() -> Iterator[tuple[str, Program]]:
    core.register_user_type(IntervalType, Interval)
    kind, turned = IntervalType((2, 3)), IntervalType((3, 2))
    x = Interval(np.zeros((2, 3), np.float32), np.ones((2, 3), np.float32))
    which = np.array([True, False])
    moved = {"operation": "moveaxis", "at": (0, 1), "aval": turned}

    def program(name: str, *args: Any, **params: Any) -> tuple[str, Program]:
        return name, Program(partial(call, primitives[name], params), args, _ON_INTERVALS)

    yield program("zeros_of_type", aval=kind)
    yield program("add_of_type", x, x)
    yield program("select_of_type", which, x, x)
    yield program("by_parts", x, **moved)
    yield program("pack", x.low, x.high, aval=kind)
    yield program("unpack", x)


def _of_spectra() -> Iterator[tuple[str, Program]]:
    """Equations of derivatives of decompositions."""
    x = np.eye(2, dtype=np.float32)

    def values(x: Any) -> Any:
        return pnp.linalg.eigvalsh(x)

    def pushed(x: Any) -> Any:
        return px.jvp(values, (x,), (x,))

    yield from _equations(pushed, x, "the derivative of `eigvalsh`", "spectrum", "spectral_changes")
    yield from _equations(
        lambda x: px.jvp(pushed, (x,), (x,)), x, "the second derivative of `eigvalsh`", "spectral_turns"
    )
    yield from _equations(px.grad(lambda x: values(x).sum()), x, "the gradient of `eigvalsh`", "from_spectrum")
    singular = px.grad(lambda x: pnp.linalg.svd(x, compute_uv=False).sum())
    yield from _equations(singular, x, "the gradient of `svd`", "singular_spectrum")


def _equations(f: Callable[..., Any], x: Any, where: str, *names: str) -> Iterator[tuple[str, Program]]:
    """For each name the first equation of the program of a function, as a program of its own."""
    found: dict[str, Any] = {}
    for eqn in px.make_jaxpr(f)(x).eqns:
        found.setdefault(eqn.primitive.name, eqn)
    for name in names:
        eqn = found[name]
        types = tuple(px.ShapeDtypeStruct(atom.aval.shape, atom.aval.dtype) for atom in eqn.invars)
        yield name, Program(partial(call, eqn.primitive, eqn.params), types, f"The equation in {where}:")
