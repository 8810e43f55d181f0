"""Programs that exist only as portable artifacts, and the primitives that call them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple, cast

from primax.extend import backend, core
from primax.extend.dimensions import is_symbolic_dim
from primax.extend.interpreters import ad, mlir
from primax.extend.provisional import dimensions, runtime
from primax.extend.provisional.avals import is_void, physical_aval
from primax.extend.provisional.dimensions import has_symbolic
from primax.extend.provisional.lowering import constrained, spmd_of
from primax.extend.provisional.references import rewritten
from primax.extend.provisional.sharding import aval_sharding
from primax.extend.rule_types import Table
from primax.extend.sharding import AbstractMesh, Mesh, PartitionSpec
from primax.extend.stablehlo.custom_calls import record_foreign_call
from primax.plugins.calls import jit_p
from primax.plugins.export.foreign import Foreign, foreign_functions, primitives_of, require
from primax.plugins.export.stablehlo_artifact import call_artifact, refined, to_artifact

call_exported_p = core.Primitive("call_exported", multiple_results=True)
exported_tangents_p = core.Primitive("exported_tangents", multiple_results=True)


_MOST_SHAPES = 256  # an artifact keeps its programs for so many values of its named sizes


def _with_sizes(aval: Any, values: Mapping[Any, Any]) -> Any:
    """A type with values for the named sizes in it."""
    shape = [size.replaced(values) if is_symbolic_dim(size) else size for size in aval.shape]
    return aval.update(shape=shape)


class ArtifactShardings(NamedTuple):
    """The sharding of the inputs and outputs of a program over several devices.

    Attributes:
      mesh: the axes of the mesh.
      ins: for each input the mesh axes that divide it, or None if XLA chooses.
      outs: the same for the outputs.
    """

    mesh: AbstractMesh
    ins: tuple[PartitionSpec | None, ...]
    outs: tuple[PartitionSpec | None, ...]


class Artifact:
    """A program of flat arguments, as a module for each platform.

    Attributes:
      name: the name of the function.
      in_avals: the types of its inputs.
      out_avals: the types of its outputs.
      modules: the portable artifact for each platform.
      spread: the shardings over devices; None for one device.
      primitives: the names of the plugins' primitives in the original program.
      foreign: for each platform the foreign functions that it calls.
      anywhere: whether the module for the first platform may also run on others.
      is_symbolic: whether types of inputs or outputs have symbolic dimensions.
      program: a program that calls the artifact.
    """

    def __init__(
        self,
        name: str,
        in_avals: Sequence[Any],
        out_avals: Sequence[Any],
        modules: Mapping[str, bytes],
        make_vjp: Callable[[], Artifact] | None = None,
        vjp: Artifact | None = None,
        spread: ArtifactShardings | None = None,
        primitives: Sequence[str] = (),
        foreign: Mapping[str, Foreign] | None = None,
        anywhere: bool = False,
    ) -> None:
        self.name = name
        self.anywhere = anywhere
        self.primitives = tuple(primitives)
        self.foreign = dict(foreign or {})
        self.in_avals = tuple(in_avals)
        self.out_avals = tuple(out_avals)
        self.modules = dict(modules)
        self.spread = spread
        self._make_vjp = make_vjp
        self._vjp = vjp
        self.is_symbolic = has_symbolic((*self.in_avals, *self.out_avals))
        self._at: dict[Any, Artifact] = {}
        ins = [core.Var(aval) for aval in in_avals]
        outs = [core.Var(aval) for aval in out_avals]
        eqn = core.new_jaxpr_eqn(ins, outs, call_exported_p, {"artifact": self})
        self.program = core.ClosedJaxpr(core.Jaxpr([], ins, outs, [eqn], debug_info=name))

    def __repr__(self) -> str:
        return f"<{self.name} for {', '.join(self.modules)}>"

    def __call__(self, *args: Any) -> list[Any]:
        """Call the program, compiled as a whole."""
        return jit_p.bind(
            *args,
            jaxpr=self.program,
            name=self.name,
            donated_invars=(False,) * len(args),
            keep_unused=False,
            inline=False,
        )

    def at(self, shapes: tuple[tuple[Any, ...], ...], names: Callable[[], Sequence[str]]) -> Artifact:
        """The artifact for inputs of given shapes.

        Args:
          shapes: the shape of each input, of the same rank as its type; with dimensions of a program around the call.
          names: returns the inputs' names in error messages.

        Raises:
          ValueError: the shapes do not fit the types.
        """
        artifact = self._at.get(shapes)
        if artifact is None:
            required = [(name, aval.shape) for name, aval in zip(names(), self.in_avals, strict=True)]
            try:
                values = dimensions.values_of(required, shapes)
            except ValueError as error:
                raise ValueError(f"{self.name}: {error}") from None
            ins, outs = ([_with_sizes(aval, values) for aval in avals] for avals in (self.in_avals, self.out_avals))
            modules = self.modules
            if not has_symbolic((*ins, *outs)):
                modules = {name: refined(self.name, data, ins) for name, data in modules.items()}
            artifact = Artifact(
                self.name,
                ins,
                outs,
                modules,
                (lambda: self._vjp_at(values)) if self.has_vjp else None,
                primitives=self.primitives,
                foreign=self.foreign,
                anywhere=self.anywhere,
            )
            if len(self._at) >= _MOST_SHAPES:
                del self._at[next(iter(self._at))]
            self._at[shapes] = artifact
        return artifact

    def _vjp_at(self, values: Mapping[Any, Any]) -> Artifact:
        vjp = cast(Artifact, self.vjp)
        shapes = tuple([_with_sizes(aval, values).shape for aval in vjp.in_avals])
        return vjp.at(shapes, lambda: [f"input {i} of the derivative" for i in range(len(shapes))])

    @property
    def count(self) -> int:
        """The number of devices on which it runs."""
        return 1 if self.spread is None else self.spread.mesh.size

    @property
    def has_vjp(self) -> bool:
        """Whether reverse mode is possible."""
        return self._vjp is not None or self._make_vjp is not None

    @property
    def vjp(self) -> Artifact | None:
        """From the inputs and the cotangents of the differentiable outputs, to those of the differentiable inputs."""
        if self._vjp is None and self._make_vjp is not None:
            self._vjp = self._make_vjp()
        return self._vjp


def make_artifact(
    closed: core.ClosedJaxpr,
    name: str,
    platforms: Sequence[str],
    site: runtime.DeviceAssignment | None = None,
    anywhere: bool = False,
) -> Artifact:
    """Lower a program for each platform; for as many devices as the site has, if there is one.

    Raises:
      ValueError: the program has effects, calls Python functions, or takes or returns unreduced values.
    """
    closed = rewritten(closed)
    refs = [v.aval for v in (*closed.jaxpr.constvars, *closed.jaxpr.invars) if v.aval.mutable]
    if refs:
        raise ValueError(
            f"export: an exported function must not take or close over a reference, got one of type "
            f"{refs[0].str_short()} in {name}; take its contents, and return the new ones"
        )
    if closed.effects:
        raise ValueError(
            f"export: an exported function must have no effects, got {sorted(map(repr, closed.effects))} in {name}"
        )
    for aval in (*closed.in_avals, *closed.out_avals):
        explicit = aval_sharding(aval)
        if explicit is not None and explicit.is_pending:
            raise ValueError(
                f"export: {name} takes or returns a value of type {aval.str_short()}, which is unreduced; artifacts "
                f"do not support such types: sum inside the function, with primax.reshard(x, primax.P())"
            )
    modules: dict[str, bytes] = {}
    several = site if site is not None and site.mesh is not None and site.mesh.size > 1 else None
    if several and has_symbolic((*closed.in_avals, *closed.out_avals)):
        raise core.UnsupportedError(
            f"export: {name} takes arrays with symbolic dimensions on several devices; export it for one"
        )
    for platform in platforms:
        target = backend.Target(name, several or platform, keep_unused=True)
        modules[platform] = to_artifact(backend.lower(closed, target, platform, embed=True).module)

    def make_vjp() -> Artifact:
        derivative = _vjp_program(closed)
        where = _vjp_site(several, closed) if several else None
        return make_artifact(derivative, f"{name}_vjp", platforms, where, anywhere)

    spread = None
    if several:
        ins = several.ins or (several.replicated,) * len(closed.in_avals)
        outs = several.outs or (None,) * len(closed.out_avals)
        recorded = [None if (s := aval_sharding(aval)) is None else s.spec for aval in closed.out_avals]
        by_types = tuple(
            of_type if spec is None else spec for spec, of_type in zip(_specs(outs), recorded, strict=True)
        )
        spread = ArtifactShardings(cast(Mesh, several.mesh).abstract_mesh, _specs(ins), by_types)
    foreign = {platform: functions for platform, data in modules.items() if (functions := foreign_functions(data))}
    return Artifact(
        name,
        closed.in_avals,
        closed.out_avals,
        modules,
        make_vjp,
        spread=spread,
        primitives=primitives_of(closed),
        foreign=foreign,
        anywhere=anywhere,
    )


def _specs(shardings: Sequence[Any]) -> tuple[PartitionSpec | None, ...]:
    return tuple(None if sharding is None else sharding.spec for sharding in shardings)


def _vjp_site(site: runtime.DeviceAssignment, closed: core.ClosedJaxpr) -> runtime.DeviceAssignment:
    """The site of the derivative: XLA chooses the shardings of output cotangents, not those of input cotangents."""
    ins = site.ins or (site.replicated,) * len(closed.in_avals)
    cts = sum(differentiable(closed.out_avals))
    outs = tuple(compress(ins, differentiable(closed.in_avals)))
    return site._replace(ins=(*ins, *[None] * cts), outs=outs)


def differentiable(avals: Sequence[Any]) -> list[bool]:
    """For each type whether it has cotangents."""
    return [not is_void(aval.to_tangent_aval()) for aval in avals]


def _vjp_program(closed: core.ClosedJaxpr) -> core.ClosedJaxpr:
    in_avals, out_avals = closed.in_avals, closed.out_avals
    flags = differentiable(out_avals)
    ct_avals = [aval.to_tangent_aval() for aval, g in zip(out_avals, flags, strict=True) if g]

    def run(*values: Any) -> list[Any]:
        primals, rest = values[: len(in_avals)], iter(values[len(in_avals) :])
        _, tape = ad.linearize_flat(core.jaxpr_as_fun(closed), primals)
        cts = [next(rest) if g else ad.Zero(aval.to_tangent_aval()) for aval, g in zip(out_avals, flags, strict=True)]
        return [ad.instantiate_zeros(ct) for ct in tape.transpose(cts)]

    return core.trace_to_jaxpr(run, [*in_avals, *ct_avals], "vjp")


def _abstract_eval(*avals: Any, artifact: Artifact) -> list[Any]:
    _check_types(artifact, avals, artifact.in_avals)
    return list(artifact.out_avals)


def _check_types(artifact: Artifact, avals: Sequence[Any], expected: Sequence[Any]) -> None:
    if [(aval.shape, aval.dtype) for aval in avals] != [(aval.shape, aval.dtype) for aval in expected]:
        actual, needed = (", ".join(aval.str_short() for aval in types) for types in (avals, expected))
        raise TypeError(
            f"{artifact.name}: arguments must be of the types {needed} that it was exported for, got {actual}"
        )


def _jvp(primals: Any, tangents: Any, *, artifact: Artifact) -> tuple[Any, Any]:
    if not artifact.has_vjp:
        raise core.UnsupportedError(
            f"{artifact.name} was exported without its derivative; export it with exported.serialize(vjp_order=1), or "
            "a higher order for higher derivatives"
        )
    outs = call_exported_p.bind(*primals, artifact=artifact)
    dense = map(ad.instantiate_zeros, compress(tangents, differentiable(artifact.in_avals)))
    results = iter(exported_tangents_p.bind(*primals, *dense, artifact=artifact))
    flags = differentiable(artifact.out_avals)
    return outs, [next(results) if g else ad.Zero.from_primal_value(o) for o, g in zip(outs, flags, strict=True)]


@mlir.physical_lowering
def _lowering(ctx: mlir.LoweringRuleContext, *args: Any, artifact: Artifact) -> list[Any]:
    platform = ctx.module_context.platform
    if artifact.anywhere and platform not in artifact.modules:
        platform = next(iter(artifact.modules))
    data = artifact.modules.get(platform)
    if data is None:
        raise core.UnsupportedError(
            f"{artifact.name} was exported for {sorted(artifact.modules)}, and the program is built for {platform!r}; "
            "export it with export(f, platforms=[...]), or, if its program runs on any platform, with "
            "disabled_checks=[DisabledSafetyCheck.platform()]"
        )
    foreign = artifact.foreign.get(platform, {})
    require(artifact.name, foreign)
    for function in foreign:
        record_foreign_call(ctx.module_context, function, f"the exported {artifact.name}")
    results = [mlir.aval_to_ir_type(aval) for aval in ctx.avals_out]
    if artifact.spread is None:
        return call_artifact(ctx.module_context, artifact, data, artifact.name, args, results)
    module, spread = ctx.module_context, artifact.spread
    spmd = spmd_of(module)
    if spmd.partitions != artifact.count or spmd.manual is not None:
        where = "on parts, inside of shard_map" if spmd.manual is not None else f"on {spmd.partitions}"
        raise ValueError(
            f"{artifact.name} was exported for {artifact.count} devices, but is called {where}; call it with "
            f"arguments on a mesh of {artifact.count} devices (see device_put), or with such a mesh in scope"
        )
    operands = _constrain(module, args, ctx.avals_in, spread.mesh, spread.ins)
    outs = call_artifact(module, artifact, data, artifact.name, operands, results)
    return _constrain(module, outs, ctx.avals_out, spread.mesh, spread.outs)


def _constrain(module: Any, values: Sequence[Any], avals: Sequence[Any], mesh: Any, specs: Sequence[Any]) -> list[Any]:
    """IR values with given shardings."""
    return [
        x if spec is None else constrained(module, x, mesh, spec, len(physical_aval(aval).shape))
        for x, aval, spec in zip(values, avals, specs, strict=True)
    ]


def _tangent_avals(avals: Sequence[Any]) -> list[Any]:
    return [aval.to_tangent_aval() for aval, g in zip(avals, differentiable(avals), strict=True) if g]


def _tangents_abstract_eval(*avals: Any, artifact: Artifact) -> list[Any]:
    _check_types(artifact, avals, [*artifact.in_avals, *_tangent_avals(artifact.in_avals)])
    return _tangent_avals(artifact.out_avals)


def _transpose_tangents(cts: Any, *args: Any, artifact: Artifact) -> list[Any]:
    vjp = artifact.vjp
    assert vjp is not None
    count = len(artifact.in_avals)
    dense = [ad.instantiate_zeros(ct) for ct in cts]
    return [None] * count + list(call_exported_p.bind(*args[:count], *dense, artifact=vjp))


def _sharding(*avals: Any, artifact: Artifact) -> list[PartitionSpec]:
    """The shardings of results along explicit axes: those of the exported program, if the axes are the same."""
    return [_spec_of(aval, avals) for aval in artifact.out_avals]


def _tangents_sharding(*avals: Any, artifact: Artifact) -> list[PartitionSpec]:
    return [_spec_of(aval, avals) for aval in _tangent_avals(artifact.out_avals)]


def _spec_of(aval: Any, avals: Sequence[Any]) -> PartitionSpec:
    meshes = {explicit.mesh.shape_tuple for operand in avals if (explicit := aval_sharding(operand)) is not None}
    explicit = aval_sharding(aval)
    return explicit.spec if explicit is not None and meshes == {explicit.mesh.shape_tuple} else PartitionSpec()


_REVERSE_ONLY = "an exported function can be differentiated in reverse mode only: use grad or vjp"
_MAP_FIRST = (
    "an exported program takes exactly the types it was exported for; "
    "export the mapped function instead, or map over it with lax.map"
)


RULES: Table = {
    call_exported_p: {
        "abstract_eval": _abstract_eval,
        "jvp": _jvp,
        "lowering": _lowering,
        "sharding": _sharding,
        "unsupported": {"batch": _MAP_FIRST, "transpose": "an exported program is not known to be linear"},
    },
    exported_tangents_p: {
        "abstract_eval": _tangents_abstract_eval,
        "transpose": _transpose_tangents,
        "sharding": _tangents_sharding,
        "unsupported": {
            "batch": _MAP_FIRST,
            "jvp": "an exported function has derivatives of the order that it was exported with, in reverse mode",
            "lowering": _REVERSE_ONLY,
        },
    },
}
