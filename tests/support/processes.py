"""Programs run by several processes that join each other, each with its own devices."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
from typing import NamedTuple

_BEGIN = """
import os, signal, sys, time
import numpy as np
import primax as px
from primax import lax, numpy as pnp
index, count, address = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
def join(**options):
    if count > 1:
        px.distributed.initialize(address, count, index, **options)
"""


# Seconds after which a child hangs: with ten others on two cores, too, no working one takes nearly as long.
HANG = 600


class Ended(NamedTuple):
    """The end of a process."""

    code: int
    out: str
    errors: str


def free_address() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


def run_processes(program: str, count: int, devices: int) -> list[Ended]:
    """Run a program in several processes at once; if one hangs all are killed, and the test fails."""
    address = free_address()
    text = _BEGIN + textwrap.dedent(program)
    variables = {
        **os.environ,
        "PRIMAX_NUM_CPU_DEVICES": str(devices),
        "PRIMAX_COORDINATOR_ADDRESS": address,
        "PRIMAX_NUM_PROCESSES": str(count),
    }
    running = [
        subprocess.Popen(
            [sys.executable, "-c", text, str(index), str(count), address],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**variables, "PRIMAX_PROCESS_ID": str(index)},
            start_new_session=True,
        )
        for index in range(count)
    ]
    ended = []
    try:
        for process in running:
            out, errors = process.communicate(timeout=HANG)
            ended.append(Ended(process.returncode, out, errors))
    finally:
        for process in running:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
    return ended
