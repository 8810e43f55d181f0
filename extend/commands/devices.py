"""Show the available platforms and devices, and for unusable plugins the reason and the package to install.

The command starts a client for each platform, which takes GPU memory for a moment. With --found it loads nothing and
lists the installed plugins.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

from primax.extend.commands.common import add_examples, add_json, show_json
from primax.extend.commands.style import paint, short_paths
from primax.extend.commands.table import facts, render, terminal_width
from primax.interpreters.runtime.devices import backends, gpus

__all__ = ["configure", "described_platforms", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "platform", nargs="?", metavar="PLATFORM", help="show only this platform; exit code 1 if it cannot be used"
    )
    parser.add_argument("--found", action="store_true", help="list installed plugins without loading them")
    add_json(parser)
    add_examples(
        parser,
        {
            "primax devices": "all platforms with their devices",
            "primax devices cuda": "why a platform cannot be used",
            "primax devices --found": "the installed plugins for platforms, without loading them",
        },
    )


def run(arguments: argparse.Namespace) -> int:
    """Show platforms."""
    descriptions = described_platforms(arguments.platform, only_found=arguments.found)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the output of this command says the same
        default = backends.default_platform()
    names = {arguments.platform} if arguments.platform else set(backends.known())
    hint = "" if names & {"cuda", "rocm"} else gpus.hint()
    if arguments.json:
        show_json({"default": default, "platforms": descriptions, "hint": hint})
    else:
        last = f"The default platform is {default}."
        print("\n\n".join([*map(_text, descriptions), last, *_lines(hint)]))
    return 1 if arguments.platform and any(description["problem"] for description in descriptions) else 0


def described_platforms(platform: str | None = None, *, only_found: bool = False) -> list[dict[str, Any]]:
    """Descriptions of all platforms with their devices, or of one.

    Args:
      platform: the name of one platform.
      only_found: whether to start no clients.
    """
    plugins = backends.plugins()
    names = backends.known()
    if platform:
        names = [name for name in names if platform in backends.names_of(name)] or [platform]
    first = {plugin.name: plugin for plugin in reversed(plugins)}
    descriptions = [_platform(name, first.get(name), only_found) for name in names]
    if not platform:
        descriptions += [_description(p.name, p, p.problem) for p in plugins if p is not first.get(p.name)]
        descriptions += [_description(p.name, p, p.problem) for p in first.values() if p.name not in names]
    return descriptions


def _lines(hint: str) -> list[str]:
    return [f"{hint[0].upper()}{hint[1:]}."] if hint else []


def _platform(name: str, plugin: Any, only_found: bool) -> dict[str, Any]:
    """The description of a platform. Its client is started unless it is already known to fail."""
    problem = "" if plugin is None else plugin.problem
    if problem or only_found:
        return _description(name, plugin, problem)
    try:
        client = backends.client(name)
    except Exception as error:  # plugins fail in many ways; each is an answer
        return _description(name, plugin, " ".join(str(error).split()))
    devices = [_device(device) for device in client.devices()]
    return {**_description(name, plugin, ""), "version": str(client.platform_version), "devices": devices}


def _description(name: str, plugin: Any, problem: str) -> dict[str, Any]:
    """The description of a platform without its client."""
    source = ("jaxlib" if name == "cpu" else "") if plugin is None else plugin.source
    library = "" if plugin is None else plugin.library
    return {"platform": name, "source": source, "library": library, "version": "", "problem": problem, "devices": []}


def _device(device: Any) -> dict[str, Any]:
    try:
        limit = (device.memory_stats() or {}).get("bytes_limit")
    except RuntimeError:  # some clients do not report it
        limit = None
    return {"id": device.id, "kind": device.device_kind, "process": device.process_index, "memory": limit}


def _size(memory: int | None) -> str:
    return "-" if memory is None else f"{memory / 2**30:.1f} GiB"


def _text(description: dict[str, Any]) -> str:
    width = terminal_width()
    devices = description["devices"]
    state = f"{len(devices)} device{'' if len(devices) == 1 else 's'}"
    if description["problem"]:
        state = "cannot be used"
    elif not devices:
        state = "installed"
    pairs = [
        ("why", description["problem"]),
        ("from", description["source"]),
        ("library", short_paths(description["library"])),
        ("version", description["version"]),
    ]
    parts = [f"{paint(description['platform'], 'bold')}: {state}", facts(pairs, width)]
    if devices:
        headers = ["id", "kind", "process", "memory"]
        rows = [
            [
                str(d["id"]),
                d["kind"],
                str(d["process"]),
                "-" if d["memory"] is None else f"{d['memory'] / 2**30:.1f} GiB",
            ]
            for d in devices
        ]
        table = render(headers, rows, width)
        parts.append("\n".join(f"  {line}" for line in table.splitlines()))
    return "\n".join(part for part in parts if part)
