import itertools
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from flows import plan

from crewflow.report.graph import graph_ascii, graph_document, graph_mermaid
from crewflow.report.graph_dot import graph_dot
from crewflow.report.graph_svg import graph_svg
from crewflow.report.layout import place, route
from crewflow.report.picture import draw as draw_picture

FLOW = """\
kind: workflow
name: flow
steps:
  end: {run: x}
  subgraph: {run: x, needs: end}
  click: {run: x, needs: [end], after: subgraph, matrix: {v: ['a"b', "[c]"]}}
  none: {run: x, for_each: []}
  last: {run: x, after: [click, none]}
finally:
  class: {run: x}
  style: {run: x, needs: [class, last]}
"""


def test_the_graph_as_text(text_file):
    assert graph_ascii(plan(FLOW)) == text_file


def test_the_graph_as_mermaid(text_file):
    assert graph_mermaid(plan(FLOW)) == text_file


def test_a_graph_without_finally_has_no_heading():
    assert graph_ascii(plan("steps: {a: {run: x}, b: {run: x, needs: a}}\n")) == "  * a\n  |\n  * b   <- a"
    assert "subgraph" not in graph_mermaid(plan("steps: {a: {run: x}}\n"))


def test_many_needs_are_counted():
    rows = "".join(f"  t{i}: {{run: x}}\n" for i in range(40))
    needs = ", ".join(f"t{i}" for i in range(40))
    last = graph_ascii(plan(f"steps:\n{rows}  all: {{run: x, needs: [{needs}]}}\n")).splitlines()[-1]

    assert last == "  * all   <- t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, ... (40 in all)"


def test_a_label_of_mermaid_holds_no_markup():
    made = plan("steps: {a: {run: x}}\n")
    odd = replace(made, steps=(replace(made.steps[0], id='a"]\n<b>`#;&'),))

    assert graph_mermaid(odd).splitlines()[1] == '    s0["a#34;#93;#10;#60;b#62;#96;#35;#59;#38;"]'


def test_a_chain_of_ten_thousand_has_a_picture():
    rows = "".join(f"  t{i}: {{run: x{f', needs: t{i - 1}' if i else ''}}}\n" for i in range(10_000))

    assert len(graph_ascii(plan(f"steps:\n{rows}")).splitlines()) == 19_999


def test_the_graph_as_a_document_has_nodes_and_edges():
    document = graph_document(plan(FLOW))

    assert document["workflow"] == "flow"
    assert document["nodes"][2] == {
        "id": "click",
        "kind": "script",
        "within": None,
        "bound": None,
        "tasks": ['click[a"b]', "click[[c]]"],
        "finally": False,
        "fan_out": True,
    }
    assert document["edges"] == [
        {"from": "end", "to": "subgraph", "kind": "needs"},
        {"from": "end", "to": "click", "kind": "needs"},
        {"from": "subgraph", "to": "click", "kind": "after"},
        {"from": "click", "to": "last", "kind": "after"},
        {"from": "none", "to": "last", "kind": "after"},
        {"from": "class", "to": "style", "kind": "needs"},
        {"from": "last", "to": "style", "kind": "needs"},
    ]


NESTED = """\
kind: workflow
name: nested
steps:
  list: {run: x, outputs: {names: array}}
  test:
    matrix: {python: ["3.11", "3.12"]}
    steps:
      lint: {run: x}
      unit: {needs: lint, after: [], run: x}
      late: {after: [lint], needs: unit, run: x}
  each: {needs: list, for_each: "${{ steps.list.outputs.names }}", steps: {one: {run: x}}}
  many: {needs: test, for_each: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13], run: x}
  ask: {needs: [each], after: many, approval: {message: Ship?}}
finally:
  end: {run: x}
"""


@pytest.mark.parametrize("draw", [graph_ascii, graph_mermaid, graph_dot, graph_svg])
def test_containers_hold_what_is_in_them(draw, text_file):
    assert draw(plan(NESTED)) == text_file


@pytest.mark.parametrize("draw", [graph_ascii, graph_mermaid, graph_dot, graph_svg])
def test_a_run_has_its_states_in_the_picture(draw, text_file):
    made = plan(
        "steps:\n  a: {run: x}\n  b: {for_each: [1, 2], run: x}\n  c: {needs: a, steps: {d: {run: x}}}\n"
    )
    states = {"a": "succeeded", "b[0]": "failed", "b[1]": "running", "c": "pending", "c/d": "pending"}

    assert draw(made, states) == text_file


# --- dot ------------------------------------------------------------------------------------------

_STRING = r'"(?:[^"\\]|\\.)*"'
_ID = rf"(?:\w+|{_STRING})"
_ATTRIBUTES = rf" \[{_ID}={_ID}(?:, {_ID}={_ID})*\]"
_DOT_LINE = re.compile(
    rf"digraph \{{|subgraph cluster_\w+ \{{|\}}|{_ID}={_ID}(?:; {_ID}={_ID})*"
    rf"|\w+(?:{_ATTRIBUTES})?|\w+ -> \w+(?:{_ATTRIBUTES})?"
)


def clusters_and_edges(text):
    """Reads what `graph_dot` writes; fails on a line that is no DOT. Clusters, nodes, edges."""
    clusters, nodes, edges, depth = set(), set(), [], 0
    for line in text.splitlines():
        said = line.strip()
        assert _DOT_LINE.fullmatch(said), said
        depth += said.endswith("{") - (said == "}")
        if said.startswith("subgraph"):
            clusters.add(said.split()[1])
        elif " -> " in said:
            edges.append(said)
        elif re.match(r"n\d+ \[", said):
            nodes.add(said.split()[0])
    assert depth == 0
    return clusters, nodes, edges


