"""Exported functions: creating, calling, writing and reading them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primax.extend import backend
from primax.extend.core import ShapeDtypeStruct, get_aval, tree
from primax.extend.provisional.arguments import among, integer, sequence
from primax.extend.provisional.sharding import named_from_hlo, to_hlo
from primax.extend.provisional.user_types import has_user_types, unpacked
from primax.extend.sharding import AbstractMesh, Mesh, NamedSharding
from primax.plugins.calls import flat_arguments, jit
from primax.plugins.export.artifact import Artifact, differentiable, make_artifact
from primax.plugins.export.file import from_bytes, to_bytes
from primax.plugins.export.stablehlo_artifact import artifact_text
from primax.plugins.export.structure import structure_from_json, structure_to_json

# Of modules that take all arguments and return all results, as XlaCallModule calls them; the newer one has Shardy.
minimum_supported_calling_convention_version = 9
maximum_supported_calling_convention_version = 10

_HIGHEST_ORDER = 16  # each order adds arguments and results, growing like Fibonacci's numbers


class Exported:
    """A function as a portable program, without its Python code.

    `export` and `deserialize` return such functions.

    Attributes:
      fun_name: the name of the function.
      in_tree: the structure of `(args, kwargs)`, static arguments left out.
      out_tree: the structure of the results.
      in_avals: the types of the arguments, flat.
      out_avals: the types of the results, flat.
      platforms: the platforms on which it can run.
      primitives: the plugins' primitives in the original program, such as `"kepler::orbit"`.
      nr_devices: the number of devices on which it runs.
      in_shardings_hlo: the sharding of each argument in XLA's form; None if XLA chooses.
      out_shardings_hlo: the same for the results.
      calling_convention_version: the version of the way in which XlaCallModule calls the module.
      disabled_safety_checks: the checks that were left out.
      ordered_effects: the ordered effects: none.
      unordered_effects: the other effects: none.
      module_kept_var_idx: the positions of the arguments that the module takes: all.
      uses_global_constants: whether types of arguments have named sizes.
    """

    def __init__(
        self,
        artifact: Artifact,
        in_tree: Any,
        out_tree: Any,
        calling_convention_version: int = maximum_supported_calling_convention_version,
        disabled_safety_checks: Sequence[DisabledSafetyCheck] = (),
    ) -> None:
        self._artifact = artifact
        self.calling_convention_version = calling_convention_version
        self.disabled_safety_checks = tuple(disabled_safety_checks)
        self.ordered_effects: tuple[Any, ...] = ()
        self.unordered_effects: tuple[Any, ...] = ()
        self.module_kept_var_idx = tuple(range(len(artifact.in_avals)))
        self.uses_global_constants = artifact.is_symbolic
        self.fun_name = artifact.name
        self.in_tree = in_tree
        self.out_tree = out_tree
        self.in_avals = artifact.in_avals
        self.out_avals = artifact.out_avals
        self.platforms = tuple(artifact.modules)
        self.primitives = artifact.primitives
        self.nr_devices = artifact.count
        spread = artifact.spread
        self.in_shardings_hlo = _hlo_shardings(spread and spread.mesh, spread and spread.ins, self.in_avals)
        self.out_shardings_hlo = _hlo_shardings(spread and spread.mesh, spread and spread.outs, self.out_avals)

    def __repr__(self) -> str:
        return f"<Exported {self.fun_name} for {', '.join(self.platforms)}>"

    def __copy__(self) -> Exported:
        return self

    def __deepcopy__(self, memo: Any) -> Exported:
        return self

    def call(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function; usable inside `jit`, and inside `grad` if it was exported with its derivative.

        Args:
          args: arguments of the exported types.
          kwargs: keyword arguments of the exported types.

        Raises:
          TypeError: the arguments differ from these types in structure, shape or dtype.
        """
        if has_user_types():
            args, kwargs = unpacked((args, kwargs))
        leaves = flat_arguments(args, kwargs, self.in_tree, self.in_avals, self.fun_name, "exported for")
        artifact = self._artifact
        if artifact.is_symbolic:
            artifact = self._for_shapes(tuple([get_aval(leaf).shape for leaf in leaves]))
        return tree.unflatten(self.out_tree, artifact(*leaves))

    def _for_shapes(self, shapes: tuple[tuple[Any, ...], ...]) -> Artifact:
        """The artifact for arguments of given shapes.

        Raises:
          ValueError: the shapes do not fit the types of the arguments.
        """

        def names() -> list[str]:
            paths = tree.tree_leaves_with_path(tree.unflatten(self.in_tree, range(len(shapes))))
            return [f"argument{tree.keystr(path[1:])}" for path, _ in paths]

        return self._artifact.at(shapes, names)

    def in_shardings_jax(self, mesh: Mesh | AbstractMesh) -> tuple[Any, ...]:
        """For each argument, its sharding over a mesh of the same number of devices; None where XLA chooses."""
        return self._over("in_shardings_jax", mesh, self.in_shardings_hlo, self.in_avals)

    def out_shardings_jax(self, mesh: Mesh | AbstractMesh) -> tuple[Any, ...]:
        """For each result, its sharding over a mesh of the same number of devices; None where XLA chooses."""
        return self._over("out_shardings_jax", mesh, self.out_shardings_hlo, self.out_avals)

    def _over(self, function: str, mesh: Any, shardings: Sequence[Any], avals: Sequence[Any]) -> tuple[Any, ...]:
        if not isinstance(mesh, Mesh | AbstractMesh) or mesh.size != self.nr_devices:
            raise ValueError(f"{function}: mesh must be a Mesh of {self.nr_devices} devices, got {mesh!r}")
        named = []
        for sharding, aval in zip(shardings, avals, strict=True):
            over = None if sharding is None else named_from_hlo(sharding, mesh, len(aval.shape))
            if sharding is not None and over is None:
                raise ValueError(f"{function}: mesh must have axes that name the division {sharding}, got {mesh!r}")
            named.append(over)
        return tuple(named)

    def mlir_module(self, platform: str | None = None) -> str:
        """The program in StableHLO's notation, for one of its platforms; by default the first."""
        return artifact_text(self._module(platform))

    @property
    def mlir_module_serialized(self) -> bytes:
        """The program as StableHLO's portable artifact, for its first platform."""
        return self._module(None)

    def _module(self, platform: str | None) -> bytes:
        name = self.platforms[0] if platform is None else platform
        if not among(name, self._artifact.modules):
            raise ValueError(f"mlir_module: platform must be one of {self.platforms}, got {platform!r}")
        return self._artifact.modules[name]

    def has_vjp(self) -> bool:
        """Whether the function can be differentiated."""
        return self._artifact.has_vjp

    def vjp(self) -> Exported:
        """The function from the flat arguments and the cotangents of the results to the cotangents of the arguments.

        Arguments and results whose dtype has no derivative have no cotangents.

        Raises:
          ValueError: the function was exported without its derivative.
        """
        artifact = self._artifact.vjp
        if artifact is None:
            raise ValueError(f"vjp: {self.fun_name} was serialized without its derivative; see serialize(vjp_order=)")
        in_tree = tree.tree_structure((tuple([0] * len(artifact.in_avals)), {}))
        out_tree = tree.tree_structure(tuple([0] * sum(differentiable(self.in_avals))))
        return Exported(artifact, in_tree, out_tree, self.calling_convention_version, self.disabled_safety_checks)

    def serialize(self, vjp_order: int = 0) -> bytes:
        """The function as bytes, for `deserialize`.

        Args:
          vjp_order: how often the loaded function can be differentiated, in reverse mode.

        Raises:
          TypeError: `vjp_order` is not an integer.
          ValueError: a class of pytree nodes has no serialized form, or there are no derivatives of that order.
        """
        vjp_order = integer("serialize", "vjp_order", vjp_order)
        if not 0 <= vjp_order <= _HIGHEST_ORDER:
            raise ValueError(f"serialize: vjp_order must be in [0, {_HIGHEST_ORDER}], got {vjp_order}")
        header = {
            "in_tree": structure_to_json(self.in_tree, "the arguments"),
            "out_tree": structure_to_json(self.out_tree, "the results"),
        }
        if self.calling_convention_version != maximum_supported_calling_convention_version:
            header["calling_convention"] = self.calling_convention_version
        return to_bytes(header, self._artifact, vjp_order)


