"""The contents of the families of primitives, for plugins/primax.json; `make surface` writes the file."""

from __future__ import annotations

import json
from typing import Any

from checkout import FAMILIES, ROOT

from primax.extend import manifests
from primax.extend.host import metadata
from primax.extend.host.plugin_host import host

FILE = ROOT / "plugins" / metadata.FILE


def written() -> dict[str, Any]:
    """The file's description of each family."""
    return json.loads(FILE.read_text(encoding="utf-8"))["plugins"]


def wanted() -> dict[str, Any]:
    """The required contents: the entries of the families. Flags such as `essential` come from the file."""
    host.activate()
    said = written()
    found = {}
    for name in FAMILIES:
        found[name] = {
            **manifests.flags(said.get(name, {"deferred": True, "proven": True})),
            **manifests.describe(host.record(name).entries),
        }
    return found


if __name__ == "__main__":
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(each)}" for name, each in wanted().items())
    FILE.write_text(f'{{"plugins": {{\n{lines}\n}}}}\n', encoding="utf-8")
    print(f"recorded {len(FAMILIES)} families in {FILE}")
