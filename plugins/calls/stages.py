"""The stages of a jitted function, for inspection: traced, lowered, compiled."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    ParamSpec,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    overload,
    runtime_checkable,
)

import numpy as np

from primax.extend import backend, core
from primax.extend.core import tree
from primax.extend.dimensions import is_symbolic_dim
from primax.extend.programs import Program
from primax.extend.provisional import runtime
from primax.extend.provisional.arguments import among, avals_of, one_or_several
from primax.extend.provisional.avals import ALL_BUT_SHAPE_AND_DTYPE, same_type
from primax.extend.provisional.dimensions import is_symbolic
from primax.extend.provisional.references import discharge_rules
from primax.extend.provisional.sharding import Format, Layout, aval_sharding, get_mesh
from primax.extend.provisional.user_types import unpacked
from primax.extend.sharding import NamedSharding

CompilerOptions: TypeAlias = dict[str, Any]  # options of XLA by name


_P = ParamSpec("_P")
_Q = ParamSpec("_Q")
_S = TypeVar("_S")
_R_co = TypeVar("_R_co", covariant=True)


@runtime_checkable
class Wrapped(Protocol[_P, _R_co]):
    """A function returned by `jit`, which takes the arguments of the function within and returns its results."""

    def __call__(self, /, *args: _P.args, **kwargs: _P.kwargs) -> _R_co: ...

    if TYPE_CHECKING:
        __name__: str
        __qualname__: str

        @property
        def __wrapped__(self) -> Callable[_P, _R_co]: ...
        @overload
        def __get__(self, instance: None, owner: type, /) -> Self: ...
        @overload
        def __get__(  # as a method; mypy reads this overload, and pyright the next one
            self: Callable[Concatenate[_S, _Q], _R_co], instance: _S, owner: type | None = None, /
        ) -> Wrapped[_Q, _R_co]: ...
        @overload
        def __get__(
            self: Wrapped[Concatenate[_S, _Q], _R_co], instance: _S, owner: type | None = None, /
        ) -> Wrapped[_Q, _R_co]: ...

    def trace(self, /, *args: Any, **kwargs: Any) -> Traced: ...

    def lower(self, /, *args: Any, **kwargs: Any) -> Lowered: ...

    def eval_shape(self, /, *args: Any, **kwargs: Any) -> Any: ...

    def clear_cache(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ArgInfo:
    """The information that a stage has about an argument.

    Attributes:
      aval: its type.
      donated: whether its buffer may be reused.
    """

    aval: Any
    donated: bool

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.aval.dtype


def read_options(function: str, options: Any) -> tuple[tuple[str, Any], ...]:
    """Options of XLA as pairs, sorted by name.

    Raises:
      TypeError: `options` is not a dictionary from strings to booleans, numbers and strings.
    """
    if options is None:
        return ()
    if not isinstance(options, Mapping):
        raise TypeError(f"{function}: compiler_options must be a dictionary or None, got {options!r}")
    for name, value in options.items():
        if not isinstance(name, str) or not isinstance(value, bool | int | float | str):
            raise TypeError(
                f"{function}: compiler_options must map strings to booleans, numbers and strings, "
                f"got {name!r}: {value!r}"
            )
    return tuple(sorted(options.items()))


def struct_of(aval: Any, sharding: Any = None) -> Any:
    """A type for users, with the given sharding or that of the type; it has devices if the mesh in scope has."""
    if aval.composite:
        return aval
    explicit = aval_sharding(aval)
    if sharding is None and explicit is not None:
        mesh = get_mesh()
        sharding = NamedSharding(mesh if mesh.abstract_mesh == explicit.mesh else explicit.mesh, explicit.spec)
    return core.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=sharding, weak_type=aval.weak_type)


def _placed_struct(aval: Any, sharding: Any) -> core.ShapeDtypeStruct:
    return struct_of(aval, None if len(sharding.device_set) == 1 else sharding)


def structs_of(program: Program) -> Any:
    """The types of the results of a program, with the shardings that are prescribed for them."""
    avals = program.closed.out_avals
    structs = map(struct_of, avals, program.outs or [None] * len(avals))
    return tree.unflatten(program.out_tree, structs)


def flat_arguments(
    args: tuple[Any, ...], kwargs: dict[str, Any], in_tree: Any, in_avals: Any, name: str, purpose: str
) -> list[Any]:
    """The leaves of a call of a program whose types are fixed.

    Args:
      args: positional arguments.
      kwargs: keyword arguments.
      in_tree: the required structure of both.
      in_avals: the required types of the leaves.
      name: the name of the function, for messages.
      purpose: the reason for the types, such as `compiled for`.

    Raises:
      TypeError: the structure, a shape or a dtype differs.
    """
    leaves: list[Any]
    leaves, structure = tree.flatten((args, kwargs), None, (args, kwargs))
    problem = f"{name}: the arguments differ in structure from those it was {purpose}"
    tree.require_same_structure(problem, in_tree, structure, purpose, "called with")
    for i, (got, aval) in enumerate(zip(avals_of(leaves, (args, kwargs), name, call=True), in_avals, strict=True)):
        if not same_type(got, aval, ALL_BUT_SHAPE_AND_DTYPE) and not _fits(got, aval):
            path = tree.keystr(tree.tree_leaves_with_path((args, kwargs))[i][0][1:])
            raise TypeError(
                f"{name}: argument{path} must be {aval.str_short()}, which it was {purpose}, got {got.str_short()}"
            )
    return leaves


def _fits(got: Any, aval: Any) -> bool:
    """Whether a type is an instance of a type with symbolic dimensions, for some values of the dimensions."""
    if not isinstance(got, core.ShapedArray) or not is_symbolic(aval.shape) or len(got.shape) != len(aval.shape):
        return False
    known = [n if is_symbolic_dim(size) else size for size, n in zip(aval.shape, got.shape, strict=True)]
    return bool(same_type(got, aval.update(shape=known), ALL_BUT_SHAPE_AND_DTYPE))


class Stage:
    """The information about the function that all stages have."""

    __slots__ = ("name", "program", "target")

    def __init__(self, program: Program, name: str, target: backend.Target) -> None:
        self.program = program
        self.name = name
        self.target = target

    @property
    def site(self) -> runtime.DeviceAssignment:
        """The devices on which the program runs."""
        assert not isinstance(self.target.site, str)
        return self.target.site

    @property
    def donated(self) -> tuple[bool, ...]:
        """For each flat argument whether its buffer may be reused; empty if none may be."""
        return self.target.donated

    @property
    def jaxpr(self) -> core.ClosedJaxpr:
        """The program."""
        return self.program.closed

    @property
    def in_tree(self) -> Any:
        """The structure of `(args, kwargs)` without static arguments."""
        return self.program.in_tree

    @property
    def out_tree(self) -> Any:
        """The structure of the results."""
        return self.program.out_tree

    @property
    def in_avals(self) -> Any:
        """The types of the arguments, in the structure of `(args, kwargs)`."""
        return tree.unflatten(self.program.in_tree, self.program.closed.in_avals)

    @property
    def args_info(self) -> Any:
        """An `ArgInfo` for each argument, in the structure of `(args, kwargs)`."""
        avals = self.program.closed.in_avals
        donated = self.donated or (False,) * len(avals)
        return tree.unflatten(self.program.in_tree, map(ArgInfo, avals, donated))

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The positions of the flat arguments whose buffers may be reused."""
        return tuple(i for i, donated in enumerate(self.donated) if donated)

    @property
    def out_info(self) -> Any:
        """The shapes and dtypes of the results, in their structure."""
        return structs_of(self.program)


