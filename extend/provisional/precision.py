"""The precision of products: the values that a caller may choose, and their form in StableHLO."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from primax.extend import dtypes
from primax.extend.core import config
from primax.extend.interpreters import mlir

__all__ = [
    "ALGORITHMS",
    "CPU_ALGORITHMS",
    "DotAlgorithm",
    "DotAlgorithmPreset",
    "Precision",
    "PrecisionLike",
    "algorithm_attribute",
    "canonicalize_precision",
    "precision_attribute",
]


class Precision(enum.Enum):
    """The precision of products on platforms that offer a choice.

    DEFAULT is the fastest, HIGH is slower and more precise, HIGHEST is the full precision. CPUs always use the full
    precision. The names that functions take can be converted, as in `Precision("highest")`; None becomes DEFAULT.
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value: object) -> Any:
        return cls.DEFAULT if value is None else _NAMES.get(value) if isinstance(value, str) else None

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Precision.{self.name}"


class DotAlgorithmPreset(enum.Enum):
    """An algorithm for products, named by the types of the operands and of the accumulator.

    X3, X6 and X9 are the numbers of products of the narrower type that replace one product. DEFAULT leaves the
    choice to the platform.
    """

    DEFAULT = 0
    ANY_F8_ANY_F8_F32 = 1
    ANY_F8_ANY_F8_F32_FAST_ACCUM = 2
    ANY_F8_ANY_F8_ANY = 3
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = 4
    F16_F16_F16 = 5
    F16_F16_F32 = 6
    BF16_BF16_BF16 = 7
    BF16_BF16_F32 = 8
    BF16_BF16_F32_X3 = 9
    BF16_BF16_F32_X6 = 10
    BF16_BF16_F32_X9 = 11
    TF32_TF32_F32 = 12
    TF32_TF32_F32_X3 = 13
    F32_F32_F32 = 14
    F64_F64_F64 = 15

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"DotAlgorithmPreset.{self.name}"

    @property
    def supported_lhs_types(self) -> tuple[Any, ...] | None:
        """The scalar types of the first operand; other types are converted. None if the platform chooses."""
        algorithm = ALGORITHMS.get(self)
        return None if algorithm is None else tuple(dtype.type for dtype in algorithm.operands) or None

    @property
    def supported_rhs_types(self) -> tuple[Any, ...] | None:
        """The scalar types of the second operand, which are those of the first."""
        return self.supported_lhs_types

    @property
    def accumulation_type(self) -> Any:
        """The scalar type of the accumulator; None if the result type decides."""
        algorithm = ALGORITHMS.get(self)
        return None if algorithm is None or not algorithm.results else algorithm.accumulate.type


class DotAlgorithm(NamedTuple):
    """The components of an algorithm for products. They must match a `DotAlgorithmPreset`.

    Attributes:
      lhs_precision_type: the dtype to which elements of the first operand are rounded.
      rhs_precision_type: the same for the second operand.
      accumulation_type: the dtype of sums.
      lhs_component_count: 1, as in all presets.
      rhs_component_count: 1, too.
      num_primitive_operations: the number of products that replace one.
      allow_imprecise_accumulation: whether sums may be less precise than their dtype.
    """

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


@dataclass(frozen=True, slots=True)
class Algorithm:
    """The components of a preset.

    Attributes:
      operands: dtypes the operands may have; others are converted to the last. Empty: float8 dtypes only.
      compute: the name of the type products are computed in; None for that of the operands.
      accumulate: the dtype of sums.
      results: dtypes that results may have; others are converted from the first. Empty: any.
      products: the number of products that replace one.
      imprecise: whether sums may be less precise than their dtype.
    """

    operands: tuple[Any, ...]
    compute: str | None
    accumulate: Any
    results: tuple[Any, ...]
    products: int = 1
    imprecise: bool = False


_F16, _BF16, _F32, _F64 = map(np.dtype, (np.float16, dtypes.bfloat16, np.float32, np.float64))
_Preset = DotAlgorithmPreset

# The values that functions accept as a precision.
PrecisionLike: TypeAlias = (
    str | Precision | tuple[str, str] | tuple[Precision, Precision] | DotAlgorithm | DotAlgorithmPreset | None
)

ALGORITHMS = {
    _Preset.ANY_F8_ANY_F8_F32: Algorithm((), None, _F32, (_F32,)),
    _Preset.ANY_F8_ANY_F8_F32_FAST_ACCUM: Algorithm((), None, _F32, (_F32,), imprecise=True),
    _Preset.ANY_F8_ANY_F8_ANY: Algorithm((), None, _F32, ()),
    _Preset.ANY_F8_ANY_F8_ANY_FAST_ACCUM: Algorithm((), None, _F32, (), imprecise=True),
    _Preset.F16_F16_F16: Algorithm((_F16,), "F16Type", _F16, (_F16,)),
    _Preset.F16_F16_F32: Algorithm((_F16,), "F16Type", _F32, (_F32, _F16)),
    _Preset.BF16_BF16_BF16: Algorithm((_BF16,), "BF16Type", _BF16, (_BF16,)),
    _Preset.BF16_BF16_F32: Algorithm((_BF16, _F32), "BF16Type", _F32, (_F32, _BF16)),
    _Preset.BF16_BF16_F32_X3: Algorithm((_F32,), "BF16Type", _F32, (_F32,), 3),
    _Preset.BF16_BF16_F32_X6: Algorithm((_F32,), "BF16Type", _F32, (_F32,), 6),
    _Preset.BF16_BF16_F32_X9: Algorithm((_F32,), "BF16Type", _F32, (_F32,), 9),
    _Preset.TF32_TF32_F32: Algorithm((_F32,), "FloatTF32Type", _F32, (_F32,)),
    _Preset.TF32_TF32_F32_X3: Algorithm((_F32,), "FloatTF32Type", _F32, (_F32,), 3),
    _Preset.F32_F32_F32: Algorithm((_F32,), "F32Type", _F32, (_F32,)),
    _Preset.F64_F64_F64: Algorithm((_F64,), "F64Type", _F64, (_F64,)),
}

