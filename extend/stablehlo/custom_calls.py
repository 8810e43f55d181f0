"""Custom calls: operations of a module that are implemented outside XLA."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from primax.core import _jaxlib
from primax.core.dimensions import has_dynamic
from primax.core.errors import UnsupportedError
from primax.core.source_info import running_frames, summarize, user_frame, user_lines
from primax.extend.interpreters.mlir import shape_tensor
from primax.extend.provisional.ffi import ffi_targets
from primax.interpreters.runtime.callback_errors import Failures
from primax.interpreters.runtime.ir_types import aval_to_ir_types, dtype_to_ir_type, ir_attribute
from primax.interpreters.runtime.lowering import LoweringRuleContext, ModuleContext

__all__ = [
    "FrozenArray",
    "build_ffi_lowering_function",
    "custom_call",
    "ffi_lowering",
    "freeze",
    "lapack_target",
    "load_lapack",
    "record_foreign_call",
]

TYPED = 4  # the version of custom calls in which handlers take named attributes with types

Layout = Sequence[int] | None  # None for row-major, as in NumPy


@dataclass(frozen=True, slots=True)
class FrozenArray:
    """A NumPy array as a parameter of a primitive; compared by its value."""

    dtype: Any
    shape: tuple[int, ...]
    data: bytes

    def thaw(self) -> np.ndarray[Any, Any]:
        """The array."""
        return np.frombuffer(self.data, self.dtype).reshape(self.shape)

    def __repr__(self) -> str:
        return f"{self.thaw().tolist()}"


def freeze(value: Any, where: str) -> Any:
    """An attribute of a foreign function as a hashable value; dictionaries become tuples of pairs.

    Raises:
      TypeError: attributes cannot have such values; the message begins with `where`.
    """
    if isinstance(value, np.ndarray) and value.dtype.kind not in "OSUMm":
        return FrozenArray(value.dtype, value.shape, value.tobytes())
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError(f"{where}: keys must be strings, got {list(value)}")
        return tuple((key, freeze(value[key], f"{where}[{key!r}]")) for key in sorted(value))
    if isinstance(value, bool | int | float | str) or (isinstance(value, np.generic) and value.dtype.kind in "biufV"):
        return value
    raise TypeError(
        f"{where} must be a bool, an integer, a real number, a string, a NumPy array, or a dictionary of these, "
        f"got {value!r}"
    )


def attribute(value: Any) -> Any:
    """The MLIR attribute for a value.

    Args:
      value: an argument or a result of `freeze`, or an attribute. Python's integers and floats have 64 bits.

    Raises:
      TypeError: attributes cannot have such values.
      OverflowError: an integer does not fit into 64 bits.
    """
    ir = _jaxlib.ir
    if isinstance(value, ir.Attribute):
        return value
    if isinstance(value, tuple):
        value = dict(value)
    elif not isinstance(value, FrozenArray):
        value = freeze(value, "a custom call: attributes")
        if isinstance(value, tuple):
            value = dict(value)
    if isinstance(value, FrozenArray):
        return ir_attribute(value.thaw())
    if isinstance(value, dict):
        return ir.DictAttr.get({key: attribute(item) for key, item in value.items()})
    if isinstance(value, bool | np.bool_):
        return ir.BoolAttr.get(bool(value))
    if isinstance(value, str):
        return ir.StringAttr.get(str(value))
    if not isinstance(value, np.generic):
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise OverflowError(f"a custom call: attributes must fit into 64 bits, got {value}")
        value = np.int64(value) if isinstance(value, int) else np.float64(value)
    kind = dtype_to_ir_type(value.dtype)
    return ir.IntegerAttr.get(kind, int(value)) if value.dtype.kind in "iu" else ir.FloatAttr.get(kind, float(value))


def custom_call(
    call_target_name: str,
    *,
    result_types: Sequence[Any],
    operands: Sequence[Any],
    backend_config: Mapping[str, Any] | str | bytes | None = None,
    has_side_effect: bool = False,
    api_version: int = 2,
    operand_output_aliases: Mapping[int, int] | None = None,
    operand_layouts: Sequence[Layout] | None = None,
    result_layouts: Sequence[Layout] | None = None,
    extra_attributes: Mapping[str, Any] | None = None,
    result_shapes: Sequence[Any] | None = None,
) -> Any:
    """Build a custom call at the current insertion point.

    Args:
      call_target_name: the registered name of the function.
      result_types: MLIR types of the results.
      operands: IR values.
      backend_config: named attributes if `api_version` is 4, else a string.
      has_side_effect: whether the call is kept if nothing uses its results.
      api_version: the calling convention; 4 is the typed foreign function interface.
      operand_output_aliases: for positions of operands, the results that take over their memory.
      operand_layouts: for each operand its axes, the fastest first, None for row-major; by default XLA's choice.
      result_layouts: the same for the results.
      extra_attributes: further MLIR attributes of the operation.
      result_shapes: IR values, the shapes of the results as vectors; required if a shape has a dynamic size.

    Returns:
      The operation; its `results` are the IR values.

    Examples:
      >>> from primax.extend.interpreters import mlir
      >>> ir = mlir.ir
      >>> with mlir.make_ir_context(), ir.Location.unknown(), ir.InsertionPoint(ir.Module.create().body):
      ...     call = mlir.custom_call("my_kernel", result_types=[mlir.token_type()], operands=[], has_side_effect=True)
      ...     print([str(result.type) for result in call.results])
      ['!stablehlo.token']
    """
    ir = _jaxlib.ir
    if api_version >= TYPED:
        if isinstance(backend_config, str | bytes):
            raise TypeError(f"custom_call: backend_config must be a mapping in version 4, got {backend_config!r}")
        config = ir.DictAttr.get({name: attribute(value) for name, value in (backend_config or {}).items()})
    else:
        if isinstance(backend_config, Mapping):
            raise TypeError(f"custom_call: backend_config must be a string before version 4, got {backend_config!r}")
        config = ir.StringAttr.get(backend_config or "")
    attributes = {
        "call_target_name": ir.StringAttr.get(call_target_name),
        "has_side_effect": ir.BoolAttr.get(has_side_effect),
        "api_version": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), api_version),
        "backend_config": config,
        **(extra_attributes or {}),
    }
    if operand_output_aliases:
        attributes["output_operand_aliases"] = ir.ArrayAttr.get(
            [
                _jaxlib.hlo_ext.OutputOperandAlias.get(
                    output_tuple_indices=[] if len(result_types) == 1 else [result],
                    operand_index=operand,
                    operand_tuple_indices=[],
                )
                for operand, result in operand_output_aliases.items()
            ]
        )
    if result_shapes is not None:
        places = np.arange(len(operands), len(operands) + len(result_shapes))
        attributes["indices_of_shape_operands"] = ir.DenseIntElementsAttr.get(places)
        operands = [*operands, *result_shapes]
        if operand_layouts is not None:
            operand_layouts = [*operand_layouts, *[(0,)] * len(result_shapes)]
    if operand_layouts is not None or result_layouts is not None:  # XLA requires both or none
        attributes["operand_layouts"] = _layouts_attribute(operand_layouts, [x.type for x in operands])
        attributes["result_layouts"] = _layouts_attribute(result_layouts, result_types)
    return ir.Operation.create("stablehlo.custom_call", list(result_types), list(operands), attributes)


def _layouts_attribute(layouts: Sequence[Layout] | None, types: Sequence[Any]) -> Any:
    ir = _jaxlib.ir
    orders = [None] * len(types) if layouts is None else list(layouts)
    if len(orders) != len(types):
        raise ValueError(f"custom_call: layouts must be one for each value, got {len(orders)} for {len(types)}")
    index = ir.IndexType.get()
    return ir.ArrayAttr.get(
        [
            ir.DenseIntElementsAttr.get(np.asarray(_axes(layout, kind), np.int64), type=index)
            for layout, kind in zip(orders, types, strict=True)
        ]
    )


def _axes(layout: Layout, kind: Any) -> Sequence[int]:
    """The axes of a value, the fastest first; row-major by default."""
    if layout is not None:
        return layout
    return range(getattr(kind, "rank", 0) - 1, -1, -1)


class _ForeignCalls(list[tuple[str, str, Any]]):
    """The foreign functions that a program calls, each with its caller and the place of the equation."""

    def __call__(self) -> str:
        """The text for the error of a failed call; an eager operation is at the line that is running."""
        here = user_lines(running_frames()) or "an unknown line"
        places = (here if user_frame(source) is None else summarize(source) for _, _, source in self)
        texts = [f"{name!r} for {caller} at {place}" for (name, caller, _), place in zip(self, places, strict=True)]
        first, *others = dict.fromkeys(texts)
        if not others:
            return f"The program calls the foreign function {first}."
        more = [f"and {len(others) - 3} more"] if len(others) > 3 else []
        return "\n  ".join(["The program calls foreign functions:", first, *others[:3], *more])


def record_foreign_call(module: ModuleContext, function: str, caller: str) -> None:
    """Name a foreign function, its caller and the line of the equation in the errors of a program.

    Args:
      module: the program that is lowered.
      function: the name of the function.
      caller: the primitive that calls it.
    """
    module.calls_foreign = True
    module.failures = module.failures or Failures()
    calls = module.failures.explain
    if not isinstance(calls, _ForeignCalls):
        calls = module.failures.explain = _ForeignCalls()
    calls.append((function, caller, module.source))


def build_ffi_lowering_function(
    call_target_name: str,
    *,
    operand_layouts: Sequence[Layout] | None = None,
    result_layouts: Sequence[Layout] | None = None,
    backend_config: Mapping[str, Any] | str | None = None,
    skip_ffi_layout_processing: bool = False,
    **lowering_args: object,
) -> Callable[..., Any]:
    """`ffi_lowering`, for a function that returns the operation instead of its results.

    Examples:
      >>> import primax as px
      >>> from primax.extend import define_primitive, ffi
      >>> lower = ffi.build_ffi_lowering_function("my_kernel")
      >>> rule = lambda ctx, x: lower(ctx, x).results[:1]  # lower returns the operation
      >>> first_p = define_primitive("first_of_kernel", abstract_eval=lambda x: x, lowering=rule)
      >>> "@my_kernel(" in px.jit(first_p.bind).lower(1.0).as_text()
      True
    """

    def lower(ctx: LoweringRuleContext, /, *operands: Any, **params: Any) -> Any:
        arguments: dict[str, Any] = {"api_version": TYPED, **lowering_args}
        if arguments["api_version"] >= TYPED:
            if isinstance(backend_config, str):
                raise ValueError(
                    f"ffi_lowering: backend_config of {call_target_name} must be a mapping in version 4, "
                    f"got {backend_config!r}"
                )
            config: Any = {**(backend_config or {}), **params}
        elif params:
            raise ValueError(
                f"ffi_lowering: attributes of {call_target_name} must be given to version 4 only, "
                f"got {sorted(params)} for version {arguments['api_version']}"
            )
        else:
            config = backend_config
        if "result_types" not in arguments:
            arguments["result_types"] = [t for aval in ctx.avals_out for t in aval_to_ir_types(aval)]
            if has_dynamic(ctx.avals_out):
                if arguments.get("operand_output_aliases"):
                    raise UnsupportedError(
                        f"{ctx.primitive}: operands cannot lend their memory to results of symbolic sizes; call "
                        f"{call_target_name} without aliases in programs that have such sizes"
                    )
                arguments.setdefault("result_shapes", [shape_tensor(aval.shape) for aval in ctx.avals_out])
        if not skip_ffi_layout_processing:
            arguments["operand_layouts"] = operand_layouts or [None] * len(operands)
            arguments["result_layouts"] = result_layouts or [None] * len(arguments["result_types"])
        ctx.module_context.calls_foreign = True
        if call_target_name in ffi_targets:
            record_foreign_call(ctx.module_context, call_target_name, str(ctx.primitive))
        return custom_call(call_target_name, operands=operands, backend_config=config, **arguments)

    return lower


def ffi_lowering(
    call_target_name: str,
    *,
    operand_layouts: Sequence[Layout] | None = None,
    result_layouts: Sequence[Layout] | None = None,
    backend_config: Mapping[str, Any] | str | None = None,
    skip_ffi_layout_processing: bool = False,
    **lowering_args: object,
) -> Callable[..., Any]:
    """The lowering rule of a primitive that a foreign function implements.

    The parameters of the primitive become attributes of the call: bools, integers, real numbers, strings, NumPy
    arrays, and dictionaries of these. Integers and floats of Python have 64 bits; NumPy scalars keep their dtype.

    Args:
      call_target_name: the registered name of the function.
      operand_layouts: for each operand its axes in memory, the fastest first; None for row-major, as in NumPy.
      result_layouts: the same for the results.
      backend_config: further attributes; a string for functions of the older, untyped interface.
      skip_ffi_layout_processing: whether to leave the layouts to XLA.
      lowering_args: other arguments of `custom_call`, such as `has_side_effect` and `operand_output_aliases`.

    Returns:
      A rule for `registry.define(..., lowering=...)`.

    Examples:
      >>> import primax as px
      >>> import numpy as np
      >>> from primax.extend import define_primitive, ffi
      >>> scale_p = define_primitive(
      ...     "scale_in_cpp", abstract_eval=lambda x, factor: x, lowering={"cpu": ffi.ffi_lowering("scale")}
      ... )
      >>> text = px.jit(lambda x: scale_p.bind(x, factor=np.float32(2))).lower(1.0).as_text()
      >>> "@scale(" in text, "factor = 2.000000e+00 : f32" in text
      (True, True)
    """
    lower = build_ffi_lowering_function(
        call_target_name,
        operand_layouts=operand_layouts,
        result_layouts=result_layouts,
        backend_config=backend_config,
        skip_ffi_layout_processing=skip_ffi_layout_processing,
        **lowering_args,
    )

    def rule(ctx: LoweringRuleContext, /, *operands: Any, **params: Any) -> Any:
        return lower(ctx, *operands, **params).results

    rule.__name__ = f"ffi_lowering({call_target_name})"
    return rule


@cache
def load_lapack() -> frozenset[str]:
    """Load LAPACK from scipy, and register jaxlib's functions that call it; returns their names."""
    registrations = _jaxlib.lapack.registrations()["cpu"]
    for name, handler, api_version in registrations:
        _jaxlib.xla_client.register_custom_call_target(name, handler, platform="cpu", api_version=api_version)
    _jaxlib.lapack.prepare_lapack_call("getrf_ffi", np.dtype(np.float32))
    return frozenset(name for name, *_ in registrations)


def lapack_target(routine: str, dtype: Any) -> str:
    """The name of jaxlib's foreign function for a LAPACK routine; the first call loads LAPACK.

    Args:
      routine: its name without the letter of its dtype, such as `"getrf"`.
      dtype: float32, float64, complex64 or complex128.

    Examples:
      >>> import numpy as np
      >>> from primax.extend.interpreters import mlir
      >>> mlir.lapack_target("getrf", np.float32), mlir.lapack_target("getrf", np.complex128)
      ('lapack_sgetrf_ffi', 'lapack_zgetrf_ffi')
    """
    if f"{routine}_ffi" in load_lapack():  # one function for all dtypes
        return f"{routine}_ffi"
    return str(_jaxlib.lapack.build_lapack_fn_target(f"{routine}_ffi", np.dtype(dtype)))
