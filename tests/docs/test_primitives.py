"""Every primitive that the documents show passes the conformance kit, or is there to show what is missing."""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primax as px
from primax import config
from primax.extend import core
from primax.extend.core.samples import sample_sources, samples_of
from primax.extend.testing import Sample, check_primitive

ROOT = Path(__file__).parents[2]
X = np.float32([0.3, -1.2])
Y = np.float32([0.7, 0.4])
POSITIVE = np.abs(X)

BY_THE_PAGE = "the page runs the kit"


def _push(queue: Any, x: Any) -> Any:
    last = queue[-1].copy()
    queue[...] = [x, *queue[:-1]]
    return last


# For each document its primitives: samples, or why it is there as it is.
DOCUMENTS: dict[str, dict[str, list[Sample] | str]] = {
    "README.md": {"gauss": [Sample([X])]},
    "docs/authors/compatibility.md": {"mine": "it shows a warning", "theirs": "it shows a warning"},
    "docs/guide/checkify.md": {"probability": "it shows a rule of the checker, and has no other"},
    "docs/reference/comparison.md": {
        "soft": [Sample([X], {"width": 0.5}), Sample([X], {"width": 2.0})],
        "length": [Sample([X]), Sample([np.zeros(2, np.float32)], singular=True)],
        "bare": "it shows what is missing",
        "cut": "it shows how a mistake is found",
        "first": "it shows how a mistake is found",
        "peek": "it shows an effect, and has no other rules",
    },
    "docs/reference/errors.md": {"twice": "it shows a missing rule", "pair": "it shows a rule that returns too little"},
    "docs/authors/extended-dtypes-lowering.md": {
        "block_scale": BY_THE_PAGE,
        "flip": "it shows a lowering rule, and has no other",
        "first_number": "it shows a lowering rule that is wrong",
        "unmarked": "it shows a lowering rule that is wrong",
    },
    "docs/authors/elementwise.md": {
        "logcosh": BY_THE_PAGE,
        "huber": BY_THE_PAGE,
        "rigid": "it shows a missing rule, and a derivation that fails",
        "count": "it shows an unsupported rule",
    },
    "docs/authors/linear.md": {
        "smooth": BY_THE_PAGE,
        "weigh": BY_THE_PAGE,
        "derived": "it is smooth, with a transpose rule that follows from the impl",
        "forward": "it shows a missing rule",
    },
    "docs/authors/reduction.md": {"rms": BY_THE_PAGE},
    "docs/authors/core-dimensions.md": {
        "apply_matrix": BY_THE_PAGE,
        "apply_equal": "it shows how operands are repeated",
        "apply_wrong": "it shows how a mistake is found",
    },
    "docs/authors/platforms.md": {
        "norm": BY_THE_PAGE,
        "only": "it shows a missing lowering",
        "wrong": "it shows how a mistake is found",
    },
    "docs/authors/checks.md": {"wave": BY_THE_PAGE, "counted": "it shows how a mistake is found"},
    "docs/authors/kinds.md": {
        "extremes": "it shows a dce and a print rule, and has no rules for derivatives",
        "hasty": "it shows a rule that returns too little",
        "careless": "it shows how a mistake is found",
    },
    "docs/authors/generators.md": {"jitter": BY_THE_PAGE},
    "docs/authors/programs.md": {"fixed_point": BY_THE_PAGE},
    "docs/authors/effects.md": {
        "track": BY_THE_PAGE,
        "report": [Sample([X], {"label": "x"})],
        "silent": "it shows how a mistake is found",
        "wrong": "it shows how a mistake is found",
    },
    "docs/kernel/how-it-works.md": {
        "scale": "it has the rules that show what a trace does, and no derivative",
        "untyped": "it shows what is missing",
    },
    "docs/kernel/derivatives.md": {
        "scale": "it shows how a mistake is found",
        "bare": "it shows a missing rule",
        "wrong": "it shows how a mistake is found",
    },
    "docs/kernel/batching.md": {
        "scale": "it shows how a mistake is found",
        "reverse": "it shows a batch rule, and has no derivative",
    },
    "docs/kernel/plugins.md": {
        "scale": [Sample([X], {"factor": factor}, reference=lambda x, *, factor: factor * x) for factor in (3.0, 0.5)],
    },
    "docs/authors/sharding.md": {
        "center": BY_THE_PAGE,
        "product": BY_THE_PAGE,
        "flip": BY_THE_PAGE,
        "lost": "it shows how a mistake is found",
        "misspelt": "it shows how a mistake is found",
    },
    "docs/authors/plugins.md": {
        "sinc": [Sample([X])],
    },
    "docs/reference/porting.md": {"mine": "it shows how a primitive is claimed, and has an impl alone"},
    "docs/start/first-primitive.md": {
        "log_cosh": [Sample([X], reference=lambda x: np.logaddexp(x, -x) - np.log(2))],
        "wrong": "it shows how a mistake is found",
        "bare": "it shows a missing rule",
    },
    "docs/guide/references-rules.md": {
        "push": [Sample([px.new_ref(np.float32([0.3, -1.2, 0.5])), np.float32(0.7)], reference=_push)],
        "last": "it shows a missing rule",
        "sum_up": "it shows a rule that returns too little",
    },
    "docs/guide/symbolic-shapes-rules.md": {
        "twice": "it shows a lowering rule, and has no derivatives",
        "fixed": "it shows a lowering rule that is wrong",
    },
    "docs/authors/types.md": {"line": "it shows rules for programs alone", "parts": "as line"},
    "docs/authors/types-derivatives.md": {
        "line": BY_THE_PAGE,
        "parts": BY_THE_PAGE,
        "steepness": "it shows a missing rule",
    },
    "docs/authors/types-axes.md": {"ints": BY_THE_PAGE, "floats": BY_THE_PAGE},
    "docs/authors/types-arrays.md": {"negative_line": "it shows a rule for another primitive"},
    "docs/authors/samples.md": {"distance": BY_THE_PAGE},
    "docs/authors/testing.md": {
        "decay": BY_THE_PAGE,
        "halve": "it shows how a mistake is found",
        "twice": "it shows how a mistake is found",
    },
    "docs/authors/packaging.md": {"logcosh": "a plugin enters it; it is that of the first page"},
    "docs/authors/rules.md": {
        "soften": BY_THE_PAGE,
        "cube": BY_THE_PAGE,
        "both": "it shows how a mistake is found",
        "neither": "it shows how a mistake is found",
        "misspelt": "it shows how a mistake is found",
    },
    "docs/authors/derivations.md": {
        "entropy": BY_THE_PAGE,
        "bypassed": "it shows how a mistake is found",
        "numpy_sort": "it shows how a mistake is found",
        "sourceless": "it shows how a mistake is found",
    },
    "docs/authors/batch-rules.md": {
        "running": BY_THE_PAGE,
        "sorted": BY_THE_PAGE,
        "product": "it shows how a mistake is found",
        "shares": "it shows how a mistake is found",
    },
    "docs/interpreters/programs-in-programs.md": {
        "repeat": "it shows an interpret rule alone",
        "tag": "as repeat",
        "twice": "it shows what is missing",
    },
    "docs/kernel/add-a-family.md": {
        "cube": [Sample([X], reference=lambda x: x**3)],
        "wrong": "it shows how a mistake is found",
    },
    "docs/kernel/add-a-platform.md": {"relu": "it shows lowerings alone", "other": "it shows what is missing"},
    "docs/kernel/running.md": {"halve": "it shows what is missing", "double": "it shows how a mistake is found"},
    "docs/interpreters/rewriting.md": {"bell": [Sample([X])]},
}


