"""The command `python -m golden`, run with tests/ on the path: records in values.json what jax computes."""

from __future__ import annotations

import json

import jax

from golden.calls import GROUPS, results
from golden.values import FILE, described

recorded = {
    group: {name: [described(x) for x in arrays] for name, arrays in results(jax, group).items()} for group in GROUPS
}
lines = [f'"jax": "{jax.__version__}"']
for group, calls in recorded.items():
    each = ",\n".join(f"{json.dumps(name)}: {json.dumps(arrays)}" for name, arrays in calls.items())
    lines.append(f'"{group}": {{\n{each}\n}}')
FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
print(f"{FILE}: {FILE.stat().st_size} bytes of jax {jax.__version__}")