def _hlo_shardings(mesh: Any, specs: Any, avals: Sequence[Any]) -> tuple[Any, ...]:
    """Specifications in XLA's form."""
    if mesh is None:
        return (None,) * len(avals)
    return tuple(
        None if spec is None else to_hlo(mesh, spec, len(aval.shape)) for spec, aval in zip(specs, avals, strict=True)
    )


def _class_of(structure: Any) -> Any:
    """The class of the outermost node of a structure, or None where it is a leaf."""
    node = structure.node_data()
    return None if node is None else node[0]


def deserialize(blob: bytes | bytearray) -> Exported:
    """Read an exported function.

    Args:
      blob: the result of `Exported.serialize`, possibly from another process. Reading it executes nothing, but it is a
        program, which can read and write any memory when it is called: load only data that you trust.

    Raises:
      TypeError: `blob` is not bytes.
      ValueError: the data is damaged, has a newer version, or uses classes that are not registered here.
      PluginError: it calls a foreign function of a plugin that is not installed or not active.

    >>> import primax as px
    >>> data = px.export.export(px.jit(lambda x: 2.0 * x))(1.0).serialize()
    >>> float(px.export.deserialize(data).call(3.0))
    6.0
    """
    header, artifact = from_bytes(blob)
    structures = []
    for name, avals in (("in_tree", artifact.in_avals), ("out_tree", artifact.out_avals)):
        structure = structure_from_json(header.get(name))
        if structure.num_leaves != len(avals):
            raise ValueError(
                f"deserialize: {name} in the header of data must have one leaf for each of {len(avals)} types, "
                f"got {structure.num_leaves}"
            )
        structures.append(structure)
    in_tree, out_tree = structures
    if _class_of(in_tree) is not tuple or [_class_of(child) for child in in_tree.children()] != [tuple, dict]:
        raise ValueError(
            f"deserialize: in_tree in the header of data must be a structure (args, kwargs), got {in_tree}"
        )
    version = header.get("calling_convention", maximum_supported_calling_convention_version)
    known = range(minimum_supported_calling_convention_version, maximum_supported_calling_convention_version + 1)
    if type(version) is not int or version not in known:
        raise ValueError(
            f"deserialize: data must be of a calling convention from {known[0]} to {known[-1]}, got {version!r}"
        )
    return Exported(artifact, in_tree, out_tree, version)


