"""Random branches and merges: the origin is one that a walk over the whole history, commit by commit, finds as well."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from evalstore.release.history.artifact_parts import ArtifactPart
from evalstore.release.history.origins import OriginFinder
from evalstore.store import ArtifactStore
from tests.provenance.conftest import Story, ban, brief, rubric

WORDS = ("a", "b", "c", "d")
PARTS = {
    **{word: ArtifactPart("item", "ban", "values", word) for word in WORDS},
    "most": ArtifactPart("param", "brief", "max_chars"),
}
State = dict[str, Any]


def write(state: State) -> dict[str, Any]:
    return rubric("1.0.0", ban("zz", *(word for word in WORDS if state[word])), brief(state["most"]))


def tell(story: Story, draw: random.Random) -> tuple[str, str]:
    """Make a history; return its first and its last commit."""
    first: State = {**dict.fromkeys(WORDS, False), "most": 50}
    branches, here = {"main": first}, "main"
    base = story.change(write(first))
    for number in range(14):
        state, other = dict(branches[here]), draw.choice([*branches])
        if draw.random() < 0.25:
            here = f"b{number}"
            story.git("checkout", "-qb", here)
        elif (
            other != here
            and draw.random() < 0.4
            and story.git("merge-base", here, other) != story.git("rev-parse", other)
        ):
            story.git("merge", "-q", "--no-commit", "-s", "ours", "--no-ff", other)
            state = {key: draw.choice([state[key], branches[other][key]]) for key in state}
            state["d"] ^= draw.random() < 0.2  # an evil merge
            story.change(write(state), "Maint")
        else:
            word = draw.choice(WORDS)
            state |= {word: not state[word], "most": draw.choice([20, 30, 50])}
            story.change(write(state), draw.choice(["Bob", "Cyd"]))
        branches[here] = state
        if draw.random() < 0.4:
            here = draw.choice([*branches])
            story.git("checkout", "-q", here)
    return base, story.git("rev-parse", "HEAD")


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(4))
def test_an_origin_is_where_the_whole_history_has_it(story: Story, seed: int) -> None:
    base, tip = tell(story, random.Random(seed))  # noqa: S311  # histories, not keys
    parents = {line.split()[0]: line.split()[1:] for line in story.git("rev-list", "--parents", tip).splitlines()}
    states: dict[str, State] = {}
    for commit in parents:
        checks = json.loads(story.git("show", f"{commit}:rubrics/r.yaml"))["checks"]
        states[commit] = {**{word: word in checks[0]["values"] for word in WORDS}, "most": checks[1]["max_chars"]}

    def search(commit: str, key: str) -> set[str]:
        equal = [parent for parent in parents[commit] if states[parent][key] == states[commit][key]]
        return set().union(*(search(parent, key) for parent in equal)) if equal else {commit}

    with ArtifactStore.open(story.root) as store:
        old, new = (store.resolve(f"rubric/r@git:{commit}") for commit in (base, tip))
        whole = OriginFinder(store).find_origins(None, new, PARTS.values())
        since = OriginFinder(store).find_origins(old, new, PARTS.values())
    for key, part in PARTS.items():
        if states[tip][key]:
            assert whole[part].commit in search(tip, key), key
        if states[tip][key] != states[base][key]:
            assert since[part].commit in search(tip, key), key
