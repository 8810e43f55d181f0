"""Show what a bug report needs: versions, devices, options and variables that are set, and plugins.

The command activates all plugins and starts a client for each platform.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from importlib import metadata
from typing import Any

from primax.extend.commands.common import add_examples, add_json, load_plugins, show_json
from primax.extend.commands.devices import described_platforms
from primax.extend.commands.style import paint, short_paths
from primax.extend.commands.table import facts, terminal_width
from primax.extend.host.plugin_host import host
from primax.extend.options import config

__all__ = ["configure", "environment", "run", "text"]

_PACKAGES = ("jaxlib", "numpy", "ml_dtypes", "pluggy", "scipy", "jax")
_PREFIXES = ("PRIMAX_", "JAX_", "XLA_", "TF_CPP_", "CUDA_", "NVIDIA_", "ROCM_", "HIP_", "OMP_", "MKL_", "OPENBLAS_")
_VARIABLES = ("LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH", "PYTHONOPTIMIZE", "PYTHONHASHSEED")
_SECRETS = ("TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "API_KEY")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_json(parser)
    add_examples(
        parser,
        {"primax env": "the text to paste into a bug report", "primax env --json > env.json": "the same as plain data"},
    )


def run(arguments: argparse.Namespace) -> int:
    """Show the environment."""
    found = environment()
    if arguments.json:
        show_json(found)
    else:
        print(text(found, terminal_width()))
    return 0


def environment() -> dict[str, Any]:
    """What a bug report needs, as plain data."""
    records = [record.as_dict() for record in load_plugins()]
    names = ("name", "distribution", "version", "source", "state", "reason")
    return {
        "versions": {"primax": host.catalog.own_version, **{name: _version(name) for name in _PACKAGES}},
        "system": {
            "python": f"{platform.python_version()} ({platform.python_implementation()}, {sys.executable})",
            "platform": platform.platform(),
            "processors": os.cpu_count(),
        },
        "platforms": described_platforms(),
        "options": {
            option.short_name: option.value
            if isinstance(option.value, bool | int | float | str | None)
            else repr(option.value)
            for option in config
            if option.value != option.default
        },
        "variables": {name: os.environ[name] for name in sorted(os.environ) if _matters(name)},
        "plugins": [{name: record[name] for name in names} for record in records],
        "consents without a plugin": host.idle_consents(),
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _matters(name: str) -> bool:
    return (name.startswith(_PREFIXES) and not any(word in name for word in _SECRETS)) or name in _VARIABLES


def text(found: dict[str, Any], width: int | None = None) -> str:
    """The text about an environment, with a heading for each part."""
    versions = [(name, version or "not installed") for name, version in found["versions"].items()]
    parts = [
        ("versions", versions),
        ("system", [(name, str(value)) for name, value in found["system"].items()]),
        ("devices", [(each["platform"], _devices(each)) for each in found["platforms"]]),
        ("options that are set", [(name, repr(value)) for name, value in found["options"].items()]),
        ("variables", list(found["variables"].items())),
        ("plugins", _plugins(found["plugins"]) + [("note", note) for note in found["consents without a plugin"]]),
    ]
    return "\n".join(
        f"{paint(f'{heading}:', 'bold')}{'' if pairs else ' none'}\n{short_paths(facts(pairs, width))}".rstrip()
        for heading, pairs in parts
    )


def _devices(described: dict[str, Any]) -> str:
    if described["problem"]:
        return f"cannot be used: {described['problem']}"
    kinds = [device["kind"] for device in described["devices"]]
    counted = ", ".join(f"{kinds.count(kind)} x {kind}" for kind in dict.fromkeys(kinds))
    return f"{counted}; {described['version']}" if counted else "installed"


def _plugins(records: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """The state of each plugin; active ones of primax are counted."""
    own = [record for record in records if record["source"] == "built-in" and record["state"] == "active"]
    others = [
        (
            record["name"],
            f"{record['state']}, {record['distribution']} {record['version']}; {record['reason']}".rstrip("; "),
        )
        for record in records
        if record not in own
    ]
    return [("of primax", f"{len(own)} active"), *others]
