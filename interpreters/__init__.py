"""The interpreters of programs: evaluation, staging, derivatives, batching and lowering."""

from primax.core.text import printer as printer
