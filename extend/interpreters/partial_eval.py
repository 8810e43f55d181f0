"""Staging, partial evaluation and dead-code elimination of jaxprs."""

from __future__ import annotations

from primax.core.jaxpr import dce_jaxpr
from primax.core.rules import dce_rules, partial_eval_jaxpr_rules, partial_eval_rules, staging_rules
from primax.interpreters.partial_eval import PartialEval, close_over, partial_eval_jaxpr
from primax.interpreters.staging import StagingTrace, StagingTracer, trace_to_jaxpr

__all__ = [
    "PartialEval",
    "StagingTrace",
    "StagingTracer",
    "close_over",
    "dce_jaxpr",
    "dce_rules",
    "partial_eval_jaxpr",
    "partial_eval_jaxpr_rules",
    "partial_eval_rules",
    "staging_rules",
    "trace_to_jaxpr",
]
