"""The site: what is made from the code is complete, and faults of pages and docstrings fail the build."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest
from checkout import ROOT
from reference import checks, docstrings, linking, staging
from reference.__main__ import large, told
from reference.formulas import derivative
from reference.names import Entry, entries
from reference.primitives import families
from reference.programs import shown
from reference.signatures import marker, named, signature
from reference.site import write

import primax as px
from primax.extend import core
from primax.extend.core import Registry
from primax.extend.core.samples import samples_of

pytestmark = pytest.mark.any_word_size


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    folder = tmp_path_factory.mktemp("site")
    return folder, write(folder)[1]


def test_the_reference_describes_every_public_name_and_no_docstring_has_a_wrong_entry(site) -> None:
    assert site[1] == []


def test_no_page_of_the_reference_is_too_long(site) -> None:
    sizes = {path.name: path.stat().st_size for path in (site[0] / "docs" / "reference").rglob("*.md")}
    assert len(sizes) > 100
    assert {name: size for name, size in sizes.items() if size > 95_000} == {}


def test_a_page_with_much_html_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "api").mkdir()
    (tmp_path / "api" / "long.html").write_text("x" * 11, encoding="utf-8")
    (tmp_path / "short.html").write_text("x" * 10, encoding="utf-8")
    (fault,) = large(tmp_path, 10)
    assert fault == "api/long.html: 11 bytes are more than 10; split its module into chapters in names.py"


def test_every_primitive_has_a_section(site) -> None:
    for family, members in families().items():
        text = (site[0] / "docs" / "reference" / "primitives" / f"{family}.md").read_text(encoding="utf-8")
        assert [p.name for p in members if f"## {docstrings.escaped(p.name)} {{ #{p.name} }}" not in text] == []


# Their samples are derivatives in forward mode that do not exist, so that there is nothing to lower.
WITHOUT_STABLEHLO = {"custom_lin", "exported_tangents"}


def test_every_primitive_has_a_program_with_stablehlo_or_a_reason_why_not(site) -> None:
    without = set()
    for family, members in families().items():
        text = (site[0] / "docs" / "reference" / "primitives" / f"{family}.md").read_text(encoding="utf-8")
        for primitive in members:
            section = text.partition(f"{{ #{primitive.name} }}")[2].partition("\n## ")[0]
            assert "```text\n{ lambda " in section, primitive.name
            if '??? note "StableHLO"' not in section:
                assert "\nIt has no StableHLO: " in section, primitive.name
                without.add(primitive.name)
    assert without == WITHOUT_STABLEHLO


def test_a_primitive_without_samples_has_a_sentence_in_place_of_a_program() -> None:
    assert shown(core.Primitive("bare")) == ["No program is shown: it has no samples.", ""]


def test_a_name_without_a_page_is_a_fault() -> None:
    page = '## jit { #primax.jit }\n<span id="primax.vmap"></span>'
    assert list(checks.undescribed(["primax.jit", "primax.vmap"], [page])) == []
    (fault,) = checks.undescribed(["primax.jit", "primax.grad"], [page])
    assert fault == "primax.grad: no page of the reference describes it"


def test_an_entry_of_no_parameter_and_a_parameter_without_an_entry_are_faults() -> None:
    def scaled(x, *, by, _unit=1):
        """x times `by`.

        Args:
          x: a number.
          factor: another number.
        """

    assert list(checks.wrong_parameters("scaled", scaled)) == [
        "scaled: the docstring has an entry 'factor', and there is no such parameter",
        "scaled: the docstring has no entry for the parameter 'by', and has some for others",
    ]


def test_too_few_examples_are_a_fault() -> None:
    def shown():
        """One.

        >>> 1
        1
        """

    def told():
        """Two."""

    objects = [Entry("primax.nn", function.__name__, function) for function in (shown, told)]
    shown.__module__ = told.__module__ = "primax.nn"
    assert list(checks.without_example(objects, {"primax.nn": 0.5})) == []
    (fault,) = checks.without_example(objects, {"primax.nn": 0.7})
    assert fault == "primax.nn: 1 of 2 functions have no example: primax.nn.told"


BROKEN = """# Broken

