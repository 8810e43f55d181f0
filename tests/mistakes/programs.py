"""The programs of `mistakes.txt`, and how one library reports them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

FOLDER = Path(__file__).parent
LIBRARIES = ("primax", "jax")
HEADERS = {
    "primax": """from functools import partial
import numpy as np
import primax as px, primax.numpy as pnp
from primax import lax, nn, random
from primax.sharding import Mesh, PartitionSpec as P
from primax.extend import core
from primax.extend.interpreters import ad, batching, mlir
""",
    "jax": """from functools import partial
import numpy as np
import jax as px, jax.numpy as pnp
from jax import lax, nn, random
from jax.sharding import Mesh, PartitionSpec as P
from jax.extend import core
from jax.interpreters import ad, batching, mlir
""",
}


class Report(NamedTuple):
    """What Python prints for one program.

    Attributes:
      lines: the number of lines, from `Traceback` to the end of the message; 0 if the program ends without an error.
      error: the class of the exception.
      message: the message with its class and its notes, without the lines of the traceback.
      text: all that is printed.
    """

    lines: int
    error: str
    message: str
    text: str


def mistakes() -> dict[str, str]:
    """The programs by name."""
    _, *parts = (FOLDER / "mistakes.txt").read_text(encoding="utf-8").split("\n== ")
    return {name: program.strip() + "\n" for name, program in (part.split("\n", 1) for part in parts)}


def reports(
    library: str, programs: Mapping[str, str], environment: Mapping[str, str] | None = None
) -> dict[str, Report]:
    """What a library says about programs, each run as a script of its own in one process.

    Args:
      library: `primax` or `jax`.
      programs: the programs by name.
      environment: more variables of the environment.
    """
    task = {"header": HEADERS[library], "programs": dict(programs)}
    done = subprocess.run(
        [sys.executable, str(FOLDER / "child.py")],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        check=True,
        env={
            **os.environ,
            "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "JAX_PLATFORMS": "cpu",
            **(environment or {}),
        },
    )
    return {name: Report(*report) for name, report in json.loads(done.stdout).items()}


def summary(found: Sequence[Report]) -> str:
    """The median and the maximum of the numbers of lines."""
    counts = [report.lines for report in found if report.lines]
    return f"{median(counts):g} lines in the median, {max(counts)} at most, of {len(counts)} errors"
