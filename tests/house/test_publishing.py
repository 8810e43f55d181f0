"""What strangers meet: the name that they install, the forms that they fill in, and the release that they get."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT, project_files, relative
from release import obstacles

import primax

yaml = pytest.importorskip("yaml")
pytestmark = [pytest.mark.any_word_size, pytest.mark.any_jaxlib]

CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# What primax installs and tells others to install, besides what pyproject.toml names.
OTHERS = {"pip", "jax-cuda12-plugin", "jax-cuda13-plugin", "graphviz"}
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
WORKFLOW = ROOT / ".github" / "workflows" / "release.yml"


def _normalized(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[\s<>=!~;\[]", requirement)[0]).lower()


def _declared() -> set[str]:
    project, groups = CONFIG["project"], CONFIG["dependency-groups"]
    lists = [project["dependencies"], *project["optional-dependencies"].values(), *groups.values()]
    return {_normalized(each) for lines in lists for each in lines if isinstance(each, str)}


def _texts() -> dict[str, str]:
    """The text files that users read or run, by name: all but the tests."""
    texts = {}
    for path in project_files():
        if path.suffix not in (".png", ".webp", ".npz") and not path.is_relative_to(ROOT / "tests"):
            texts[relative(path)] = path.read_text(encoding="utf-8")
    return texts


def installed_names(text: str) -> set[str]:
    """What the calls of pip in a text install: names, without paths, variables and the values of options."""
    names = set()
    for call in re.findall(r"\bpip install ((?:\\\n|[^\n`\\])+)", text):
        before = ""
        for word in re.findall(r"""'[^']*'|"[^"]*"|[^\s'"]+|['"]""", call):
            if re.match(r"""&&|[|#;]|['"](\s|$)""", word):  # another command, or the end of the text around the call
                break
            is_value = before in ("-e", "--editable", "--group", "-r", "--requirement", "--target", "--python")
            before = word.strip("'\"")
            if re.fullmatch(r"[A-Za-z][\w.-]*(\[[\w,-]+\])?([<>=!~].*)?", before) and not is_value:
                names.add(_normalized(before))
    return names


def test_names_are_found_in_calls_of_pip() -> None:
    text = "Run `pip install -e . --group test && pytest`.\n    pip install ../x 'one[a]==1' two>=2  # three\n"
    assert installed_names(text + '"pip install Four_4"\n"pip install \'five[a]\'"') == {
        "one",
        "two",
        "four-4",
        "five",
    }


def test_no_text_tells_users_to_install_what_is_not_ours() -> None:
    known = {_normalized(CONFIG["project"]["name"]), *_declared(), *OTHERS}
    wrong = []
    for name, text in _texts().items():
        wrong += [f"{name}: pip install {each}" for each in installed_names(text) - known]
        found = re.findall(r"""["'](primax(?:[-_]\w+)*)(?=\s*[<>=~!])""", text)
        wrong += [f"{name}: requires {each}" for each in found if _normalized(each) not in known]
    assert wrong == []


def test_every_package_here_that_needs_primax_asks_for_the_right_distribution() -> None:
    files = [*(ROOT / "examples").glob("*/pyproject.toml"), *(ROOT / "extend").rglob("pyproject.toml.in")]
    assert len(files) >= 6
    for file in files:
        asked = re.findall(r'"(primax[^">=]*)>=', file.read_text(encoding="utf-8"))
        assert asked == ["primax-core"], file


def test_no_file_names_the_host_of_a_registry() -> None:
    hosts = re.compile(r"\b(?:test\.)?pypi\.(?:org|python)|python" r"hosted|anaconda\.org|registry\.npmjs|\bghcr\.io")
    assert [name for name, text in _texts().items() if hosts.search(text)] == []


def test_the_version_has_one_place() -> None:
    places = [
        name
        for name, text in _texts().items()
        if re.search(rf"(?m)^\W*(?:__)?version(?:__)?\W+{re.escape(primax.__version__)}\b", text)
    ]
    others = ["docs/authors/packaging.md", "extend/commands/skeleton/pyproject.toml.in"]  # of packages with plugins
    assert places == ["api/__init__.py", *others]


# Pages that `make docs` makes from the code, and whose links it checks.
MADE = re.compile(r"docs/reference/(?:api/|primitives/|(?:rules|options|commands|jax-names|jax-names-further)\.md$)")


def test_every_link_of_a_page_to_a_file_leads_there() -> None:
    wrong = []
    for name, text in _texts().items():
        if name.endswith(".md"):
            for link in re.findall(r"(?<=\]\()[^()\s]+(?=\))", re.sub(r"(?s)```.*?```|`[^`]*`", "", text)):
                target = link.partition("#")[0]
                path = os.path.normpath(Path(name).parent / target)
                if target and "://" not in target and not (ROOT / path).exists() and not MADE.match(path):
                    wrong.append(f"{name}: {link}")
    assert wrong == []


@pytest.mark.parametrize("path", [path for path in FORMS if path.stem != "config"], ids=lambda path: path.stem)
def test_a_form_for_issues_is_well_formed(path: Path) -> None:
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert form.keys() == {"name", "description", "labels", "body"}
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields)
    assert all(field["type"] in ("textarea", "checkboxes") and field["attributes"]["label"] for field in fields)
    for command in re.findall(r"`primax (\S+)[^`]*`", str(form)):
        assert command in ("plugins", "port", "as-jax")


def _workflow() -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    return found


def test_a_tag_is_tested_built_and_published_without_a_password() -> None:
    workflow = _workflow()
    assert workflow[True] == {"push": {"tags": ["v*"]}}  # YAML reads `on` as true
    assert workflow["permissions"] == {}
    jobs = workflow["jobs"]
    assert jobs["publish"]["needs"] == ["test", "build"]
    rights = {name: job["permissions"] for name, job in jobs.items()}
    reads = {"contents": "read"}
    assert rights == {"test": reads, "build": reads, "site": reads, "publish": {"id-token": "write"}}
    assert "secrets." not in WORKFLOW.read_text(encoding="utf-8")


def test_the_workflow_uses_each_python_that_the_package_names_and_targets_that_exist() -> None:
    workflow = _workflow()
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(CONFIG["project"]["classifiers"]))
    pythons = [step["with"]["python-version"].split() for step in steps if "python-version" in step.get("with", {})]
    assert pythons == [named, named, named[-1:]]
    commands = [step["run"] for step in steps if "run" in step]
    assert not [command for command in commands if "${{" in command]  # a tag could be a command
    targets = set(re.findall(r"(?m)^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8")))
    for command in commands:
        program, *arguments = command.split()
        assert arguments[0] in targets if program == "make" else (ROOT / program).exists()


def test_a_release_needs_its_tag_its_day_and_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIMAX_REPOSITORY", "https://git.example/primax")
    assert obstacles("v1.2", "1.2", "# Changelog\n\n## 1.2 (2026-01-31)\n") == []
    monkeypatch.delenv("PRIMAX_REPOSITORY")
    tag, day, address = obstacles("v1.3", "1.2", "## 1.2 (not yet released)\n")
    assert "v1.2, as __version__ in api/__init__.py says, got v1.3" in tag
    assert "'## 1.2 (YEAR-MONTH-DAY)'" in day
    assert "PRIMAX_REPOSITORY" in address


def test_the_citation_agrees_with_the_package() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors", "type"} <= citation.keys()
    assert citation["license"] == CONFIG["project"]["license"]
    assert citation["authors"] == CONFIG["project"]["authors"]
