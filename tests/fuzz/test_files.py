"""Modified files: the modifications are as intended, and some of the files are read."""

from __future__ import annotations

from fuzz.files import error_of, exported, header_of, sealed, with_bytes, with_header
from fuzz.runner import Job, run


def test_files_that_were_not_changed_are_what_was_exported():
    data = exported()
    assert sealed(data[:-32]) == with_bytes() == with_header(header_of(data)) == data


def test_changed_files_are_refused_and_execute_nothing():
    outcome = run([Job("fuzz.files:Files", 32, "short", only="", cases=80)])
    assert not outcome.findings, "\n\n".join(f"{one.message}\n{one.program}" for one in outcome.findings.values())
    assert outcome.reached["fuzz.files:Files"]["refused"] > 40


def test_the_error_that_ends_a_process_may_have_several_lines():
    frames = 'Traceback (most recent call last):\n  File "<string>", line 1, in <module>\n    1 / 0\n'
    assert error_of(f"{frames}jaxlib._jax.JaxRuntimeError: too large\nSee https://a.b/c for more details.\n").endswith(
        "large"
    )
    assert error_of(f"{frames}KeyboardInterrupt\n") == "KeyboardInterrupt"
    assert error_of("") == ""
