"""The source files below a path, read and written without loss."""

from __future__ import annotations

import io
import os
import tempfile
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

_SKIPPED = ("__pycache__", "node_modules", "site-packages")


class SourceError(Exception):
    """A file cannot be read, or cannot be written."""


@dataclass(frozen=True, slots=True)
class Source:
    """A Python file as text, with its original line endings."""

    path: Path
    text: str
    encoding: str


def python_files(paths: Iterable[str], exclude: Sequence[str] = ()) -> Iterator[Path]:
    """The files at paths: a file itself, or the `.py`, `.pyi` and `.ipynb` files below a folder, without repetition.

    Hidden folders, virtual environments and links to folders are skipped.

    Args:
      paths: files and folders.
      exclude: patterns such as `tests` or `*_pb2.py` for names of files and folders, or `src/old/*` for paths that
        begin like one of `paths`.

    Raises:
      FileNotFoundError: a path does not exist.
    """
    seen: set[Path] = set()
    for name in paths:
        path = Path(name)
        if not path.exists():
            raise FileNotFoundError(name)
        if _is_excluded(path, exclude):
            continue
        for file in _below(path, exclude) if path.is_dir() else [path]:
            real = file.resolve()
            if real not in seen:
                seen.add(real)
                yield file


def _is_excluded(path: Path, exclude: Sequence[str]) -> bool:
    return any(fnmatchcase(path.name, each) or fnmatchcase(path.as_posix(), each.rstrip("/")) for each in exclude)


def _below(folder: Path, exclude: Sequence[str]) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and name not in _SKIPPED
            and not Path(parent, name, "pyvenv.cfg").exists()
            and not _is_excluded(Path(parent, name), exclude)
        )
        files = [Path(parent, name) for name in sorted(names) if name.endswith((".py", ".pyi", ".ipynb"))]
        yield from (file for file in files if not _is_excluded(file, exclude))


def read(path: Path) -> Source:
    """Read a file in its declared encoding.

    Raises:
      SourceError: the file cannot be read, or cannot be decoded.
    """
    try:
        data = path.read_bytes()
        if path.suffix == ".ipynb":
            return Source(path, data.decode("utf-8"), "utf-8")
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return Source(path, data.decode(encoding), encoding)
    except OSError as error:
        raise SourceError(error.strerror or str(error)) from error
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise SourceError(f"not in its declared encoding: {error}") from error


def write(source: Source, text: str) -> None:
    """Replace the text of a file, completely or not at all. Links and the file's mode are kept.

    Raises:
      SourceError: the file is not writable, has changed since it was read, or its encoding lacks a character.
    """
    real = source.path.resolve()
    try:
        mode = real.stat().st_mode
        if not mode & 0o222 or not os.access(real, os.W_OK):
            raise SourceError("read-only")
        if real.read_bytes() != source.text.encode(source.encoding):
            raise SourceError("changed by another program in the meantime")
        data = text.encode(source.encoding)
        handle, temporary = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.chmod(temporary, mode & 0o7777)
            os.replace(temporary, real)
        except BaseException:
            os.unlink(temporary)
            raise
    except (OSError, UnicodeEncodeError) as error:
        raise SourceError(getattr(error, "strerror", None) or str(error)) from error
