"""The rules of the primitives, checked by primax's conformance kit: a test for each check of each sample."""

from __future__ import annotations

from primax.extend.testing import conformance

test_rules = conformance("quantized")
