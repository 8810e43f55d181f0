"""The drawing of a program before and after discharge shows what primax makes of it."""

from __future__ import annotations

import numpy as np
from discharged import FILE, drawing, programs, update

import primax as px
from primax.extend.core import jaxpr_as_fun


def test_the_drawing_shows_the_programs_and_these_agree() -> None:
    assert FILE.read_text(encoding="utf-8") == drawing(), "run `make surface`"
    total, contents = jaxpr_as_fun(programs()[1])(np.arange(3.0, dtype="f"), np.float32(5))
    ref = px.new_ref(np.arange(3.0, dtype="f"))
    assert px.jit(update)(ref, np.float32(5)) == total
    assert (ref[...] == contents).all()
