"""Notebooks are made of pages: all of their text and of their code, in order."""

from __future__ import annotations

import ast
import json
from pathlib import Path

from reference.notebooks import PAGES, notebook, write

PAGE = """# A page

With [a link](other.md).

```python
>>> x = 1
>>> x + 1  # doctest: +SKIP
2
>>> def f():
...     return 1 / 0
>>> f()
Traceback (most recent call last):
ZeroDivisionError: division by zero
>>> y = 3

```

```text
not code
```
"""


def test_a_page_becomes_cells():
    kinds = [(cell["cell_type"], cell["source"]) for cell in notebook(PAGE)["cells"]]
    assert kinds == [
        ("markdown", "# A page\n\nWith a link."),
        ("code", "x = 1\nx + 1"),
        ("code", "def f():\n    return 1 / 0\nf()"),
        ("code", "y = 3"),
        ("markdown", "```text\nnot code\n```"),
    ]
    assert notebook(PAGE)["cells"][2]["metadata"] == {"tags": ["raises-exception"]}


def test_the_code_of_every_notebook_is_code(tmp_path: Path):
    paths = write(tmp_path)
    assert len(paths) == len(PAGES)
    for path in paths:
        made = json.loads(path.read_text(encoding="utf-8"))
        code = [cell["source"] for cell in made["cells"] if cell["cell_type"] == "code"]
        assert len(code) > 3, path.name
        for source in code:
            ast.parse(source)
