"""Foreign functions: C++ handlers of XLA's foreign function interface, called from programs."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from primax.core import _jaxlib, dtypes
from primax.core.avals import ShapedArray, get_aval
from primax.core.caller import author
from primax.extend.host.plugin_host import host
from primax.extend.lazy_names import explain_absent
from primax.extend.provisional.ffi import ffi_call_p, ffi_targets, vmap_methods
from primax.extend.stablehlo.custom_calls import TYPED, Layout, build_ffi_lowering_function, ffi_lowering, freeze

__all__ = [
    "build_ffi_lowering_function",
    "ffi_call",
    "ffi_lowering",
    "include_dir",
    "pycapsule",
    "register_ffi_target",
    "register_ffi_type",
]
__dir__ = __all__.copy
explain_absent(__name__)


# XLA's names of platforms that jaxlib does not translate.
_NAMES_IN_XLA = {"cuda": "CUDA", "rocm": "ROCM"}


def register_ffi_target(name: str, fn: Any, platform: str = "cpu", api_version: int = 1, **kwargs: object) -> None:
    """Register a foreign function under a name.

    Args:
      name: the name of the function in programs.
      fn: a capsule of the handler, see `pycapsule`; or a dictionary of capsules by stage: `"instantiate"`,
        `"prepare"`, `"initialize"`, `"execute"`.
      platform: the platform of the function, such as `"cpu"`, `"cuda"` or `"rocm"`. It need not be present: the
        function is registered when the platform becomes available.
      api_version: 1 for the typed interface, 0 for the older, untyped one.
      kwargs: further arguments of jaxlib's `register_custom_call_target`.

    Raises:
      TypeError: `fn` is neither a capsule nor a dictionary of capsules.
      XlaError: another function has this name.

    Examples:
      >>> from primax.extend import ffi
      >>> ffi.register_ffi_target("my_kernel", print)
      Traceback (most recent call last):
          ...
      TypeError: register_ffi_target: fn of 'my_kernel' must be a capsule or a dictionary of them, got <built-in
      function print>
    """
    stages = fn.values() if isinstance(fn, dict) else (fn,)
    if not all(map(_is_capsule, stages)):
        raise TypeError(f"register_ffi_target: fn of {name!r} must be a capsule or a dictionary of them, got {fn!r}")
    _jaxlib.xla_client.register_custom_call_target(
        name, fn, _NAMES_IN_XLA.get(platform, platform), api_version, **kwargs
    )
    ffi_targets[name] = author().module


def register_ffi_type(name: str, type_registration: Mapping[str, Any], platform: str = "cpu") -> None:
    """Register a type for the state that handlers keep between stages.

    Args:
      name: the name of the type.
      type_registration: capsules: `"type_id"` for its `XLA_FFI_TypeId`, and optionally `"type_info"` for its
        `XLA_FFI_TypeInfo`.
      platform: the platform of the handlers.

    Raises:
      TypeError: the registration is not a dictionary of capsules.

    Examples:
      >>> from primax.extend import ffi
      >>> ffi.register_ffi_type("my_state", {"type_id": 1})
      Traceback (most recent call last):
          ...
      TypeError: register_ffi_type: type_registration of 'my_state' must be a dictionary of capsules, got
      {'type_id': 1}
    """
    if not (isinstance(type_registration, Mapping) and all(map(_is_capsule, type_registration.values()))):
        raise TypeError(
            f"register_ffi_type: type_registration of {name!r} must be a dictionary of capsules, "
            f"got {type_registration!r}"
        )
    # XLA needs types before the handlers that use them, but jaxlib's first client registers handlers first.
    _jaxlib.xla_client.register_custom_type_handler("cpu", _jaxlib.register_custom_type)
    xla_platform = _NAMES_IN_XLA.get(platform, platform)
    _jaxlib.xla_client.register_custom_type(name, dict(type_registration), platform=xla_platform)


def _is_capsule(x: Any) -> bool:
    return type(x).__name__ == "PyCapsule"


# ctypes.cast of other objects may read invalid memory.
_POINTERS = (int, ctypes._CFuncPtr, ctypes._Pointer, ctypes.c_void_p)  # type: ignore[attr-defined]


def pycapsule(funcptr: Any) -> Any:
    """A capsule of a function from a `ctypes` library, of a pointer or of an address.

    Raises:
      TypeError: the argument is not one of these.

    >>> import ctypes
    >>> from primax.extend import ffi
    >>> ffi.pycapsule(ctypes.pythonapi.Py_GetVersion)  # doctest: +ELLIPSIS
    <capsule object NULL at ...>
    """
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
        ("PyCapsule_New", ctypes.pythonapi)
    )
    if not isinstance(funcptr, _POINTERS):
        raise TypeError(f"pycapsule: funcptr must be a function or pointer of ctypes, or an address, got {funcptr!r}")
    return make(ctypes.cast(funcptr, ctypes.c_void_p), None, None)


def include_dir() -> str:
    """The folder of the C++ headers that handlers include as `xla/ffi/api/ffi.h`.

    Examples:
      >>> import os
      >>> from primax.extend import ffi
      >>> os.path.exists(os.path.join(ffi.include_dir(), "xla", "ffi", "api", "ffi.h"))
      True
    """
    return str(Path(_jaxlib.version.__file__).parent / "include")


def ffi_call(
    target_name: str,
    result_shape_dtypes: object,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_layouts: Sequence[Layout] | None = None,
    output_layouts: Layout | Sequence[Layout] = None,
    input_output_aliases: Mapping[int, int] | None = None,
    custom_call_api_version: int = TYPED,
    legacy_backend_config: str | None = None,
) -> Callable[..., Any]:
    """A function that calls a foreign function.

    It takes arrays, and attributes as keywords: bools, integers, real numbers, strings, NumPy arrays, and
    dictionaries of these. Python integers and floats have 64 bits; NumPy scalars keep their dtype. For derivatives
    make a primitive with `ffi_lowering` instead.

    Args:
      target_name: the registered name of the function.
      result_shape_dtypes: an object with a shape and a dtype for each result, in a tuple or list if there are several.
      has_side_effect: whether to call the function even if its results are not used.
      vmap_method: as for `pure_callback`; `"sequential_unrolled"` builds a call for each element.
      input_layouts: for each argument its axes in memory, the slowest first; None for row-major, as in NumPy.
      output_layouts: the same for the results; for a single result, its axes.
      input_output_aliases: a mapping from positions of arguments to the results that reuse their memory.
      custom_call_api_version: the version of the interface; 4 is the typed one.
      legacy_backend_config: the configuration for functions of older interfaces, instead of attributes.

    Raises:
      TypeError: a result has no shape or dtype, or an attribute cannot be passed.
      ValueError: `vmap_method` is unknown, a layout does not fit its value, or an alias is not possible.
      XlaError: the function is not registered, refuses its arguments or fails.

    Examples:
      >>> import primax as px
      >>> import numpy as np
      >>> from primax.extend import ffi
      >>> solve = ffi.ffi_call("my_kernel", px.ShapeDtypeStruct((2,), np.float32))
      >>> px.eval_shape(lambda x: solve(x, order=np.int32(3)), np.ones(3))  # calls nothing
      ShapeDtypeStruct(shape=(2,), dtype=float32)
    """
    if vmap_method is not None and vmap_method not in vmap_methods:
        raise ValueError(f"ffi_call: vmap_method must be one of {', '.join(vmap_methods)} or None, got {vmap_method!r}")
    described: Any = result_shape_dtypes
    single = not isinstance(described, tuple | list)
    results = tuple(map(_result_aval, [described] if single else described))
    layouts: Any = (output_layouts,) if single and output_layouts is not None else output_layouts
    if custom_call_api_version >= TYPED and legacy_backend_config is not None:
        raise ValueError(
            f"ffi_call: legacy_backend_config must be None in version {custom_call_api_version}, which has attributes"
        )

    def call(*args: Any, **attributes: Any) -> Any:
        if ffi_call_p.plugin is None:
            host.activate_plugin("callbacks")  # it would otherwise wait until it is imported
        avals = [get_aval(x) for x in args]
        ins = _reversed_layouts("input_layouts", input_layouts, avals)
        outs = _reversed_layouts("output_layouts", layouts, results)
        outputs = ffi_call_p.bind(
            *args,
            target_name=target_name,
            result_avals=results,
            has_side_effect=bool(has_side_effect),
            vmap_method=vmap_method,
            input_layouts=ins,
            output_layouts=outs,
            input_output_aliases=_aliases(input_output_aliases or {}, avals, results, ins, outs),
            custom_call_api_version=custom_call_api_version,
            legacy_backend_config=legacy_backend_config,
            attributes=tuple((k, freeze(v, f"ffi_call: attribute {k}")) for k, v in sorted(attributes.items())),
        )
        return outputs[0] if single else type(described)(outputs)

    return call


def _result_aval(result: Any) -> ShapedArray:
    if not (hasattr(result, "shape") and hasattr(result, "dtype")) or isinstance(result, type):
        raise TypeError(f"ffi_call: result_shape_dtypes must have shapes and dtypes, got {result!r}")
    dtype = dtypes.canonicalize_dtype(result.dtype)
    if dtype != result.dtype:
        raise ValueError(
            "ffi_call: result_shape_dtypes must have dtypes of up to 32 bits, unless enable_x64 is on, "
            f"got {result.dtype}"
        )
    return ShapedArray(result.shape, dtype)


def _reversed_layouts(name: str, layouts: Sequence[Layout] | None, avals: Sequence[Any]) -> tuple[tuple[int, ...], ...]:
    """The axes of each value in XLA's order, the fastest first."""
    per_value = [None] * len(avals) if layouts is None else list(layouts)
    if len(per_value) != len(avals):
        raise ValueError(
            f"ffi_call: {name} must have one entry for each value, got {len(per_value)} for {len(avals)} values"
        )
    reversed_layouts = []
    for layout, aval in zip(per_value, avals, strict=True):
        axes = tuple(range(len(aval.shape))) if layout is None else tuple(layout)
        if sorted(axes) != list(range(len(aval.shape))):
            raise ValueError(f"ffi_call: {name} must name each axis once, got {layout} for {aval.str_short()}")
        reversed_layouts.append(axes[::-1])
    return tuple(reversed_layouts)


def _aliases(
    aliases: Mapping[int, int], ins: Sequence[Any], outs: Sequence[Any], in_layouts: Any, out_layouts: Any
) -> tuple[tuple[int, int], ...]:
    pairs = []
    for i, o in sorted(aliases.items()):
        pair = "ffi_call: input_output_aliases must pair"
        if not (0 <= i < len(ins) and 0 <= o < len(outs)):
            raise ValueError(f"{pair} {len(ins)} arguments with {len(outs)} results, got {i}: {o}")
        if (ins[i].shape, ins[i].dtype) != (outs[o].shape, outs[o].dtype):
            raise ValueError(f"{pair} values of the same type, got {ins[i].str_short()} and {outs[o].str_short()}")
        if in_layouts[i] != out_layouts[o]:
            raise ValueError(f"{pair} values of the same layout, got {in_layouts[i][::-1]} and {out_layouts[o][::-1]}")
        pairs.append((i, o))
    return tuple(pairs)