_COMPUTED = {"F16Type": _F16, "BF16Type": _BF16, "F32Type": _F32, "F64Type": _F64}

# The CPU compiler takes any algorithm and ignores it. For these algorithms, its results have the requested precision.
CPU_ALGORITHMS = frozenset(
    (
        _Preset.F16_F16_F16,
        _Preset.BF16_BF16_F32,
        _Preset.BF16_BF16_F32_X3,
        _Preset.BF16_BF16_F32_X6,
        _Preset.F32_F32_F32,
        _Preset.F64_F64_F64,
    )
)

_NAMES = {
    "default": Precision.DEFAULT,
    "fastest": Precision.DEFAULT,
    "bfloat16": Precision.DEFAULT,
    "high": Precision.HIGH,
    "bfloat16_3x": Precision.HIGH,
    "tensorfloat32": Precision.HIGH,
    "highest": Precision.HIGHEST,
    "float32": Precision.HIGHEST,
}
_KNOWN: dict[Any, Any] = {
    **{name: (one, one) for name, one in _NAMES.items()},
    **{one: (one, one) for one in Precision},
    **{(one, other): (one, other) for one in Precision for other in Precision},
    **{preset.name: preset for preset in DotAlgorithmPreset if preset is not _Preset.DEFAULT},
    **{preset: preset for preset in DotAlgorithmPreset},
}
_option = config.default_matmul_precision


def canonicalize_precision(precision: Any, function: str = "dot_general") -> Any:
    """A precision in the form of the parameters of primitives.

    Args:
      precision: None, a name, a `Precision`, a `DotAlgorithmPreset`, or a pair of names or precisions, one
        for each operand.
      function: the name of the calling function, for messages.

    Returns:
      None, a pair of `Precision`, or a `DotAlgorithmPreset`. None means the option `default_matmul_precision`, if it is
      set.

    Raises:
      ValueError: `precision` is not one of these.
    """
    if precision is None:
        precision = _option.value
        if precision is None:
            return None
    if isinstance(precision, DotAlgorithm):
        return _preset_of(precision, function)
    try:
        return _KNOWN[precision]
    except (KeyError, TypeError):
        pass
    if isinstance(precision, tuple | list) and len(precision) == 2:
        pair = tuple(_NAMES.get(one, one) if isinstance(one, str) else one for one in precision)
        if all(isinstance(one, Precision) for one in pair):
            return pair
    names = ", ".join(repr(name) for name in _NAMES)
    raise ValueError(
        f"{function}: precision must be None, one of {names}, a Precision, a pair of these, one for each "
        f"operand, or a DotAlgorithmPreset or its name, got {precision!r}"
    )


def _preset_of(required: DotAlgorithm, function: str) -> DotAlgorithmPreset:
    """The preset with the components of an algorithm.

    Raises:
      ValueError: there is no such preset.
    """
    types = [np.dtype(x) for x in required[:3]]
    if types[0] == types[1] and required[3:5] == (1, 1):
        for preset, algorithm in ALGORITHMS.items():
            operand = algorithm.operands and _COMPUTED.get(algorithm.compute or "")
            own = operand, algorithm.accumulate, algorithm.products, algorithm.imprecise
            if own == (types[0], types[2], required[5], required[6]):
                return preset
    raise ValueError(f"{function}: precision must be the algorithm of a DotAlgorithmPreset, got {required!r}")


def precision_attribute(precision: Any) -> Any:
    """The `precision_config` of an operation on two operands."""
    pair = precision if type(precision) is tuple else (Precision.DEFAULT, Precision.DEFAULT)
    return mlir.ir.ArrayAttr.get([mlir.hlo.PrecisionAttr.get(one.name) for one in pair])


def algorithm_attribute(algorithm: Algorithm, lhs: Any, rhs: Any) -> Any:
    """The `algorithm` of a product whose operands have these dtypes."""
    kind = algorithm.compute
    types = [mlir.dtype_to_ir_type(dtype) if kind is None else getattr(mlir.ir, kind).get() for dtype in (lhs, rhs)]
    return mlir.hlo.DotAlgorithm.get(
        *types, mlir.dtype_to_ir_type(algorithm.accumulate), 1, 1, algorithm.products, algorithm.imprecise
    )
