"""Messages to the logger `primax`, without an import of `logging` that nobody needs."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest
from processes import HANG

from primax.interpreters.runtime import log


def test_messages_reach_the_logger(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "primax"):
        log.debug("%s of %s", 1, 2)
        log.warning("%s", "careful")
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("DEBUG", "1 of 2"),
        ("WARNING", "careful"),
    ]


def test_debug_messages_do_not_import_logging() -> None:
    program = """
import sys
from primax.interpreters.runtime import log
log.debug("unseen")
assert "logging" not in sys.modules
log.warning("seen")
assert "logging" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], timeout=HANG, check=True, capture_output=True)
