from dataclasses import replace

from flows import plan

from crewflow.report.graph import graph_ascii, graph_document, graph_mermaid

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
