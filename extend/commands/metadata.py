"""Show what the file primax.json of a plugin's package must contain, or write it.

primax reads the file instead of importing the plugin, to see which programs need it.
"""

from __future__ import annotations

import argparse
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from primax.extend import manifests
from primax.extend.commands.common import UsageError, add_examples, add_json, load_plugins, look_up, show_json
from primax.extend.host import metadata
from primax.extend.host.plugin_host import PluginRecord, host

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("plugin", metavar="PLUGIN", help="the name of an active plugin of a package")
    parser.add_argument("--write", action="store_true", help="write the file; its keys for loading are kept")
    add_json(parser)
    add_examples(
        parser,
        {
            "primax metadata my-plugin": "the contents, with exit code 1 if the file has others",
            "primax metadata my-plugin --write": "bring the file up to date",
        },
    )


def run(arguments: argparse.Namespace) -> int:
    """Show or write the file of a plugin; exit code 1 if it differs and is not written."""
    records = {record.name: record for record in load_plugins()}
    record = look_up("plugin", arguments.plugin, records)
    if record.state != "active":
        raise UsageError(f"{record.name} must be active, and it is {record.state}: {record.reason}")
    path = _path(record)
    written = _read(path)
    shared = written.get("plugins")
    before = written if not isinstance(shared, dict) else shared.get(record.name, {})
    contents = _described(record, before)
    current = contents == before
    if arguments.write and not current:
        every = contents
        others = [other for other in records.values() if other is not record and _top(other) == _top(record)]
        if others or isinstance(shared, dict):
            active = {other.name: _described(other, {}) for other in others if other.state == "active"}
            every = {"plugins": {**active, **(shared or {}), record.name: contents}}
        try:
            path.write_text(_text(every), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    if arguments.json:
        changed = arguments.write and not current
        show_json({"file": str(path), "current": current, "written": changed, "contents": contents})
    elif current:
        print(f"{path} is up to date")
    elif arguments.write:
        print(f"{path} has been written")
    else:
        print(f"{_text(contents)}{path} {'has other contents' if written else 'is missing'}; --write writes it")
    return 0 if current or arguments.write else 1


def _described(record: PluginRecord, before: dict[str, Any]) -> dict[str, Any]:
    """The contents for a plugin: the flags that its author wrote, and its entries."""
    return {**manifests.flags(before), **manifests.describe(host.record(record.name).entries)}


def _top(record: PluginRecord) -> str:
    return record.module.partition(".")[0]


def _path(record: PluginRecord) -> Path:
    """The file of a plugin: in the folder of its module or the nearest package around it, where there is one.

    Raises:
      UsageError: the plugin is primax's own, or its module is not in a package.
    """
    if record.source == "built-in" or not record.module:
        raise UsageError(f"{record.name} must be the plugin of an installed package, and it is {record.source}")
    top, *parts = record.module.split(".")
    spec = find_spec(top)
    if spec is None or not spec.submodule_search_locations:
        raise UsageError(f"{record.name} must be in a package, which has a folder for the file, got module {top!r}")
    folders = [Path(next(iter(spec.submodule_search_locations)))]
    for part in parts:
        folders.append(folders[-1] / part)
    written = [folder / metadata.FILE for folder in reversed(folders) if (folder / metadata.FILE).is_file()]
    return written[0] if written else folders[0] / metadata.FILE


def _read(path: Path) -> dict[str, Any]:
    """The contents of the file; empty if it is missing or damaged, so that it is written anew."""
    try:
        contents = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return contents if isinstance(contents, dict) else {}


def _text(contents: dict[str, Any]) -> str:
    """The file's text, with a line for each primitive, or for each plugin of several."""
    plugins = contents.get("plugins")
    if plugins is not None:
        lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(each)}" for name, each in plugins.items())
        return f'{{"plugins": {{\n{lines}\n}}}}\n'
    parts = {name: json.dumps(value) for name, value in contents.items()}
    owned = contents["primitives"]
    if len(owned) > 1:
        rows = ",\n".join(f"    {json.dumps(name)}: {json.dumps(kinds)}" for name, kinds in owned.items())
        parts["primitives"] = f"{{\n{rows}\n  }}"
    lines = ",\n".join(f"  {json.dumps(name)}: {text}" for name, text in parts.items())
    return f"{{\n{lines}\n}}\n"
