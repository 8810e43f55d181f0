"""`primax port` on notebooks: cells see each other's imports, and everything else stays as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from primax.__main__ import COMMANDS
from primax.extend.commands import main
from primax.porting.notebooks import rewrite_notebook


def notebook(*sources, **extra):
    cells = [
        {
            "cell_type": kind,
            "metadata": {},
            "source": source,
            **({"outputs": [{"text": ["jax.core"]}]} if kind == "code" else {}),
        }
        for kind, source in sources
    ]
    return {"cells": cells, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, **extra}


def sources(text):
    return [cell["source"] for cell in json.loads(text)["cells"]]


def test_cells_see_the_imports_of_others():
    before = notebook(
        ("markdown", "import jax"),
        ("code", ["import jax\n", "import jax.numpy as jnp"]),
        ("code", "jax.core.Tracer"),
        ("code", []),
        ("code", ["x = jnp.ones(2)\n", "jax.jit(f)(x)\n"]),
    )
    done = rewrite_notebook(json.dumps(before, indent=1))
    assert sources(done.text) == [
        "import jax",
        ["import primax as jax\n", "import primax.numpy as jnp"],
        "jax.extend.core.Tracer",
        [],
        ["x = jnp.ones(2)\n", "jax.jit(f)(x)\n"],
    ]
    assert json.loads(done.text)["cells"][1]["outputs"] == [{"text": ["jax.core"]}]
    assert rewrite_notebook(done.text).text == done.text


def test_lines_for_the_notebook_itself_stay():
    cell = "%matplotlib inline\n!pip install jax\nimport jax\nif True:\n    %time jax.core.Tracer\nout = !ls\njax.jit?"
    timed = "%%time\njax.core.Tracer"
    shell = "%%bash\necho import jax"
    done = rewrite_notebook(json.dumps(notebook(("code", cell), ("code", timed), ("code", shell))))
    assert sources(done.text) == [
        cell.replace("import jax", "import primax as jax"),
        "%%time\njax.extend.core.Tracer",
        shell,
    ]
    assert [each.name for each in done.notes if "not Python" in each.text] == ["cell 3"]


def test_the_form_of_the_file_stays():
    for indent, ascii_only in ((1, False), (2, True), (None, True)):
        before = json.dumps(notebook(("code", "import jax  # é")), indent=indent, ensure_ascii=ascii_only) + "\n"
        assert rewrite_notebook(before).text == before.replace("import jax ", "import primax as jax ")
    untouched = '{"cells":   []}'
    assert rewrite_notebook(untouched).text == untouched


def test_absent_names_are_listed_with_the_line_of_the_code():
    done = rewrite_notebook(json.dumps(notebook(("code", "import jax\n\n"), ("code", "1\njax.curry(f)"))))
    assert [(each.line, each.name) for each in done.absent] == [(5, "jax.curry")]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"cells": [{}]}', "import jax"])
def test_what_is_no_notebook_is_refused(text):
    with pytest.raises(SyntaxError, match="no notebook"):
        rewrite_notebook(text)


def test_the_command_rewrites_notebooks_in_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps(notebook(("code", "import jax")), indent=1), encoding="utf-8")
    (tmp_path / "b.ipynb").write_text("{", encoding="utf-8")
    assert main(["port", str(tmp_path)], further=COMMANDS) == 1
    assert sources(path.read_text(encoding="utf-8")) == ["import primax as jax"]
    assert "b.ipynb: left as it is: no notebook" in capsys.readouterr().out
