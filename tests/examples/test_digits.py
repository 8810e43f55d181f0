"""`make demo` learns to read digits with a primitive of somebody else's, and writes a report that can be opened."""

from __future__ import annotations

import html
import importlib.util
import re
import shutil
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from checkout import ROOT
from packages import SWISH, copy_of_example, install, run

for needed in ("matplotlib", "sklearn", "tqdm"):
    pytest.importorskip(needed)


EXAMPLES = ROOT / "examples"
BY_GRAPHVIZ = ["step.svg"] if shutil.which("dot") else []
DRAWINGS = [*BY_GRAPHVIZ, "loss.svg", "accuracy.svg", "confusion.svg", "norms.svg", "curves.svg"]
PHOTOGRAPHS = [f"photograph-{i}.webp" for i in range(9)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("digits")
    return install(folder / "site", copy_of_example(SWISH, folder))


def learn(site: Path, folder: Path, *options: str) -> str:
    """What the demo prints; its report is in `folder / "report"`."""
    command = [sys.executable, "-W", "error", "-m", "digits", *options]
    return run(command, folder, PYTHONPATH=f"{site}:{EXAMPLES}").stdout


def test_a_short_run_writes_the_whole_report(site: Path, tmp_path: Path) -> None:
    printed = learn(site, tmp_path, "--epochs", "1", "--limit", "100", "--out", "there")
    assert "the activation: primax-swish 1.0.0, active, primitives swish, swish_slope" in printed
    for part in ("tracing ", "compiling ", "running ", "accuracy on the test digits", str(tmp_path / "there")):
        assert part in printed
    folder = tmp_path / "there"
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert {path.name for path in folder.iterdir()} == {"index.html", *DRAWINGS, *PHOTOGRAPHS}
    assert sorted(re.findall(r'src="([^":]*)"', page)) == sorted([*DRAWINGS, *PHOTOGRAPHS])
    descriptions = re.findall(r'<img (?:class="[^"]*" )?src="[^"]*" alt="([^"]+)">', page)
    assert len(descriptions) == page.count("<img") > 60
    for part in (
        "_swish_jvp(primals",
        "jvp            given",
        "lowering of swish_slope: derived from impl",
        'class="third"',
        "swish_slope",
        "first kernel",
    ):
        assert part in page
    for name in DRAWINGS:
        drawing = (folder / name).read_text(encoding="utf-8")
        assert ElementTree.fromstring(drawing).tag.endswith("}svg")
        assert name in BY_GRAPHVIZ or "prefers-color-scheme: dark" in drawing
    for name in PHOTOGRAPHS:
        assert (folder / name).read_bytes()[8:12] == b"WEBP"
    assert sum(path.stat().st_size for path in folder.iterdir()) < 1_000_000


@pytest.mark.slow
def test_more_than_97_percent_are_read_rightly(site: Path, tmp_path: Path) -> None:
    printed = learn(site, tmp_path)
    seconds = [
        float(found) for found in re.findall(r"^(?:tracing|compiling|running) +([\d.]+) s", printed, re.MULTILINE)
    ]
    assert len(seconds) == 3
    found = re.search(r"accuracy on the test digits: ([\d.]+)%", printed)
    assert found is not None
    assert float(found[1]) > 97
    assert (tmp_path / "report" / "index.html").is_file()


def test_options_that_make_no_sense_are_refused(site: Path, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="--epochs must be 1 or more, got 0"):
        learn(site, tmp_path, "--epochs", "0")


def test_what_is_not_installed_is_named_with_the_way_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"primax_swish cannot be imported\. `make demo` installs everything"):
        learn(tmp_path, tmp_path)


@pytest.mark.slow
def test_the_package_passes_its_own_tests(site: Path, tmp_path: Path) -> None:
    tests = copy_of_example(SWISH, tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", tests]
    assert " passed" in run(command, tmp_path, PYTHONPATH=str(site)).stdout


def test_the_package_and_the_network_use_public_names_only() -> None:
    for source in [*SWISH.rglob("*.py"), *(EXAMPLES / "digits").glob("*.py")]:
        for line in source.read_text(encoding="utf-8").splitlines():
            if line.startswith(("import primax", "from primax")):
                public = (
                    "primax as px",
                    "primax.numpy",
                    "primax.extend",
                    "primax.ad_checkpoint",
                    "primax_swish",
                    "primax_quantized",
                )
                assert any(name in line for name in public), f"{source.name}: {line}"


def test_coloured_code_is_the_code() -> None:
    path = EXAMPLES / "digits" / "sources.py"
    spec = importlib.util.spec_from_file_location("digits_sources", path)
    assert spec is not None
    assert spec.loader is not None
    sources = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sources)
    for each in (path, path.with_name("page.py")):  # with f-strings that contain braces
        text = each.read_text(encoding="utf-8").rstrip("\n")
        colours = re.compile(r'<span class="(?:keyword|string|comment)">|</span>|</?pre>')
        assert html.unescape(colours.sub("", sources.code(text))) == text