def _platform_of(names: Any) -> str | None:
    """The only platform to lower for, or None."""
    if names is None:
        return None
    if isinstance(names, str):
        raise TypeError(f"lower: lowering_platforms must be a sequence of names of platforms, got {names!r}")
    platforms = one_or_several("lower", "lowering_platforms", names, str)
    if len(platforms) != 1:
        raise ValueError(
            f"lower: lowering_platforms must name one platform, got {platforms}; primax.export builds for several"
        )
    return str(platforms[0])


class Traced(Stage):
    """A function as a jaxpr."""

    __slots__ = ()

    @property
    def fun_name(self) -> str:
        return self.name

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """The results of the program for arguments other than static ones.

        Raises:
          TypeError: the arguments have another structure or other types than those of the program.
        """
        leaves, structure = tree.flatten((args, kwargs), None, (args, kwargs))
        if structure != self.in_tree:
            raise TypeError(f"{self.name}: args and kwargs must have the structure {self.in_tree}, got {structure}")
        for i, (x, aval) in enumerate(zip(leaves, self.jaxpr.in_avals, strict=True)):
            got = core.get_aval(x)
            if (got.shape, got.dtype) != (aval.shape, aval.dtype):
                raise TypeError(f"{self.name}: argument {i} must be {aval.str_short()}, got {got.str_short()}")
        return tree.unflatten(self.out_tree, core.jaxpr_as_fun(self.jaxpr)(*leaves))

    def lower(self, *, lowering_platforms: Sequence[str] | None = None) -> Lowered:
        """The StableHLO module.

        Args:
          lowering_platforms: the one platform to build it for, available or not, such as `("cuda",)`; by default the
            platform of its devices. To build it for several, use `primax.export`.

        Raises:
          TypeError: `lowering_platforms` is not a sequence of strings.
          ValueError: its length is not 1.
        """
        closed, target = self.program.closed, self.target
        stage: Stage = self
        if self.program.parts is not None:  # few programs have values of users' types
            closed, target = self.program.parts.closed, self.program.parts.target(target)
            stage = Stage(self.program.on_parts(), self.name, target)
        if self.program.mutable:  # few programs take references
            assert discharge_rules.lowerable is not None  # the plugin that made the reference has set it
            closed, target = discharge_rules.lowerable(closed, target)
        return Lowered(stage, backend.lower(closed, target, _platform_of(lowering_platforms)))

    def __repr__(self) -> str:
        return f"<Traced {self.name}>"


