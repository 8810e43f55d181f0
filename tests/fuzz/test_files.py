"""Changed files: the changes are as they are told, and some of them are read."""

from __future__ import annotations

from fuzz.files import exported, header_of, sealed, with_bytes, with_header
from fuzz.runner import Job, run


def test_files_that_were_not_changed_are_what_was_exported():
    data = exported()
    assert sealed(data[:-32]) == with_bytes() == with_header(header_of(data)) == data


def test_changed_files_are_refused_and_execute_nothing():
    outcome = run([Job("fuzz.files:Files", 32, "short", only="", cases=80)])
    assert not outcome.findings, "\n\n".join(f"{one.message}\n{one.program}" for one in outcome.findings.values())
    assert outcome.reached["fuzz.files:Files"]["refused"] > 40
