"""The kinds of fuzzing, by their names for `--kind`: each has a module and a class in it."""

from __future__ import annotations

import importlib

from fuzz.frame import Kind

KINDS: dict[str, str] = {
    "functions": "fuzz.functions:Functions",
    "programs": "fuzz.programs.kind:Programs",
    "files": "fuzz.files:Files",
    "hostile": "fuzz.hostile:Hostiles",
    "meshes": "fuzz.meshes.kind:Meshes",
    "compiled": "fuzz.compiled:Compiled",
    "derivatives": "fuzz.derivatives:Derivatives",
    "references": "fuzz.references:References",
    "user_types": "fuzz.user_types:UserTypes",
}


def load(place: str) -> type[Kind]:
    """The class at a place such as "fuzz.functions:Functions"."""
    module, name = place.split(":")
    return getattr(importlib.import_module(module), name)
