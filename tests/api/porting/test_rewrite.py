"""Sources for JAX, rewritten: imports, paths of attributes, and what is left as it is."""

from __future__ import annotations

import textwrap

import pytest

from primax.porting.lookup import find, ported_path
from primax.porting.rewrite import rewrite
from primax.porting.table import public_names


def rewritten(text: str) -> str:
    return rewrite(textwrap.dedent(text)).text


CASES = {
    "import jax": "import primax as jax",
    "import jax as j": "import primax as j",
    "import jax.numpy as jnp": "import primax.numpy as jnp",
    "import os, jax, jax.numpy as jnp  # all": "import os, primax as jax, primax.numpy as jnp  # all",
    "import jax.numpy\njax.numpy.sin": "import primax as jax\njax.numpy.sin",
    "from jax import grad, jit as j": "from primax import grad, jit as j",
    "from jax.numpy import *": "from primax.numpy import *",
    "from jax.core import Tracer": "from primax.extend.core import Tracer",
    "from jax.experimental.shard_map import shard_map": "from primax import shard_map",
    "from jax.experimental.pjit import pjit": "from primax import jit as pjit",
    "from jax import core, lax, vmap": "from primax.extend import core\nfrom primax import lax, vmap",
    "if x: from jax import core, lax, vmap": "if x: from primax.extend import core; from primax import lax, vmap",
    "from jax._src.lib.mlir import ir": "from jaxlib.mlir import ir",
    "import jax\njax.core.Tracer": "import primax as jax\njax.extend.core.Tracer",
    "import jax\njax.interpreters.ad.Zero(x)": "import primax as jax\njax.extend.interpreters.ad.Zero(x)",
    "import jax.experimental.pjit as p\np.pjit": "import primax\nimport jax.experimental.pjit as p\nprimax.jit",
    "from jax import core as c\nc.Tracer": "from primax.extend import core as c\nc.Tracer",
    "import jax\ndef f(jax):\n    jax.core.Tracer": "import primax as jax\ndef f(jax):\n    jax.core.Tracer",
    "import jax\n[jax.core for jax in y], jax.core": "import primax as jax\n[jax.core for jax in y], jax.extend.core",
    "def f():\n    global jax\n    import jax\njax.core": (
        "def f():\n    global jax\n    import primax as jax\njax.extend.core"
    ),
    "import jax\nclass A:\n    jax = 1\n    def f(self): jax.core": (
        "import primax as jax\nclass A:\n    jax = 1\n    def f(self): jax.extend.core"
    ),
    "try:\n    import jax\nexcept ImportError:\n    jax = None\njax.core": (
        "try:\n    import primax as jax\nexcept ImportError:\n    jax = None\njax.extend.core"
    ),
    "import jax\ndef f(x: 'jax.core.Tracer | None'): ...": (
        "import primax as jax\ndef f(x: 'jax.extend.core.Tracer | None'): ..."
    ),
    "if TYPE_CHECKING:\n    from jax import Array, core": (
        "if TYPE_CHECKING:\n    from primax.extend import core\n    from primax import Array"
    ),
    "s = 'größe'; import jax; jax.core": "s = 'größe'; import primax as jax; jax.extend.core",
    "from jaxtyping import Array\nfrom .jax import x\nfrom . import jax\njax.core": (
        "from jaxtyping import Array\nfrom .jax import x\nfrom . import jax\njax.core"
    ),
    "import jaxlib, jaxtyping": "import jaxlib, jaxtyping",
    "import jax.scipy.stats.norm as n\nn.pdf": "from primax.scipy.stats import norm as n\nn.pdf",
    "import os, jax.scipy.stats.norm as norm, jax as j": (
        "import os, primax as j\nfrom primax.scipy.stats import norm"
    ),
    "if x: from jax.scipy.stats.norm import cdf, pdf as p": (
        "if x: from primax.scipy.stats import norm as _norm; cdf, p = _norm.cdf, _norm.pdf"
    ),
    # Names that JAX has removed.
    "import jax\njax.tree_map(f, x)": "import primax as jax\njax.tree_util.tree_map(f, x)",
    "from jax import jit, tree_map": "from primax.tree_util import tree_map\nfrom primax import jit",
    "from jax.config import config\nconfig.x": "from primax import config\nconfig.x",
    "import jax\njax.experimental.stax.Relu": "import primax as jax\njax.example_libraries.stax.Relu",
    "import jax.experimental.stax as s\ns.Relu": "import primax.example_libraries.stax as s\ns.Relu",
    "from jax.experimental import maps as m\nm.Mesh": (
        "import primax.sharding\nfrom jax.experimental import maps as m\nprimax.sharding.Mesh"
    ),
    "from jax.lib import xla_bridge\nxla_bridge.devices()": (
        "import primax\nfrom primax.extend import backend as xla_bridge\nprimax.devices()"
    ),
    "import jax.numpy as jnp\njnp.trapz, jnp.DeviceArray": (
        "import primax\nimport primax.numpy as jnp\njnp.trapezoid, primax.Array"
    ),
    "from jax import partial": "from functools import partial",
    "import jax.scipy.stats.norm\njax.scipy.stats.norm.pdf": "import primax as jax\njax.scipy.stats.norm.pdf",
}


@pytest.mark.parametrize("text", CASES)
def test_a_source_is_rewritten(text: str) -> None:
    assert rewrite(text).text == CASES[text]


def test_what_is_rewritten_is_not_rewritten_again() -> None:
    for text in CASES.values():
        if "jax.experimental.pjit" not in text:
            assert rewrite(text).text == text


