"""The interpreters of programs: evaluation, staging, derivatives, batching and lowering."""

# Programs are printed, and what is bound where no trace is at work is computed, whichever of the modules is imported.
from primax.core import printer as printer
from primax.interpreters import evaluate as evaluate
