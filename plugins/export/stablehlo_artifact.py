"""Modules as portable artifacts: bytes that other releases and processes can read and call."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

from primax.extend import core
from primax.extend.interpreters import mlir
from primax.extend.mlir import deserialize_portable_artifact, refine_polymorphic_shapes, serialize_portable_artifact
from primax.extend.provisional.lowering import load_lapack, shared_context


def newest_version() -> str:
    """The newest version of StableHLO that this jaxlib reads."""
    return str(mlir.hlo.get_current_version())


def artifact_version() -> str:
    """The version of StableHLO for artifacts, which releases of the last 12 weeks can read."""
    hlo = mlir.hlo
    return str(hlo.get_version_from_compatibility_requirement(hlo.StablehloCompatibilityRequirement.WEEK_12))


def to_artifact(module: Any) -> bytes:
    """A module, without its source locations, as a portable artifact.

    Raises:
      ValueError: the module calls Python functions, or has ordered effects.
    """
    if module.host_callbacks:
        raise ValueError("a program that calls Python functions cannot be exported")
    if module.ordered_effects:
        raise ValueError(f"a program with ordered effects cannot be exported, got {module.ordered_effects}")
    with module.shared:
        copy = mlir.ir.Module.parse(str(module.module), module.shared.context)
        return serialize_portable_artifact(copy, artifact_version(), mixed=module.partitions > 1)


def artifact_text(data: bytes) -> str:
    """The text of an artifact in StableHLO's notation."""
    with shared_context() as shared:
        return str(_read(data, shared.context, "artifact_text"))


def _read(data: bytes, context: Any, name: str) -> Any:
    """The module of an artifact.

    Raises:
      ValueError: the artifact is damaged.
    """
    if not isinstance(data, bytes):
        raise TypeError(f"{name}: an artifact must be bytes, got {type(data).__name__}")
    faults: list[str] = []

    def note(diagnostic: Any) -> bool:
        faults.append(diagnostic.message)
        return True  # otherwise MLIR prints it

    handler = context.attach_diagnostic_handler(note)
    try:
        return deserialize_portable_artifact(data, context)
    except (ValueError, RuntimeError, TypeError, mlir.ir.MLIRError):
        text = f"{name}: its program cannot be read; the file is damaged ({'; '.join(faults)})"
        raise ValueError(text) from None
    finally:
        handler.detach()


def refined(name: str, data: bytes, in_avals: Sequence[Any]) -> bytes:
    """An artifact for arguments with symbolic dimensions, as one for arguments of given types.

    Args:
      name: its name in error messages.
      data: the artifact.
      in_avals: the types of the arguments.

    Raises:
      ValueError: the artifact is damaged.
      UnsupportedError: a size in it does not follow from these types.
    """
    ir, func = mlir.ir, mlir.func
    with shared_context() as shared, shared.unknown:
        module = _read(data, shared.context, name)
        symbols = ir.SymbolTable(module.operation)
        try:
            inner = symbols["main"]
        except KeyError:
            inner = None
        in_types = [mlir.aval_to_ir_type(aval) for aval in in_avals]
        if inner is None or inner.operation.name != "func.func" or not _alike(inner.type.inputs, in_types):
            raise ValueError(f"{name}: its program must have the types in its header; the file is damaged")
        new = "main_of_any_sizes"
        while new in symbols:
            new += "_"
        ir.SymbolTable.replace_all_symbol_uses("main", new, module.operation)
        ir.SymbolTable.set_symbol_name(inner.operation, new)
        ir.SymbolTable.set_visibility(inner.operation, "private")
        types = list(inner.type.inputs), list(inner.type.results)
        main = func.FuncOp("main", (in_types, types[1]), visibility="public", ip=ir.InsertionPoint(module.body))
        with ir.InsertionPoint(main.add_entry_block()):
            operands = [_as_type(kind, x) for x, kind in zip(main.arguments, types[0], strict=True)]
            func.return_(func.CallOp(inner, operands).results)
        stream = io.BytesIO()
        module.operation.write_bytecode(stream)
        try:
            out = refine_polymorphic_shapes(
                stream.getvalue(), enable_shape_assertions=False, validate_static_shapes=True, enable_shardy=True
            )
        except core.XlaError as error:
            if "Cannot parse module" in str(error):
                raise ValueError(f"{name}: its program cannot be read; the file is damaged") from None
            types_text = ", ".join(aval.str_short() for aval in in_avals)
            raise core.UnsupportedError(
                f"{name}: XLA cannot find all sizes of its program from the arguments ({types_text}): {error}"
            ) from None
        return serialize_portable_artifact(ir.Module.parse(out, shared.context), artifact_version())


