"""What the families of primitives have, as plugins/primax.json must say it: `make surface` writes the file."""

from __future__ import annotations

import json
from typing import Any

from checkout import FAMILIES, ROOT

from primax.core import metadata
from primax.core.host import host

FILE = ROOT / "plugins" / metadata.FILE


def written() -> dict[str, Any]:
    """What the file says of each family."""
    return json.loads(FILE.read_text(encoding="utf-8"))["plugins"]


def wanted() -> dict[str, Any]:
    """What it must say: what the families have entered. Whether they are essential, and may wait, it says itself."""
    host.activate()
    said = written()
    found = {}
    for name in FAMILIES:
        found[name] = {
            **metadata.flags(said.get(name, {"proven": True})),
            **metadata.describe(host.record(name).entries),
        }
    return found


if __name__ == "__main__":
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(each)}" for name, each in wanted().items())
    FILE.write_text(f'{{"plugins": {{\n{lines}\n}}}}\n', encoding="utf-8")
    print(f"recorded {len(FAMILIES)} families in {FILE}")
