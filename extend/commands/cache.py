"""Show the cache that keeps compiled programs between processes, or clear it."""

from __future__ import annotations

import argparse
import time

from primax.extend.commands.common import UsageError, add_examples, add_json, show_json
from primax.extend.commands.table import facts, terminal_width
from primax.extend.options import compilation_cache_dir, compilation_cache_max_size
from primax.interpreters.runtime import compilation_cache

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--clear", action="store_true", help="remove all programs from the cache")
    add_json(parser)
    add_examples(parser, {"primax cache": "where it is, and how large", "primax cache --clear": "remove all programs"})


def run(arguments: argparse.Namespace) -> int:
    """Show or clear the cache; exit code 1 if there is none."""
    folder = compilation_cache_dir.value
    if folder is None:
        if arguments.json:
            show_json({"folder": None})
        else:
            print(f"There is no cache of compiled programs: {compilation_cache_dir.env} names no directory.")
        return 1
    try:
        removed = compilation_cache.clear(folder) if arguments.clear else 0
        files = compilation_cache.contents(folder)
    except OSError as error:
        raise UsageError(f"{folder} cannot be read or cleared: {error}") from None
    size, most = sum(size for _, size, _ in files), compilation_cache_max_size.value
    if arguments.json:
        data = {"folder": folder, "programs": len(files), "bytes": size, "most_bytes": most}
        show_json({**data, "removed": removed} if arguments.clear else data)
    elif arguments.clear:
        print(f"Removed {_programs(removed)} from {folder}.")
    else:
        pairs = [
            ("directory", folder),
            ("programs", str(len(files))),
            ("size", _megabytes(size) if most < 0 else f"{_megabytes(size)} of {_megabytes(most)}"),
            ("last used", f"{_when(files[0][0])} (oldest) to {_when(files[-1][0])} (newest)" if files else ""),
        ]
        print(f"The cache of compiled programs:\n{facts(pairs, terminal_width())}")
    return 0


def _programs(count: int) -> str:
    return f"{count} program{'' if count == 1 else 's'}"


def _megabytes(size: int) -> str:
    return f"{size / 2**20:.1f} MiB"


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
