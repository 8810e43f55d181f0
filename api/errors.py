"""The errors that primax raises."""

from __future__ import annotations

from primax.core.errors import (
    ArgumentError,
    CallbackError,
    ConcretizationTypeError,
    DeletedArrayError,
    ExperimentalWarning,
    InconclusiveDimensionOperation,
    JAXIndexError,
    JaxprTypeError,
    JAXTypeError,
    MissingRuleError,
    NonConcreteBooleanIndexError,
    PluginError,
    PluginWarning,
    RuleError,
    ShapeError,
    TangentTypeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnexpectedTracerError,
    UnsupportedError,
    XlaError,
)
from primax.core.errors import XlaError as JaxRuntimeError
from primax.extend.core.aval_errors import NotAnArrayError
from primax.extend.errors import KeyReuseError

__all__ = [
    "ArgumentError",
    "CallbackError",
    "ConcretizationTypeError",
    "DeletedArrayError",
    "ExperimentalWarning",
    "InconclusiveDimensionOperation",
    "JAXIndexError",
    "JAXTypeError",
    "JaxRuntimeError",
    "JaxprTypeError",
    "KeyReuseError",
    "MissingRuleError",
    "NonConcreteBooleanIndexError",
    "NotAnArrayError",
    "PluginError",
    "PluginWarning",
    "RuleError",
    "ShapeError",
    "TangentTypeError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "UnexpectedTracerError",
    "UnsupportedError",
    "XlaError",
]
__dir__ = __all__.copy