def _alike(types: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether types of MLIR are of the same elements and ranks."""
    tensor = mlir.ir.RankedTensorType
    if len(types) != len(others) or not all(isinstance(kind, tensor) for kind in types):
        return False
    return all(a.element_type == b.element_type and a.rank == b.rank for a, b in zip(types, others, strict=True))


_NOT_IN_NAMES = re.compile(r"\W")


def call_artifact(
    module: mlir.ModuleContext, key: Any, data: bytes, name: str, args: Any, results: list[Any]
) -> list[Any]:
    """Call the `main` of an artifact, after the artifact has become part of the module.

    Args:
      module: the module being built.
      key: artifacts with equal keys are inserted once.
      data: the artifact.
      name: the prefix of its functions in the module.
      args: IR values.
      results: the IR types of its results.

    Raises:
      ValueError: the artifact is damaged, or has other types.
    """
    main = module.functions.get(key)
    if main is None:
        prefix = _NOT_IN_NAMES.sub("_", name)
        main = _import_functions(module, data, prefix)
        kinds = [arg.type for arg in args]
        if not (_alike(main.type.inputs, kinds) and _alike(main.type.results, results)):
            raise ValueError(f"{prefix}: its program must have the types in its header; the file is damaged")
        if not all(kind.has_static_shape for kind in (*main.type.inputs, *main.type.results)):
            return _move_operations(main, args, results)
        if list(main.type.inputs) != kinds or list(main.type.results) != results:
            raise ValueError(f"{prefix}: its program must have the types in its header; the file is damaged")
        module.functions[key] = main
    return list(mlir.func.CallOp(main, list(args)).results)


def _move_operations(main: Any, args: Sequence[Any], results: Sequence[Any]) -> list[Any]:
    """Move the operations of a function of symbolic sizes to the insertion point, where the sizes are values."""
    place, block = mlir.ir.InsertionPoint.current, main.regions[0].blocks[0]
    for parameter, arg in zip(block.arguments, args, strict=True):
        parameter.replace_all_uses_with(_as_type(parameter.type, arg))
    *operations, end = block.operations
    for op in operations:
        op.detach_from_parent()
        place.insert(op)
    outs = [_as_type(kind, x) for kind, x in zip(results, end.operands, strict=True)]
    main.operation.erase()
    return outs


def _as_type(kind: Any, x: Any) -> Any:
    """An IR value as one of a type that has other known sizes."""
    return x if x.type == kind else mlir.hlo.convert(kind, x)


def _import_functions(module: mlir.ModuleContext, data: bytes, prefix: str) -> Any:
    """Move the functions of an artifact into the module under unique names; returns its `main`."""
    ir = mlir.ir
    if b"lapack_" in data:
        load_lapack()
    other = _read(data, module.context, prefix)
    operations = list(other.body.operations)
    if not all("sym_name" in op.attributes for op in operations):
        raise ValueError(f"{prefix}: its program must consist of functions; the file is damaged")
    taken = {_symbol(op, prefix) for op in module.module.body.operations}
    main = None
    for op in operations:
        old = _symbol(op, prefix)
        new = f"{prefix}_{old}"
        while new in taken:
            new += "_"
        taken.add(new)
        ir.SymbolTable.replace_all_symbol_uses(old, new, other.operation)
        ir.SymbolTable.set_symbol_name(op.operation, new)
        if op.operation.name == "sdy.mesh":
            continue
        ir.SymbolTable.set_visibility(op.operation, "private")
        if old == "main":
            main = op
    if main is None or main.operation.name != "func.func" or len(main.regions[0].blocks) != 1:
        raise ValueError(f"{prefix}: its program must have a function main of one block; the file is damaged")
    _renumber(module, other)
    for op in operations:
        op.operation.detach_from_parent()
        module.module.body.append(op)
    return main


def _symbol(op: Any, prefix: str) -> str:
    """The name of a function or a mesh of an artifact."""
    try:
        return str(mlir.ir.StringAttr(op.attributes["sym_name"]).value)
    except (RuntimeError, UnicodeDecodeError):  # jaxlib raises the first
        raise ValueError(f"{prefix}: names in its program must be UTF-8; the file is damaged") from None


def _renumber(module: mlir.ModuleContext, other: Any) -> None:
    """Give the collectives of an artifact channel numbers that are unique in the module."""
    ir, hlo = mlir.ir, mlir.hlo

    def visit(operation: Any) -> Any:
        if "channel_handle" in operation.attributes:
            operation.attributes["channel_handle"] = hlo.ChannelHandle.get(module.new_channel(), 1)
        return ir.WalkResult.ADVANCE

    other.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