class Lowered(Stage):
    """A function as a StableHLO module."""

    __slots__ = ("_lowered",)

    def __init__(self, stage: Stage, lowered: backend.Lowered) -> None:
        super().__init__(stage.program, stage.name, stage.target)
        self._lowered = lowered

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The module as text.

        Args:
          dialect: `stablehlo` or None, or `hlo` for XLA's notation.
          debug_info: whether to print the source locations.

        Raises:
          ValueError: there is no such dialect.
        """
        if among(dialect, (None, "stablehlo")):
            return runtime.module_text(self._lowered.module, debug_info)
        if among(dialect, ("hlo",)):
            return runtime.hlo_text(self._lowered.module)
        raise ValueError(f"as_text: dialect must be 'stablehlo' or 'hlo', got {dialect!r}")

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The program in the compiler's representation.

        Args:
          dialect: `stablehlo` or None for the MLIR module, or `hlo` for XLA's computation.

        Raises:
          ValueError: there is no such dialect.
        """
        if among(dialect, (None, "stablehlo")):
            return self._lowered.module.module
        if among(dialect, ("hlo",)):
            return runtime.hlo_computation(self._lowered.module)
        raise ValueError(f"compiler_ir: dialect must be 'stablehlo' or 'hlo', got {dialect!r}")

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimate for the program before optimization: flops, bytes accessed and so on."""
        return runtime.hlo_cost_analysis(self._lowered.module)

    def compile(self, compiler_options: CompilerOptions | None = None) -> Compiled:
        """The executable.

        Args:
          compiler_options: options of XLA by name, as for `jit`; they take precedence over those of `jit`.

        Raises:
          TypeError: `compiler_options` is not such a dictionary.
          ValueError: the module was lowered for a platform of other devices.
          XlaError: XLA cannot compile the program, or does not have an option.
        """
        platform = self._lowered.module.platform
        if platform != self.site.platform:
            raise ValueError(
                f"compile: {self.name} must be lowered for {self.site.platform}, where it would run, got {platform}"
            )
        options = {**dict(self.target.options), **dict(read_options("compile", compiler_options))}
        target = self.target._replace(options=tuple(options.items()))
        return Compiled(self, target, backend.compile(self._lowered._replace(target=target)))

    def __repr__(self) -> str:
        return f"<Lowered {self.name} for {self._lowered.module.platform}>"


class Compiled(Stage):
    """A function as an executable; call it with arguments of the compiled types."""

    __slots__ = ("__weakref__", "_call", "_executable")

    def __init__(self, stage: Stage, target: backend.Target, executable: runtime.Executable) -> None:
        super().__init__(stage.program, stage.name, target)
        self._executable = executable
        reference = weakref.WeakMethod(self._miss)  # weak, since `_call` would keep this object alive

        def miss(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
            method = reference()
            assert method is not None
            return method(*args, **kwargs)

        # Donated arrays are checked before each call, and marked as deleted after it.
        self._call = None if any(self.donated) or self.program.mutable else runtime.fast_function(self.name, None, miss)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        call = self._call
        return self._donating(*args, **kwargs) if call is None else call(*args, **kwargs)

    def _leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The arguments of the program, checked."""
        if self.program.unpacks:
            args, kwargs = unpacked((args, kwargs))
        leaves = flat_arguments(args, kwargs, self.in_tree, self.program.closed.in_avals, self.name, "compiled for")
        for x in leaves:
            if isinstance(x, core.Tracer):
                raise TypeError(f"{self.name}: a compiled program cannot be transformed; transform the jitted function")
        return leaves

    def _miss(self, /, *args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        """The results for arguments with a new signature, and the data with which jaxlib runs the program by itself."""
        leaves = self._leaves(args, kwargs)
        executable = self._executable
        checks = runtime.start_watches(f"jit_{self.name}", self.program.closed, leaves)
        outs = executable(leaves)
        fast = None
        for check in checks or ():
            check(outs)
        if checks is None and not self.program.unpacks:
            used = compress(leaves, executable.kept)
            places = executable.in_shardings[len(executable.consts) :]
            if all(not isinstance(x, core.Array) or x.sharding == place for x, place in zip(used, places, strict=True)):
                fast = runtime.fast_path(executable, self.program.fast_tree(outs), leaves)
        return tree.unflatten(self.out_tree, outs), fast, False

    def _donating(self, /, *args: Any, **kwargs: Any) -> Any:
        """The results of a program that takes the buffers of arguments, or references."""
        leaves, closed = self._leaves(args, kwargs), self.program.closed
        if self.program.mutable:
            aval = next(v.aval for v in (*closed.jaxpr.constvars, *closed.jaxpr.invars) if v.aval.mutable)
            return tree.unflatten(self.out_tree, aval.run(self.name, closed, leaves, self._run))
        return tree.unflatten(self.out_tree, self._run(closed, leaves))

    def _run(self, closed: core.ClosedJaxpr, leaves: list[Any]) -> list[Any]:
        """The flat results; the contents of references that the function closed over come before the arguments."""
        flags = (False,) * (len(leaves) - len(self.donated)) + self.donated
        donated = list(compress(leaves, flags))
        passed = leaves
        if donated and runtime.is_copy_needed(self.name, donated, leaves):
            passed = [runtime.copy_if_shared(x) if flag else x for x, flag in zip(leaves, flags, strict=True)]
        with runtime.donation_lock(donated, self.name):
            checks = runtime.start_watches(f"jit_{self.name}", closed, leaves)
            outs = self._executable(passed)
            for check in checks or ():
                check(outs)
            runtime.mark_donated(donated, self.name, list(compress(passed, flags)))
        return outs

    def as_text(self) -> str:
        """The optimized program in XLA's notation."""
        return runtime.optimized_text(self._executable)

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimate for the optimized program: flops, bytes accessed and so on."""
        return dict(self._executable.xla.cost_analysis())

    def memory_analysis(self) -> Any:
        """The bytes of code, arguments, results and temporaries."""
        return self._executable.xla.get_compiled_memory_stats()

    @property
    def input_shardings(self) -> Any:
        """The shardings of the arguments, in the structure of `(args, kwargs)`; None for unused arguments."""
        executable = self._executable
        places = iter(executable.in_shardings[len(executable.consts) :])
        shardings = [next(places) if kept else None for kept in executable.kept]
        count = self.in_tree.num_leaves  # the first may be of references that the function closes over
        return tree.unflatten(self.in_tree, shardings[len(shardings) - count :])

    @property
    def output_shardings(self) -> Any:
        """The shardings of the results, in their structure."""
        shardings = self._executable.out_shardings[: self.out_tree.num_leaves]  # without those of references
        return tree.unflatten(self.out_tree, shardings)

    @property
    def out_info(self) -> Any:
        """The shapes, dtypes and shardings of the results, in their structure."""
        avals, shardings = self.program.closed.out_avals, self._executable.out_shardings
        return tree.unflatten(self.out_tree, map(_placed_struct, avals, shardings))

    @property
    def input_formats(self) -> Any:
        """Layouts and shardings of the arguments, in the structure of `(args, kwargs)`; None for unused arguments."""
        return self._formats(self.in_tree, self.program.closed.in_avals, self.input_shardings)

    @property
    def output_formats(self) -> Any:
        """Layouts and shardings of the results, in their structure."""
        return self._formats(self.out_tree, self.program.closed.out_avals, self.output_shardings)

    def _formats(self, structure: Any, avals: Sequence[Any], shardings: Any) -> Any:
        flat = tree.flatten(shardings, lambda x: x is None)[0]
        formats = [
            None if sharding is None else Format(Layout(tuple(range(len(aval.shape)))), sharding)
            for aval, sharding in zip(avals, flat, strict=True)
        ]
        return tree.unflatten(structure, formats)

    def runtime_executable(self) -> Any:
        """XLA's handle of the executable."""
        return self._executable.xla

    def __repr__(self) -> str:
        return f"<Compiled {self.name} for {self.site}>"