[a page](missing.md), [an anchor](index.md#missing), [both are there](index.md#broken).
"""


def test_broken_links_fail_the_build(tmp_path: Path) -> None:
    pytest.importorskip("zensical")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(BROKEN, encoding="utf-8")
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    (tmp_path / "mkdocs.yml").write_text(text.partition("\nnav:\n")[0], encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", str(tmp_path / "mkdocs.yml")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode != 0
    assert told(done.stdout) == ["index.md:3:10: page does not exist", "index.md:3:44: anchor does not exist"]


def test_docstrings_in_parts() -> None:
    text = """The sum.

Of all `x`, a*b*c.

Args:
  x, y: numbers,
    or arrays.
  *more: others.

Raises:
  TypeError: no.

>>> 1 + 1  # doctest: +SKIP
2

And so:

>>> 2
2"""
    parts = docstrings.parsed(text)
    assert parts.text == "The sum.\n\nOf all `x`, a*b*c."
    assert docstrings.entries(parts.sections["Args"]) == [("x, y", "numbers,\nor arrays."), ("*more", "others.")]
    assert docstrings.described(parts.sections["Args"]) == ["x", "y", "more"]
    assert parts.sections["Raises"] == "TypeError: no."
    assert parts.examples == [("", ">>> 1 + 1\n2"), ("And so:", ">>> 2\n2")]
    assert docstrings.markdown(parts.text) == "The sum.\n\nOf all `x`, a\\*b\\*c."
    assert docstrings.parsed("A.\n\nExamples:\n  >>> 1\n  1\n").examples == [("", ">>> 1\n1")]


def test_signatures_have_types_and_the_marks_between_kinds_of_parameters() -> None:
    def f(a: int, /, b: float = 1.0, *, c: px.Array | None = None) -> str: ...

    assert signature("f", f) == "f(a: int, /, b: float = 1.0, *, c: px.Array | None = None) -> str"


def test_types_in_signatures_are_links(site) -> None:
    def f(a: tuple[Registry, ...], b: Literal["<"] = "<") -> px.Array | None: ...

    page = "reference/api/lax/others.md"
    registry = entries()["primax.extend.core.Registry"]
    array = linking.relative(f"{entries()['primax.Array'].page}#primax.Array", page).replace(".md", ".html")
    place = linking.relative(f"{registry.page}#{registry.path}", page).replace(".md", ".html")
    assert signature("f", f, mark=marker(page, f)) == (
        f"<span class=\"nf\">f</span>(a: tuple[<a href=\"{place}\">Registry</a>, ...], b: Literal['&lt;'] = '&lt;')"
        f' -&gt; <a href="{array}">px.Array</a> | None'
    )
    assert marker(page, f, registry)("Registry") == "Registry"  # not on the section of Registry itself


def test_the_object_counts_that_a_type_means_not_its_name(site) -> None:
    assert named("Literal", lambda: None) is None  # here it is that of typing
    assert named("Literal", core.Jaxpr) is entries()["primax.extend.core.Literal"]
    assert named("DTypeLike", px.numpy.zeros) is entries()["primax.typing.DTypeLike"]
    assert named("primax.core.trace.Tracer", px) is entries()["primax.extend.core.Tracer"]
    assert named("np.dtype", px.numpy.zeros) is named("bool", px.numpy.zeros) is None


def test_broken_links_in_html_are_faults() -> None:
    pages = {"a/b.md": '<a href="../c.html#here">C</a> <a href="#there">D</a>', "c.md": "## C { #here }"}
    (fault,) = checks.broken(pages)
    assert fault == "a/b.md: no page has what the link #there leads to"


def test_pictures_and_files_that_are_not_there_are_faults() -> None:
    text = "![a](../images/a.svg) [b](../../examples/b.py#L1) [c](d.md) [e](https://f.g) `[h](i.py)`"
    faults = checks.missing({"guide/a.md": text, "images/a.svg": b"", "style.css": "[x](y.png)"})
    assert list(faults) == ["guide/a.md: ../../examples/b.py#L1 does not exist"]
    assert len(list(checks.missing({"guide/a.md": text}))) == 2


def test_an_entry_of_the_navigation_without_a_page_is_a_fault() -> None:
    config = "nav:\n  - Home: index.md\n  - Guide:\n    - 1. jit: guide/jit.md\n"
    assert list(checks.leading_nowhere(config, ["index.md", "guide/jit.md"])) == []
    assert list(checks.leading_nowhere(config, ["index.md"])) == ["mkdocs.yml: guide/jit.md does not exist"]


def test_the_page_that_follows_is_that_of_the_navigation() -> None:
    """Pages that one comes from, as from JAX, lead to the guide."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    pages = re.findall(r": ([\w/.-]+\.md)$", text, re.MULTILINE)
    following = dict(itertools.pairwise(pages))
    named = {}
    for page in following:
        path = staging.DOCS / page
        if path.exists() and (found := re.search(r"^Next: \[[^]]*\]\(([^)]*)\)", path.read_text(), re.MULTILINE)):
            named[page] = (path.parent / found[1]).resolve().relative_to(staging.DOCS).as_posix()
    assert len(named) > 100
    assert {page: target for page, target in named.items() if target != following[page]} == {
        f"start/from-{name}.md": "guide/jit.md" for name in ("jax", "numpy", "pytorch")
    }


def test_links_to_files_outside_the_pages_stay_on_the_site() -> None:
    source = staging.DOCS / "guide" / "jit.md"
    files = staging.Files()
    text = "[a](../../plugins/fft.py#L3) [b](vmap.md) [c](../../README.md)\n```\n[d](../../Makefile)\n```\n"
    mended = files.mended(text, source, "guide/jit.md")
    target = "../files/plugins/fft.py.md#L3"
    assert mended == f"[a]({target}) [b](vmap.md) [c](../index.md)\n```\n[d](../../Makefile)\n```\n"
    session = "```python\n>>> 1 / 0\nat <doctest jit.md[...]>:1\n```\n"
    assert files.mended(session, source, "guide/jit.md") == "```pycon\n>>> 1 / 0\nat <stdin>:1\n```\n"
    ((page, shown),) = files.pages()
    assert page == "files/plugins/fft.py.md"
    assert '<span id="L3"></span>' in shown


def test_links_to_names_of_modules_lead_to_the_lines_that_define_them() -> None:
    source = staging.DOCS / "kernel" / "rooms.md"
    files = staging.Files()
    mended = files.mended("[`jit`](../../plugins/calls/jit.py#jit)", source, "kernel/rooms.md")
    line = int(mended.partition("jit.py.md#L")[2].rstrip(")"))
    assert (ROOT / "plugins" / "calls" / "jit.py").read_text().splitlines()[line - 1].startswith("def jit(")
    with pytest.raises(LookupError, match=r"calls/jit\.py defines no tij, which a page links to"):
        files.mended("[`tij`](../../plugins/calls/jit.py#tij)", source, "kernel/rooms.md")


def test_no_page_links_to_a_name_that_is_gone() -> None:
    for page in staging.DOCS.rglob("*.md"):
        staging.Files().mended(page.read_text(encoding="utf-8"), page, page.relative_to(staging.DOCS).as_posix())


def test_names_in_pages_are_links(site) -> None:
    links = linking.Links({})
    place = f"../{entries()['primax.jit'].page}#primax.jit"
    text = "# `px.jit`\n\n`px.jit` and `px.jit(f)`, [`px.jit`](x), `px.jit is`, `px.jit == g`"
    assert links.linked(text, "guide/jit.md") == (
        f"# `px.jit`\n\n[`px.jit`]({place}) and [`px.jit(f)`]({place}), [`px.jit`](x), `px.jit is`, `px.jit == g`"
    )


def test_derivatives_are_read_from_rules() -> None:
    formulas = {p.name: derivative(p, samples_of(p)[0]) for p in families()["trigonometry"]}
    assert formulas["sin"] == "d sin(x) = dx * cos(x)"
    assert formulas["tan"] == "d tan(x) = dx * (tan(x)² + 1)"
