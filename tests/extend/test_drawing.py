"""Pictures of programs: what is in them, and that Graphviz can read every one."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.extend import core, define_primitive, derive, hookimpl
from primax.extend.drawing import graphviz
from primax.extend.drawing.colors import color_of
from primax.extend.drawing.graph import Box, Graph, Node, build

pytestmark = pytest.mark.usefixtures("in_32_bits")

F32 = np.float32
FAMILIES = [point.name for point in importlib.metadata.entry_points(group="primax")]
needs_graphviz = pytest.mark.skipif(graphviz.installed() is None, reason="Graphviz is not installed")


def graph_of(fun: Any, *args: Any, **options: Any) -> Graph:
    return build(px.make_jaxpr(fun)(*args).jaxpr, **options)


def nodes(box: Box) -> list[Node]:
    """All nodes of a box and of those in it."""
    return [node for part in box.parts for node in ([part] if isinstance(part, Node) else nodes(part))]


def boxes(box: Box) -> list[Box]:
    inner = [part for part in box.parts if isinstance(part, Box)]
    return [*inner, *(each for part in inner for each in boxes(part))]


def paths(graph: Graph) -> set[tuple[str, str]]:
    """Arrows between titles."""
    titles = {node.id: node.title or node.kind for node in nodes(graph.root)}
    return {(titles[edge.source], titles[edge.target]) for edge in graph.edges}


def everything(x: Any, ys: Any) -> Any:
    x = px.lax.cond(x > 0, pnp.sin, lambda x: px.nn.log1mexp(x) * 2.0, x)
    total, zs = px.lax.scan(lambda c, y: (c + y * x, pnp.cos(c)), x, ys)
    looped = px.lax.while_loop(lambda c: c < 3, lambda c: c + 1, x)
    return px.jit(lambda a: pnp.exp(a) / 3)(total) + looped, zs, x, 2.0, np.ones(2, F32) * x


def test_values_flow_from_inputs_through_equations_to_outputs() -> None:
    graph = graph_of(lambda x, y: pnp.sin(x) * y, 1.0, 2.0)
    assert paths(graph) == {("a:f32[]", "sin"), ("sin", "mul"), ("b:f32[]", "mul"), ("mul", "d:f32[]")}
    assert graph.plugins == {"trigonometry": 1, "arithmetic": 1}
    assert {node.kind for node in nodes(graph.root)} == {"input", "equation", "output"}


def test_an_equation_shows_literals_parameters_and_types() -> None:
    by_title = {node.title: node for node in nodes(graph_of(lambda x: 1.0 - pnp.cumsum(x), np.ones(3, F32)).root)}
    assert by_title["sub"].lines == ("1.0, ·", "c:f32[3]")
    assert "b:f32[3]" in by_title["cumsum"].lines
    assert by_title["sub"].note == "c:f32[3] = sub 1.0:f32[] b"


def test_inputs_have_the_names_of_arguments() -> None:
    picture = px.visualize(lambda weights, x: weights["w"] * x, {"w": 2.0}, 3.0)
    assert "weights[&#x27;w&#x27;]" in picture.dot
    assert re.search(r"<B>x</B><BR/><FONT [^>]*>\w+:f32\[\]<", picture.dot)


def test_a_family_has_the_same_colour_in_every_picture() -> None:
    colors = {color_of(name) for name in (*FAMILIES, "kepler", "newton")}
    assert len(colors) == len(FAMILIES) + 2
    for fun in (lambda x: pnp.sin(x) * x, lambda x: x * pnp.sin(x)):
        dot = px.visualize(fun, 1.0).dot
        assert re.search(rf'<B>sin</B>.*fillcolor="{color_of("trigonometry").fill}"', dot)
        assert re.search(rf'<B>mul</B>.*fillcolor="{color_of("arithmetic").fill}"', dot)


def test_the_title_has_the_transformations() -> None:
    def f(x: Any) -> Any:
        return pnp.sin(x).sum()

    titles = {
        "jit(vmap(grad(f)))": px.jit(px.vmap(px.grad(f))),
        "value_and_grad(f)": px.value_and_grad(f),
        "jacfwd(jacrev(f))": px.hessian(f),
        "checkpoint(f)": px.checkpoint(f),
        "f": f,
    }
    assert [px.visualize(fun, np.ones(3, F32)).name for fun in titles.values()] == list(titles)
    assert px.visualize(px.grad(f), np.ones(3, F32), name="slope").name == "slope"


def test_parameters_are_whole() -> None:
    graph = graph_of(lambda x: x[np.array([0, 2])], np.ones(3, F32))
    (node,) = [node for node in nodes(graph.root) if node.title == "gather"]
    text = " ".join(node.lines)
    for name in ("offset_dims", "collapsed_slice_dims", "start_index_map", "slice_sizes", "mode"):
        assert f"{name}=" in text
    assert "…" not in text


def test_calls_are_frames_that_values_flow_through() -> None:
    graph = graph_of(lambda x: px.jit(pnp.sin)(x) + 1.0, 1.0)
    (frame,) = boxes(graph.root)
    assert frame.title == "jit sin"
    assert frame.plugin == "calls"
    assert paths(graph) == {("a:f32[]", "sin"), ("sin", "add"), ("add", "c:f32[]")}


def test_branches_and_loops_have_a_frame_for_each_program() -> None:
    graph = graph_of(everything, 1.0, np.ones(3, F32))
    titles = [box.title for box in boxes(graph.root)]
    for title in ("cond", "if d is True", "if d is False", "scan", "each step", "while", "repeat while this is True"):
        assert title in titles
    assert {("gt", "convert_element_type"), ("lt", "result"), ("sin", "result")} <= paths(graph)
    switched = graph_of(lambda i: px.lax.switch(i, [pnp.sin, pnp.cos, pnp.tan], 1.0), 1)
    assert [box.title for box in boxes(switched.root)][1:] == ["if b is 0", "if b is 1", "if b is 2"]
    assert all(edge.faint for edge in graph.edges if edge.target in _results(graph))


def _results(graph: Graph) -> set[str]:
    return {node.id for node in nodes(graph.root) if node.kind == "result"}


def test_every_edge_joins_nodes_that_are_there_once() -> None:
    def slope(x: Any, ys: Any) -> Any:
        return px.grad(lambda x: px.lax.cond(x > 0, pnp.sin, pnp.cos, px.lax.scan(lambda c, y: (c * y, c), x, ys)[0]))(
            x
        )

    for fun in (everything, slope):
        graph = graph_of(fun, 1.0, np.ones(3, F32))
        ids = [node.id for node in nodes(graph.root)]
        assert len(ids) == len(set(ids))
        assert {end for edge in graph.edges for end in (edge.source, edge.target)} <= set(ids)


def test_depth_leaves_out_programs_within_programs() -> None:
    nested = px.jit(lambda x: px.jit(pnp.sin)(x) + 1.0)
    assert px.visualize(nested, 1.0, depth=0).plugins == {"calls": 1}
    assert px.visualize(nested, 1.0, depth=1).plugins == {"calls": 2, "arithmetic": 1}
    assert px.visualize(nested, 1.0).plugins == {"calls": 2, "arithmetic": 1, "trigonometry": 1}
    assert px.visualize(nested, 1.0, limit=3).plugins == {"calls": 2, "arithmetic": 1}


def test_what_is_too_long_ends_in_one_node() -> None:
    def chain(x: Any) -> Any:
        for _ in range(9):
            x = pnp.sin(x)
        return x

    graph = graph_of(chain, 1.0, limit=4)
    assert graph.equations == 4
    assert ("5 more equations", "j:f32[]") in paths(graph)
    assert ("sin", "5 more equations") in paths(graph)


def test_what_is_written_by_others_is_escaped() -> None:
    strange = core.Primitive('<b> & "x" \\ {y}')
    strange.def_abstract_eval(lambda x, *, note: x)
    picture = px.visualize(lambda x: strange.bind(x, note='</b>"'), 1.0, name='a "b" <c> \\')
    assert "<<b>" not in picture.dot
    assert "note=&lt;/b&gt;&quot;" in picture.dot
    assert picture.dot.startswith('digraph "a \\"b\\" <c> \\\\" {')
    if graphviz.installed():
        assert "&lt;b&gt; &amp; &quot;x&quot; \\ {y}" in picture.svg


@needs_graphviz
def test_graphviz_makes_images_of_it(tmp_path: Path) -> None:
    picture = px.visualize(everything, 1.0, np.ones(3, F32))
    assert picture.save(tmp_path / "all.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert picture.save(str(tmp_path / "all.png")).read_bytes().startswith(b"\x89PNG")
    assert picture.save(tmp_path / "all.pdf").read_bytes().startswith(b"%PDF")
    assert picture.svg[picture.svg.index("<svg") :] in picture._repr_html_()
    (style,) = re.findall(r"<style>(.*)</style>", picture.svg)
    color = color_of("trigonometry")
    assert f'.primax-picture [fill="{color.fill}"] {{fill: {color.dark_fill}}}' in style
    assert 'class="graph primax-picture"' in picture.svg


@needs_graphviz
def test_what_graphviz_says_against_a_text_is_told() -> None:
    with pytest.raises(RuntimeError, match=r"Graphviz failed: .*syntax error"):
        graphviz.render("digraph {", "svg")


def test_without_graphviz_there_is_text_and_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    picture = px.visualize(pnp.sin, 1.0)
    text = picture._repr_html_()
    assert "Not drawn, since Graphviz is not installed: install it (apt install graphviz" in text
    assert re.search(r">sin</b>.* a</div>", text)
    assert picture.save(tmp_path / "sin.gv").read_text(encoding="utf-8") == picture.dot
    with pytest.raises(RuntimeError, match=r"svg needs Graphviz, .*apt install graphviz"):
        picture.save(tmp_path / "sin.svg")


def test_arguments_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="visualize: fun must be a function or a jaxpr, got float"):
        px.visualize(1.0)
    with pytest.raises(TypeError, match="visualize: a jaxpr must come without arguments, got 1"):
        px.visualize(px.make_jaxpr(pnp.sin)(1.0), 1.0)
    with pytest.raises(ValueError, match="visualize: depth must be 0 or more, got -1"):
        px.visualize(pnp.sin, 1.0, depth=-1)
    with pytest.raises(ValueError, match="visualize: limit must be 1 or more, got 0"):
        px.visualize(pnp.sin, 1.0, limit=0)
    with pytest.raises(ValueError, match=r"save: path must end in one of \.dot, .*, got 'sin\.jpg'"):
        px.visualize(pnp.sin, 1.0).save("sin.jpg")


def test_programs_without_equations_or_results_are_drawn() -> None:
    for fun in (lambda x: x, lambda x: None, lambda x: (3.0, np.ones(2, F32)), lambda x: px.debug.print("{}", x)):
        dot = px.visualize(fun, 1.0).dot
        if graphviz.installed():
            subprocess.run(["dot", "-Tcanon"], input=dot.encode(), capture_output=True, check=True)
        assert dot.rstrip().endswith("}")


def test_programs_are_html_that_folds_and_shows_lines() -> None:
    closed = px.make_jaxpr(everything)(1.0, np.ones(3, F32))
    text = closed._repr_html_()
    assert text == closed.jaxpr._repr_html_()
    for tag in ("div", "details", "summary", "i", "b", "style"):
        assert len(re.findall(f"<{tag}[ >]", text)) == text.count(f"</{tag}>"), tag
    assert re.search(
        r'<details open><summary title="cond, of control_flow\n[^"]*test_drawing.py:\d+ \(everything\)', text
    )
    assert "px.lax.cond(x &gt; 0, pnp.sin" in text  # the text of the line
    assert "<div><i>if d is True</i></div>" in text
    assert re.search(rf"--light: {color_of('trigonometry').line}; --dark: \S+\">sin</b>", text)

    def long(x: Any) -> Any:
        for _ in range(13):
            x = pnp.sin(x)
        return x + px.jit(lambda x: x * 2.0)(x)

    folded = px.make_jaxpr(lambda x: px.jit(long)(x) + 1.0)(1.0)._repr_html_()
    assert folded.count("<details>") == folded.count("<details open>") == 1


def test_html_escapes_what_others_write_and_shows_shared_programs_once() -> None:
    strange = core.Primitive("<b>")
    strange.def_abstract_eval(lambda x, *, note: x)
    twice = px.jit(lambda x: strange.bind(x, note='</div>"&'))
    text = px.make_jaxpr(lambda x: twice(twice(x)))(1.0)._repr_html_()
    assert text.count("&lt;b&gt;</b><i>[note=&lt;/div&gt;&quot;&amp;]</i>") == 1
    assert re.search(r"the program that is shown for \w+ = jit<", text)


def test_rules_and_plugins_are_tables_in_notebooks() -> None:
    table = px.plugins.rules("sin", "cumsum")
    assert (len(table), table.status("sin", "transpose"), table.status("cumsum", "jvp")) == (2, "not needed", "given")
    assert repr(table).splitlines()[0].split()[:3] == ["primitive", "plugin", "abstract_eval"]
    text = table._repr_html_()
    assert re.search(r'<tr title="[^"]*"><td><b style="[^"]*">cumsum</b></td><td>cumulative</td><td>\+</td>', text)
    assert len(px.plugins.rules(plugin="trigonometry")) > 10
    assert len(px.plugins.rules("sin", missing=True)) == 0
    with pytest.raises(ValueError, match="there is no primitive 'sinn'; did you mean 'sin'"):
        px.plugins.rules("sinn")
    assert all(f">{name}</b></td><td>built-in</td>" in px.plugins._repr_html_() for name in FAMILIES)


def test_a_plugin_is_a_table_of_its_rules_in_notebooks() -> None:
    class tables:
        @staticmethod
        @hookimpl
        def primax_register(registry: Any) -> None:
            define_primitive("tabled", impl=pnp.sin, abstract_eval=derive.from_impl, registry=registry)

    try:
        text = px.plugins.register(tables, name="<tables>")._repr_html_()
    finally:
        px.plugins.unregister("<tables>")
    assert re.search(r">tabled</b></td><td>impl</td><td>given by &lt;tables&gt;", text)
    assert "plugin &#x27;&lt;tables&gt;&#x27; (tests.extend.test_drawing): active" in text


def test_families_complete_and_load_as_attributes() -> None:
    assert {"register", "rules", "fft", "symbolic_shapes"} <= set(dir(px.plugins))
    assert "samples" not in dir(px.plugins)
    assert px.plugins.fft.fft_p is px.lax.fft_p
    with pytest.raises(AttributeError, match=r"primax\.plugins"):
        _ = px.plugins.nosuch


def test_updates_of_elements_complete() -> None:
    assert px.Array.at.fget.__annotations__["return"] is type(pnp.ones(3).at)  # which completion reads
    assert {"set", "add", "multiply", "get", "apply"} <= set(dir(pnp.ones(3).at[0]))
