"""Builds the picture of references between artifacts.

It says what is drawn, in which layers, and what is left out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import chain

from evalstore.model import Kind
from evalstore.site.values import SiteGraph, SiteReference

# A small store is drawn whole; beyond the limits the picture is not readable, and its page would
# exceed 300 kB.
WHOLE_STORE, ARTIFACTS_LIMIT, REFERENCES_LIMIT = 60, 150, 1000
LAYERS = (Kind.DATASET, Kind.RUBRIC, Kind.JUDGE)


def build_graph(
    title: str, names: Sequence[str], references: Collection[SiteReference]
) -> SiteGraph:
    """Return the picture of references between artifacts, and what it leaves out.

    `names` are `<kind>/<id>`.
    """
    known = set(names)
    edges = sorted(
        one for one in references if one.user != one.used and {one.user, one.used} <= known
    )
    degrees = Counter(chain.from_iterable((one.user, one.used) for one in edges))
    kept, notes = [*names], list[str]()
    if len(kept) > WHOLE_STORE:
        kept = [name for name in names if degrees[name]]
        if alone := len(names) - len(kept):
            notes.append(f"Of {len(names):,} artifacts, {alone:,} without references are left out.")
    if len(kept) > ARTIFACTS_LIMIT:
        notes.append(
            f"Of {len(kept):,} artifacts with references, the {ARTIFACTS_LIMIT:,} with the most "
            "are drawn; each artifact's page lists its own."
        )
        kept = sorted(kept, key=lambda name: (-degrees[name], name))[:ARTIFACTS_LIMIT]
    edges = [one for one in edges if {one.user, one.used} <= {*kept}]
    if len(edges) > REFERENCES_LIMIT:
        notes.append(f"Of {len(edges):,} references between them, {REFERENCES_LIMIT:,} are drawn.")
        # Every n-th of them, so that no artifact is left out because of its name.
        edges = [edges[place * len(edges) // REFERENCES_LIMIT] for place in range(REFERENCES_LIMIT)]
    return SiteGraph(title, order_layers(kept, edges), tuple(edges), tuple(notes))


def order_layers(
    names: Collection[str], edges: Collection[SiteReference]
) -> tuple[tuple[str, ...], ...]:
    """Return names by kind, each layer ordered so that few lines cross; empty kinds have no layer.

    Each sweep moves an artifact to the mean place of its neighbours in other layers (Sugiyama's
    barycenter heuristic).
    """
    by_kind = {
        kind: sorted(name for name in names if name.startswith(f"{kind}/")) for kind in LAYERS
    }
    layers = [layer for layer in by_kind.values() if layer]
    neighbours = defaultdict[str, list[str]](list)
    for one in edges:
        if one.user.partition("/")[0] != one.used.partition("/")[0]:
            neighbours[one.user].append(one.used)
            neighbours[one.used].append(one.user)
    for sweep in range(6):
        places = {
            name: (place + 0.5) / len(layer) for layer in layers for place, name in enumerate(layer)
        }
        for layer in layers[:: -1 if sweep % 2 else 1]:
            means = {name: _find_mean(places, neighbours[name], places[name]) for name in layer}
            layer.sort(key=lambda name: (means[name], name))
            places |= {name: (place + 0.5) / len(layer) for place, name in enumerate(layer)}
    return tuple(map(tuple, layers))


def _find_mean(places: Mapping[str, float], names: Sequence[str], default: float) -> float:
    return sum(places[name] for name in names) / len(names) if names else default