def test_statements_of_several_lines_keep_their_lines_and_comments() -> None:
    text = """
        from jax import (
            core as c,  # the types
            grad,
            # of batches
            vmap,
            no_collectives,  # for pictures
        )
        from jax import (grad, core,
                         vmap)
        from jax import \\
            grad, vmap
        """
    assert rewritten(text) == textwrap.dedent(
        """
        from jax import no_collectives
        from primax.extend import core as c  # the types # for pictures
        from primax import (
            grad,
            # of batches
            vmap,
        )
        from primax.extend import core
        from primax import (grad,
                         vmap)
        from primax import \\
            grad, vmap
        """
    )


def test_ends_of_lines_and_marks_of_order_stay() -> None:
    text = "\ufeffimport jax\r\nfrom jax import core, lax\r\nx = 1\r\n\tjax"
    assert rewrite(text.replace("\t", "")).text == (
        "\ufeffimport primax as jax\r\nfrom primax.extend import core\r\nfrom primax import lax\r\nx = 1\r\njax"
    )


def test_what_has_no_counterpart_stays_and_is_listed_with_what_to_do() -> None:
    text = """\
        import jax
        from jax.core import Tracer, Value
        import jax.experimental.pallas as pl
        from jax._src.core import trace_state_clean
        jax.curry(f, x); jax.numpy.nonsense
        pl.pallas_call
        """
    done = rewrite(textwrap.dedent(text))
    assert done.text == textwrap.dedent(
        """\
        import primax as jax
        from primax.extend.core import Tracer
        from jax.core import Value
        import jax.experimental.pallas as pl
        from jax._src.core import trace_state_clean
        jax.curry(f, x); jax.numpy.nonsense
        pl.pallas_call
        """
    )
    assert [(each.line, each.name) for each in done.absent] == [
        (2, "jax.core.Value"),
        (3, "jax.experimental.pallas"),
        (4, "jax._src.core.trace_state_clean"),
        (5, "jax.curry"),
        (5, "jax.numpy.nonsense"),
        (6, "jax.experimental.pallas.pallas_call"),
    ]
    reasons = {each.name: each.text for each in done.absent}
    assert "it is private in JAX" in reasons["jax.core.Value"]
    assert reasons["jax._src.core.trace_state_clean"].endswith("`primax as-jax` has it")
    assert "JAX 0.12 does not have it" in reasons["jax.numpy.nonsense"]


def test_modules_of_jax_that_are_objects_are_imported_from_what_they_lie_in() -> None:
    text = """\
        def f():
            from jax.scipy.stats.poisson import pmf, rvs
            from jax.scipy.stats.norm import *
        """
    done = rewrite(textwrap.dedent(text))
    assert done.text == textwrap.dedent(
        """\
        def f():
            from jax.scipy.stats.poisson import rvs
            from primax.scipy.stats import poisson as _poisson
            pmf = _poisson.pmf
            from jax.scipy.stats.norm import *
        """
    )
    assert [each.name for each in done.absent] == ["jax.scipy.stats.poisson.rvs", "jax.scipy.stats.norm"]


def test_what_imports_of_modules_become_can_be_run() -> None:
    for module in public_names():
        if ported_path(module) is not None:
            bound: dict[str, object] = {}
            exec(rewrite(f"import {module} as it\n").text, bound)
            assert bound["it"] is find(str(ported_path(module)))


def test_names_with_two_underscores_are_looked_for_where_they_lie() -> None:
    done = rewrite(
        "import jax\njax.version.__version__\njax.numpy.__name__\njax.lib.__path__, jax.lax.linear_solve_p\n"
    )
    reasons = {(each.line, each.name): each.text for each in done.absent}
    assert list(reasons) == [(2, "jax.version"), (4, "jax.lax.linear_solve_p"), (4, "jax.lib")]
    assert reasons[2, "jax.version"].endswith("use `primax.__version__` for that of primax; `primax as-jax` has it")
    assert reasons[4, "jax.lax.linear_solve_p"].startswith("programs contain the equations of the solver")


def test_releases_that_programs_compare_are_noted() -> None:
    done = rewrite("import jax\nfrom jax import __version__\nif jax.__version_info__ < (0, 4): pass\n")
    assert done.absent == []
    assert [(each.line, each.name) for each in done.notes] == [(2, "jax.__version__"), (3, "jax.__version_info__")]


def test_options_that_are_not_there_are_listed() -> None:
    text = """\
        import jax
        from jax import config as c
        jax.config.update("jax_enable_x64", True)
        c.update("jax_enable_pgle", True); c.read("jax_platforms")
        jax.config.jax_log_compiles, jax.config.jax_platform_name, jax.config.jax_nonsense
        def f(c): c.update("jax_other", 1)
        """
    done = rewrite(textwrap.dedent(text))
    assert [(each.line, each.name) for each in done.absent] == [
        (4, "jax.config.jax_enable_pgle"),
        (5, "jax.config.jax_nonsense"),
    ]
    assert all("the option does not exist" in each.text for each in done.absent)


def test_code_in_strings_is_left_and_noted() -> None:
    text = '''\
        """Doc.

        >>> import jax
        """
        import_module("jax.numpy")
        "jax is fast"
        '''
    done = rewrite(textwrap.dedent(text))
    assert done.text == textwrap.dedent(text)
    assert [(each.line, each.name) for each in done.notes] == [(1, "jax"), (5, "jax.numpy")]


@pytest.mark.parametrize("text", ["def f(:", "x = '\x00'", "print 1"])
def test_what_is_no_python_is_refused(text: str) -> None:
    with pytest.raises(SyntaxError):
        rewrite(text)
