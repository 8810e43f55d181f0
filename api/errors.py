"""The errors that primax raises."""

from __future__ import annotations

from primax.core.errors import (
    CallbackError,
    ConcretizationTypeError,
    DeletedArrayError,
    ExperimentalWarning,
    JaxprTypeError,
    MissingRuleError,
    NonConcreteBooleanIndexError,
    PluginError,
    PluginWarning,
    RuleError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnexpectedTracerError,
    XlaError,
)

__all__ = [
    "CallbackError",
    "ConcretizationTypeError",
    "DeletedArrayError",
    "ExperimentalWarning",
    "JaxprTypeError",
    "MissingRuleError",
    "NonConcreteBooleanIndexError",
    "PluginError",
    "PluginWarning",
    "RuleError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "UnexpectedTracerError",
    "XlaError",
]
