import itertools

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crewflow.graph.dag import (
    critical_path,
    cycles,
    dependents,
    digraph,
    generations,
    path_lengths,
    topological,
)

NAMES = [f"n{index}" for index in range(8)]
GRAPHS = st.lists(st.lists(st.sampled_from(range(8)), max_size=4), min_size=8, max_size=8).map(
    lambda rows: {NAMES[i]: [NAMES[j] for j in row] for i, row in enumerate(rows)}
)
ACYCLIC = GRAPHS.map(
    lambda graph: {name: [one for one in before if one < name] for name, before in graph.items()}
)


def chain(length):
    return {f"t{i}": [f"t{i - 1}"] if i else [] for i in range(length)}


def is_cycle(before, cycle):
    return all(earlier in before[later] for earlier, later in zip(cycle, [*cycle[1:], cycle[0]], strict=True))


@settings(deadline=None)
@given(GRAPHS)
def test_an_order_exists_exactly_where_networkx_finds_no_cycle(before):
    order = topological(before)

    assert (order is not None) == nx.is_directed_acyclic_graph(digraph(before))
    if order is not None:
        place = {node: index for index, node in enumerate(order)}
        assert sorted(order) == sorted(before)
        assert all(place[one] < place[node] for node, names in before.items() for one in names)


@settings(deadline=None)
@given(GRAPHS)
def test_one_true_cycle_is_told_for_each_knot(before):
    knots = [
        knot
        for knot in nx.strongly_connected_components(digraph(before))
        if len(knot) > 1 or any(node in before[node] for node in knot)
    ]
    found = cycles(before)

    assert all(is_cycle(before, cycle) and len(set(cycle)) == len(cycle) for cycle in found)
    assert sorted(map(frozenset, knots), key=sorted) == sorted(
        (next(knot for knot in map(frozenset, knots) if set(cycle) <= knot) for cycle in found), key=sorted
    )


@settings(deadline=None)
@given(GRAPHS)
def test_the_cycle_of_a_knot_is_a_shortest_one(before):
    graph = digraph(before)
    for cycle in cycles(before):
        knot = next(one for one in nx.strongly_connected_components(graph) if set(cycle) <= one)
        assert len(cycle) == min(map(len, nx.simple_cycles(graph.subgraph(knot), length_bound=len(cycle))))


@settings(deadline=None)
@given(ACYCLIC)
def test_the_critical_path_is_as_long_as_the_longest_length(before):
    lengths = path_lengths(before, dict.fromkeys(before, 1.0))
    path = critical_path(before, dict.fromkeys(before, 1.0))

    assert len(path) == max(lengths.values()) == nx.dag_longest_path_length(digraph(before)) + 1
    assert all(earlier in before[later] for earlier, later in itertools.pairwise(path))


@settings(deadline=None)
@given(ACYCLIC)
def test_a_length_is_its_own_and_the_longest_behind_it(before):
    own = {name: float(index + 1) for index, name in enumerate(before)}
    lengths = path_lengths(before, own)

    for node, following in dependents(before).items():
        assert lengths[node] == own[node] + max((lengths[one] for one in following), default=0.0)


def test_a_cycle_begins_with_the_node_that_stands_first():
    assert cycles({"c": ["b"], "b": ["a"], "a": ["c"]}) == [["c", "a", "b"]]


def test_a_node_that_waits_for_itself_is_the_shortest_cycle_of_its_knot():
    assert cycles({"a": ["b"], "b": ["a"], "c": ["a", "c"], "d": ["d", "e"], "e": ["d"]}) == [
        ["a", "b"],
        ["c"],
        ["d"],
    ]


def test_a_doubled_edge_is_one_edge():
    assert topological({"a": [], "b": ["a", "a"]}) == ["a", "b"]
    assert dependents({"a": [], "b": ["a", "a"]}) == {"a": ["b"], "b": []}


def test_layers_hold_what_waits_for_the_layers_before():
    assert generations({"d": ["b", "c"], "b": ["a"], "c": ["a"], "a": [], "e": []}) == [
        ["a", "e"],
        ["b", "c"],
        ["d"],
    ]


@pytest.mark.case("C053")
def test_a_chain_of_ten_thousand_is_ordered_weighed_and_walked():
    before = chain(10_000)

    assert topological(before) == list(before)
    assert path_lengths(before, dict.fromkeys(before, 1.0))["t0"] == 10_000
    assert critical_path(before, dict.fromkeys(before, 1.0)) == list(before)


@pytest.mark.case("C044")
def test_a_ring_of_ten_thousand_is_told_whole():
    before = chain(10_000)
    before["t0"] = ["t9999"]

    assert topological(before) is None
    assert cycles(before) == [list(before)]


@pytest.mark.case("C046")
def test_a_dense_knot_is_not_searched_for_all_of_its_cycles():
    names = [f"n{i}" for i in range(25)]

    assert cycles({name: [one for one in names if one != name] for name in names}) == [["n0", "n1"]]


def test_an_empty_graph_has_nothing():
    assert (topological({}), cycles({}), generations({}), critical_path({}, {})) == ([], [], [], [])
