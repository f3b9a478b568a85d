"""The graph of a workflow's steps: what networkx is asked, and what plain counting answers faster.

A graph is given as a mapping from each node to the nodes that come before it. Whether it has a cycle is
decided by counting; networkx is loaded only to say which, or to draw. Nothing here recurses: a chain may
have 10,000 nodes.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import networkx as nx

_MOST_EDGES_WALKED: Final = 1_000_000
"""While the shortest cycle of a knot is looked for; then the shortest one found so far is told."""


def topological(before: Mapping[str, Sequence[str]]) -> list[str] | None:
    """The nodes in an order in which each comes after those it waits for; None if there is a cycle."""
    order = acyclic_part(before)
    return order if len(order) == len(before) else None


def acyclic_part(before: Mapping[str, Sequence[str]]) -> list[str]:
    """The nodes that neither are in a cycle nor wait for one, each after those it waits for."""
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
    return order


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


def critical_path(before: Mapping[str, Sequence[str]], own: Mapping[str, float]) -> list[str]:
    """The nodes of the longest path from a start to an end; of equally long ones the first."""
    lengths = path_lengths(before, own)
    following = dependents(before)
    path: list[str] = []
    ahead = list(before)
    while ahead:
        path.append(max(ahead, key=lengths.__getitem__))
        ahead = following[path[-1]]
    return path


def cycles(before: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """One shortest cycle for each knot of the graph, in the order of the first node of each.

    A cycle is given as its nodes, each needing the one before it, and the first the last; it begins with
    the node that the graph names first. All simple cycles of a dense knot could be exponentially many, so
    they are never listed.
    """
    import networkx as nx  # noqa: PLC0415  (90 ms that a sound graph need not pay)

    graph = digraph(before)
    position = {node: index for index, node in enumerate(before)}
    knots = [
        sorted(knot, key=position.__getitem__)
        for knot in nx.strongly_connected_components(graph)
        if len(knot) > 1 or any(graph.has_edge(node, node) for node in knot)
    ]
    return sorted((_shortest_cycle(before, knot) for knot in knots), key=lambda cycle: position[cycle[0]])


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


def _shortest_cycle(before: Mapping[str, Sequence[str]], knot: list[str]) -> list[str]:
    """The shortest cycle through any node of a knot, whose nodes are in the graph's order."""
    loop = next((node for node in knot if node in before[node]), None)
    if loop is not None:
        return [loop]
    position = {node: index for index, node in enumerate(knot)}
    following = dependents({node: [name for name in before[node] if name in position] for node in knot})
    best: list[str] = []
    budget = _MOST_EDGES_WALKED
    for start in knot:
        found, walked = _cycle_through(start, following, len(best) or len(knot) + 1)
        best = found or best
        budget -= walked
        if len(best) == 2 or budget < 0:  # noqa: PLR2004  (two nodes: none is shorter)
            break
    first = best.index(min(best, key=position.__getitem__))
    return best[first:] + best[:first]


def _cycle_through(
    start: str, following: Mapping[str, Sequence[str]], shorter_than: int
) -> tuple[list[str], int]:
    """The shortest cycle through `start`, none if it is not shorter than that; and how many edges it took.

    Breadth first, so the first way back to the start is a shortest one.
    """
    came_from: dict[str, str] = {}
    layer, walked = [start], 0
    for _ in range(shorter_than - 1):
        reached = []
        for node in layer:
            for dependent in following[node]:
                walked += 1
                if dependent == start:
                    return _way_to(node, start, came_from), walked
                if dependent not in came_from:
                    came_from[dependent] = node
                    reached.append(dependent)
        layer = reached
    return [], walked


def _way_to(node: str, start: str, came_from: Mapping[str, str]) -> list[str]:
    way = [node]
    while way[-1] != start:
        way.append(came_from[way[-1]])
    return way[::-1]