def _primitives(document: str) -> tuple[dict[str, core.Primitive], dict[str, Any]]:
    """What a document has defined, by name, once all of its examples have run."""
    path = ROOT / document
    text = path.read_text(encoding="utf-8")
    test = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, path.name, str(path), 0)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    doctest.DocTestRunner(verbose=False, optionflags=flags).run(test, out=lambda text: None, clear_globs=False)
    found = [value for value in test.globs.values() if isinstance(value, core.Primitive) and value.module == "__main__"]
    return {p.name: p for p in found}, test.globs


def _names(document: str) -> set[str]:
    """The names of the primitives that a document defines."""
    text = (ROOT / document).read_text(encoding="utf-8").replace("\n... ", "")
    return set(re.findall(r'(?:define_primitive|core\.Primitive)\(\s*"(\w+)"', text))


@pytest.fixture
def _without_new_kinds() -> Iterator[None]:
    """Removes the kinds of rules that a document has introduced."""
    kinds = set(core.rule_tables)
    yield
    for kind in core.rule_tables.keys() - kinds:
        del core.rule_tables[kind]


@pytest.mark.usefixtures("_without_new_kinds")
@pytest.mark.skipif(config.enable_x64, reason="the documents show 32-bit results")
@pytest.mark.filterwarnings("ignore:.* are experimental")
@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_primitives_of_a_document_pass_the_kit(document: str) -> None:
    if all(isinstance(samples, str) for samples in DOCUMENTS[document].values()):
        assert _names(document) == DOCUMENTS[document].keys()
        return
    primitives, globs = _primitives(document)
    assert primitives.keys() == DOCUMENTS[document].keys()
    for name, samples in DOCUMENTS[document].items():
        if isinstance(samples, str):
            continue
        primitive = primitives[name]
        registry = core.Registry(document, {})
        if not primitive.has_type_rule():  # it belongs to a plugin
            getattr(globs.get("plugin"), "primax_register", globs.get("primax_register"))(registry)
        given = sample_sources.get(primitive)
        try:
            sample_sources[primitive] = samples
            assert samples_of(primitive)
            check_primitive(primitive)
        finally:
            sample_sources.pop(primitive)
            if given is not None:
                sample_sources[primitive] = given
            registry.roll_back()


def test_no_document_with_primitives_is_left_out() -> None:
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    with_primitives = [
        str(path.relative_to(ROOT))
        for path in paths
        if any(
            line.startswith(">>> ") and ("define_primitive(" in line or "core.Primitive(" in line)
            for line in path.read_text(encoding="utf-8").splitlines()
        )
    ]
    assert sorted(with_primitives) == sorted(DOCUMENTS)