@pytest.mark.parametrize("flow", [FLOW, NESTED])
def test_dot_is_well_formed_and_its_lines_end_at_what_there_is(flow):
    clusters, nodes, edges = clusters_and_edges(graph_dot(plan(flow)))

    for edge in edges:
        source, _, target, *facts = re.split(r"[ \[\],]+", edge.rstrip("]"))
        assert {source, target} <= nodes
        assert {fact.split("=")[1] for fact in facts if "cluster" in fact} <= clusters


def test_dot_has_no_way_out_of_a_string():
    made = plan("steps: {a: {run: x}}\n")
    odd = replace(made, workflow='w\\"; x -> y; "\n')

    clusters_and_edges(graph_dot(odd))


# --- svg ------------------------------------------------------------------------------------------


def test_an_svg_is_xml_without_scripts_and_references():
    for flow in (FLOW, NESTED):
        text = graph_svg(plan(flow))
        root = ET.fromstring(text)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert not [
            one for one in root.iter() if one.tag.endswith(("script", "image", "use", "foreignObject"))
        ]
        assert not [
            name for one in root.iter() for name in one.attrib if name.startswith("on") or "href" in name
        ]
        assert text.count("http") == 1  # the name of SVG itself
        assert "prefers-color-scheme:dark" in text


def test_text_is_escaped_in_an_svg():
    made = plan("steps: {a: {run: x}}\n")
    odd = replace(made, workflow="<script>&\x00\x1b\ud800")

    root = ET.fromstring(graph_svg(odd))
    assert root.find("{*}title").text == "<script>&\ufffd\ufffd\ufffd"


@pytest.mark.parametrize("draw", [graph_ascii, graph_mermaid, graph_dot, graph_svg])
def test_the_same_plan_is_the_same_picture(draw):
    assert draw(plan(NESTED)) == draw(plan(NESTED))


def flow_of(count, needs):
    rows = "".join(
        f"  t{i}: {{run: x, needs: [{', '.join(f't{n}' for n in needs(i))}]}}\n" for i in range(count)
    )
    return plan(f"steps:\n{rows}")


@pytest.mark.parametrize(
    "made",
    [
        plan(NESTED),
        plan(FLOW),
        flow_of(200, lambda i: {i // 2, i - 7} - {i, *range(-7, 0)}),
        flow_of(60, lambda i: range(max(0, i - 5), i)),
    ],
    ids=["nested", "flow", "two-hundred", "dense"],
)
def test_boxes_lie_within_their_frame_and_not_upon_each_other(made):
    def check(placed):
        for one in placed.inside:
            assert placed.x <= one.x
            assert one.x + one.width <= placed.x + placed.width + 0.01
            assert placed.y < one.y
            assert one.y + one.height <= placed.y + placed.height
            check(one)
        for a, b in itertools.combinations(placed.inside, 2):
            apart = a.x + a.width <= b.x or b.x + b.width <= a.x
            assert apart or a.y + a.height <= b.y or b.y + b.height <= a.y, (a.box.id, b.box.id)

    check(place(draw_picture(made)))


def test_what_waits_stands_below_what_it_waits_for():
    placed = place(draw_picture(flow_of(50, lambda i: {i // 2} - {i})))
    tops = {one.box.id: one.y for one in placed.inside}

    assert all(tops[line.source] < tops[line.target] for line in placed.box.lines)


def test_a_picture_of_two_hundred_steps_is_no_wider_than_a_page():
    placed = place(draw_picture(flow_of(200, lambda _: ())))

    assert placed.width < 1700
    assert placed.height < 1700


def test_more_than_a_thousand_boxes_are_the_steps_alone():
    legs = ", ".join(map(str, range(12)))
    groups = "".join(
        f"  g{i}: {{for_each: [{legs}], steps: {{a: {{run: x}}, b: {{run: x}}}}}}\n" for i in range(30)
    )
    text = graph_ascii(plan(f"steps:\n{groups}"))

    assert text.splitlines() == [f"  * g{i} (x12)" for i in range(30)]


def test_lines_go_through_no_box_of_the_layers_they_pass():
    made = plan(
        "steps:\n  a: {run: x}\n  g: {needs: a, steps: {b: {run: x}, c: {run: x, needs: b}}}\n"
        "  d: {needs: g, run: x}\n  e: {needs: [a, d], run: x}\n  f: {run: x}\n"
    )
    placed = place(draw_picture(made))
    places = {one.box.id: one for one in placed.inside}
    for line in placed.box.lines:
        points = route(line, places, placed.ways.get(line, []))
        for one in placed.inside:
            if one.box.id not in {line.source, line.target}:
                assert not any(crosses(one, *ends) for ends in itertools.pairwise(points)), (line, one.box.id)


def crosses(placed, start, end):
    """Whether a line comes into a box, by looking at many of its points."""
    (x0, y0), (x1, y1) = start, end
    between = [(x0 + (x1 - x0) * n / 200, y0 + (y1 - y0) * n / 200) for n in range(201)]
    return any(
        placed.x < x < placed.x + placed.width and placed.y < y < placed.y + placed.height for x, y in between
    )