@dataclass(frozen=True, slots=True)
class DisabledSafetyCheck:
    """A check that an exported function omits: that of the platform. primax has no other checks.

    Args:
      description: the name of the check.
    """

    description: str

    @classmethod
    def platform(cls) -> DisabledSafetyCheck:
        """The check of the platform; without it, the program for the first platform may run on any."""
        return cls("platform")

    @classmethod
    def custom_call(cls, target_name: str) -> DisabledSafetyCheck:
        """The check of calls of a foreign function, which primax does not make."""
        return cls(f"custom_call:{target_name}")

    def is_custom_call(self) -> str | None:
        """The foreign function of the check, or None."""
        kind, _, target = self.description.partition(":")
        return target if kind == "custom_call" else None


def default_export_platform() -> str:
    """The platform for exported functions, unless others are named."""
    return backend.platform_of(backend.get_default_device())


def export(
    fun_jit: Any, *, platforms: Sequence[str] | None = None, disabled_checks: Sequence[DisabledSafetyCheck] = ()
) -> Callable[..., Exported]:
    """Turn a jitted function into a portable program.

    Args:
      fun_jit: a function returned by `jit`, or a function of primax.
      platforms: the platforms to build it for; they need not be available. By default the platform it would run on.
      disabled_checks: with `DisabledSafetyCheck.platform()`, the program for the first platform may run on any. Other
        checks have no effect, since foreign functions are not checked.

    Returns:
      A function from arguments, or `ShapeDtypeStruct`s, to the `Exported` function for their types.

    Raises:
      TypeError: `fun_jit` is not jitted, or `disabled_checks` contains other values.

    >>> import primax as px
    >>> exported = px.export.export(px.jit(lambda x: 2.0 * x))(px.ShapeDtypeStruct((3,), "float32"))
    >>> exported.in_avals, exported.platforms
    ((ShapedArray(float32[3]),), ('cpu',))
    """
    if callable(fun_jit) and str(getattr(fun_jit, "__module__", "")).startswith("primax."):
        fun_jit = fun_jit if hasattr(fun_jit, "trace") else jit(fun_jit)
    if not hasattr(fun_jit, "trace"):
        raise TypeError(f"export: fun_jit must be a function returned by jit, got {fun_jit!r}")
    if not all(
        isinstance(check, DisabledSafetyCheck) for check in sequence("export", "disabled_checks", disabled_checks)
    ):
        raise TypeError(f"export: disabled_checks must be DisabledSafetyChecks, got {disabled_checks!r}")

    def make(*args: Any, **kwargs: Any) -> Exported:
        args, kwargs = tree.tree_map(_with_devices, (args, kwargs))
        traced = fun_jit.trace(*args, **kwargs)
        where = tuple(platforms) if platforms is not None else (traced.site.platform,)
        if not where or isinstance(platforms, str):
            raise ValueError(f"export: platforms must be a sequence of names, got {platforms!r}")
        anywhere = any(check == DisabledSafetyCheck.platform() for check in disabled_checks)
        program = traced.program.on_parts()
        artifact = make_artifact(program.closed, traced.fun_name, where, traced.site, anywhere)
        return Exported(artifact, program.in_tree, program.out_tree, disabled_safety_checks=disabled_checks)

    return make


def _with_devices(x: Any) -> Any:
    """An argument; if its mesh has no devices, the same on any devices, which are not part of an artifact.

    Raises:
      ValueError: there are too few devices.
    """
    sharding = x.sharding if isinstance(x, ShapeDtypeStruct) else None
    mesh: Any = sharding.mesh if isinstance(sharding, NamedSharding) else None
    if not isinstance(mesh, AbstractMesh):
        return x
    devices = backend.devices()
    if mesh.size > len(devices):
        raise ValueError(
            f"export: the mesh of an argument must have at most {len(devices)} places, as there are devices, got "
            f"{mesh!r}; the option num_cpu_devices makes more"
        )
    placed = Mesh(np.array(devices[: mesh.size]).reshape(mesh.axis_sizes), mesh.axis_names, mesh.axis_types)
    return x.update(sharding=NamedSharding(placed, x.sharding.spec))
