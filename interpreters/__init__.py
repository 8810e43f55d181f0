"""The interpreters of programs: evaluation, staging, derivatives, batching and lowering."""

from primax.core import printer as printer
