"""The graph of a workflow's steps: what networkx is asked, and what plain counting answers faster.

A graph is given as a mapping from each node to the nodes that come before it. Whether it has a cycle is
decided by counting; networkx is loaded only to say which, or to draw.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import networkx as nx


def topological(before: Mapping[str, Sequence[str]]) -> list[str] | None:
    """The nodes in an order in which each comes after those it waits for; None if there is a cycle."""
    waiting = {node: len(set(names)) for node, names in before.items()}
    following = dependents(before)
    free = deque(node for node, count in waiting.items() if count == 0)
    order = []
    while free:
        node = free.popleft()
        order.append(node)
        for dependent in following[node]:
            waiting[dependent] -= 1
            if waiting[dependent] == 0:
                free.append(dependent)
    return order if len(order) == len(before) else None


def dependents(before: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Each node with the nodes that wait for it, each once."""
    following: dict[str, list[str]] = {node: [] for node in before}
    for node, names in before.items():
        for name in dict.fromkeys(names):
            following[name].append(node)
    return following


def path_lengths(before: Mapping[str, Sequence[str]], own: Mapping[str, float]) -> dict[str, float]:
    """For each node the length of the longest path from it to an end, its own length included.

    This is the weight of list scheduling by critical path (Graham 1969). The graph must be acyclic.
    """
    following = dependents(before)
    lengths: dict[str, float] = {}
    for node in reversed(topological(before) or []):
        lengths[node] = own[node] + max((lengths[name] for name in following[node]), default=0.0)
    return lengths


def cycles(before: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """One shortest cycle for each knot of the graph, in the order of the first node of each.

    A cycle is given as its nodes, each needing the one before it, and the first the last. All simple
    cycles of a dense knot could be exponentially many, so they are never listed.
    """
    import networkx as nx  # noqa: PLC0415  (90 ms that a sound graph need not pay)

    graph = digraph(before)
    position = {node: index for index, node in enumerate(before)}
    found = []
    for knot in nx.strongly_connected_components(graph):
        first = min(knot, key=position.__getitem__)
        if len(knot) > 1 or graph.has_edge(first, first):
            found.append(_shortest_cycle(graph.subgraph(knot), position))
    return sorted(found, key=lambda cycle: position[cycle[0]])


def digraph(before: Mapping[str, Sequence[str]]) -> nx.DiGraph[str]:
    """The same as a networkx graph, edges pointing from what comes before to what waits."""
    import networkx as nx  # noqa: PLC0415  (as above)

    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(before)
    graph.add_edges_from((name, node) for node, names in before.items() for name in names)
    return graph


def generations(before: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The nodes in layers, for pictures alone: a run knows no layers."""
    import networkx as nx  # noqa: PLC0415  (as above)

    position = {node: index for index, node in enumerate(before)}
    return [sorted(layer, key=position.__getitem__) for layer in nx.topological_generations(digraph(before))]


def critical_path(before: Mapping[str, Sequence[str]], own: Mapping[str, float]) -> list[str]:
    """The nodes of the longest path from a start to an end."""
    lengths = path_lengths(before, own)
    following = dependents(before)
    path: list[str] = []
    ahead = list(before)
    while ahead:
        path.append(max(ahead, key=lengths.__getitem__))
        ahead = following[path[-1]]
    return path


def _shortest_cycle(knot: nx.DiGraph[str], position: Mapping[str, int]) -> list[str]:
    import networkx as nx  # noqa: PLC0415  (as above)

    best: list[str] | None = None
    for start in sorted(knot.nodes, key=position.__getitem__)[:50]:
        if knot.has_edge(start, start):
            return [start]
        reached = nx.single_source_shortest_path(knot, start)
        closing = [reached[last] for last in knot.predecessors(start) if last in reached]
        shortest = min(closing, key=len)
        best = shortest if best is None or len(shortest) < len(best) else best
        if len(best) == 2:  # noqa: PLR2004  (two nodes: no shorter one is left)
            break
    return best or []
