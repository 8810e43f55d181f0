"""Blocks with captured output, other options or variables of the environment, and without warnings."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import numpy as np

from primax.porting.private.config import config as jax_config
from primax.porting.private.config import state

__all__ = [
    "capture_stderr",
    "capture_stdout",
    "global_config_context",
    "ignore_warning",
    "numpy_version",
    "parse_version",
    "set_env",
    "thread_local_config_context",
    "thread_unsafe_test",
    "thread_unsafe_test_class",
]


@contextmanager
def _captured(stream: TextIO) -> Iterator[Callable[[], str]]:
    """A `with` block with a function that, after the block, returns the output of Python and native code."""
    ended: list[str] = []

    def read() -> str:
        if not ended:
            raise ValueError("the text must be read after the block, got a call in it")
        return ended[0]

    with tempfile.TemporaryFile(mode="w+", encoding="utf-8") as file:
        stream.flush()
        saved = os.dup(stream.fileno())
        os.dup2(file.fileno(), stream.fileno())
        try:
            yield read
        finally:
            stream.flush()
            os.dup2(saved, stream.fileno())
            os.close(saved)
            file.seek(0)
            ended.append(file.read())


capture_stdout = functools.partial(_captured, sys.stdout)
capture_stderr = functools.partial(_captured, sys.stderr)


@contextmanager
def ignore_warning(*, message: str | None = None, category: type[Warning] = Warning) -> Iterator[None]:
    """A `with` block, or a decorator, that ignores warnings of a category whose text begins with a pattern."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=message or "", category=category)
        yield


@contextmanager
def set_env(**kwargs: str | None) -> Iterator[None]:
    """A `with` block with other environment variables; None removes one."""
    before = {name: os.environ.pop(name, None) for name in kwargs}
    os.environ.update({name: value for name, value in kwargs.items() if value is not None})
    try:
        yield
    finally:
        for name in kwargs:
            os.environ.pop(name, None)
        os.environ.update({name: value for name, value in before.items() if value is not None})


@contextmanager
def global_config_context(**kwds: Any) -> Iterator[None]:
    """A `with` block with other values of options for the process."""
    before = {name: jax_config.read(name) for name in kwds}
    try:
        for name, value in kwds.items():
            jax_config.update(name, value)
        yield
    finally:
        for name, value in before.items():
            jax_config.update(name, value)


@contextmanager
def thread_local_config_context(**kwds: Any) -> Iterator[None]:
    """A `with` block with other values of options for this thread."""
    with contextlib.ExitStack() as stack:
        for name, value in kwds.items():
            stack.enter_context(state(name)(value))
        yield


@contextmanager
def thread_unsafe_test(condition: bool = True) -> Iterator[None]:
    """A decorator of tests that must not run in parallel with others: here one test runs at a time."""
    yield


def thread_unsafe_test_class(condition: bool = True) -> Callable[[type], type]:
    """A decorator of classes of tests that must not run in parallel with others."""

    def mark(kind: type) -> type:
        kind.thread_hostile = condition  # type: ignore[attr-defined]
        return kind

    return mark


_VERSION = re.compile(r"([0-9]+(?:\.[0-9]+)*)(?:(rc|dev).*)?")


def parse_version(v: str) -> tuple[int, ...]:
    """The numbers of a version.

    Raises:
      ValueError: the text is not a version.
    """
    match = _VERSION.match(v)
    if match is None:
        raise ValueError(f"parse_version: v must be numbers with dots, got {v!r}")
    return tuple(map(int, match[1].split(".")))


def numpy_version() -> tuple[int, ...]:
    """The version of NumPy."""
    return parse_version(np.__version__)
