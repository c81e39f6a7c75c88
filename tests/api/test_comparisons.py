"""The command and the function compare alike: every case folder of rules, in a store with settings, through both."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore import Diff, Store, compare
from evalstore.cli.diff_sides import parse_file_side
from evalstore.diff import Detail
from evalstore.diff.rules import RULES
from evalstore.documents import read_yaml
from tests.diff.case_pairs import difference
from tests.rows import thin

Cli = Callable[..., Any]

CASES = Path(__file__).parents[1] / "cases" / "diff"
# The command refuses two kinds, which the function compares as plain data.
NAMES = sorted(path.name for path in CASES.iterdir() if not path.name.endswith("--other-kind"))
SETTINGS = "".join(f"  {id_}: {('patch', 'minor')[place % 2]}\n" for place, id_ in enumerate(sorted(RULES)))


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository with a store a case: its two documents, and what they refer to as releases."""
    root = tmp_path_factory.mktemp("stores")

    def git(*argv: str, stdin: str = "") -> str:
        config = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        command = ["git", "-C", str(root), *config, *argv]
        return subprocess.run(command, input=stdin, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "--quiet")
    tags, layers = dict[str, int](), list[list[tuple[Path, bytes]]]()
    for name in NAMES:
        (root / name).mkdir()
        text = f'tag_prefix: "{name}/"\nrules:\n{SETTINGS}'
        (root / name / "evalstore.yaml").write_text(text)
        for side in ("old.yaml", "new.yaml"):
            (root / name / side).write_bytes((CASES / name / side).read_bytes())
        seen: Counter[Path] = Counter()
        for file in sorted((CASES / name / "refs").rglob("*.yaml")):
            kind, data = file.parent.name, file.read_bytes()
            value = read_yaml(data, file.name).value
            path = root / name / f"{kind}s" / f"{value['id']}.yaml"
            if seen[path] == len(layers):
                layers.append([])
            layers[seen[path]].append((path, data))
            tags.setdefault(f"refs/tags/{name}/{kind}/{value['id']}@{value['version']}", seen[path])
            seen[path] += 1
    commits = []
    for layer in layers:
        for path, data in layer:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
        git("add", ".")
        git("commit", "--quiet", "--message=release")
        commits.append(git("rev-parse", "HEAD"))
    git("update-ref", "--stdin", stdin="".join(f"create {tag} {commits[layer]}\n" for tag, layer in tags.items()))
    return root


@pytest.mark.parametrize("name", thin(NAMES, 20))
def test_the_command_and_the_function_say_the_same_of_every_case(stores: Path, cli: Cli, name: str) -> None:
    ran = cli("-C", stores / name, "diff", "old.yaml", "new.yaml", "--format", "json")
    sides = [parse_file_side((CASES / name / side).read_bytes(), side).artifact for side in ("old.yaml", "new.yaml")]
    with Store.open(stores / name) as store:
        document = compare(*sides, store=store).to_dict()
    said = json.loads(ran.out)
    keys = ("required_bump", "next_version", "findings", "total")
    assert [said[key] for key in keys] == [document[key] for key in keys]
    assert all(finding["level"] != "major" for finding in said["findings"])  # each is overridden


TONE = """id: tone
version: 1.0.0
checks:
  - {id: a, kind: must_not_contain, values: [alas]}
scoring: {combine: weighted_avg}
"""


@pytest.fixture
def tone(git: Callable[..., str], tmp_path: Path) -> Path:
    """Return a store with a released rubric that two edits make stricter, and settings that let both be patches."""
    repo = tmp_path / "repo"
    git()
    (repo / "rubrics").mkdir()
    (repo / "rubrics/tone.yaml").write_text(TONE)
    (repo / "evalstore.yaml").write_text("rules: {ban-phrase-added: patch, scoring-required-changed: patch}\n")
    git("add", ".")
    git("commit", "-q", "-m", "begin")
    with Store.open(repo) as store:
        store.release()
    edited = (repo / "rubrics/tone.yaml").read_text().replace("[alas]", "[alas, woe]")
    (repo / "rubrics/tone.yaml").write_text(
        edited.replace("{combine: weighted_avg}", "{combine: weighted_avg, required: [a]}")
    )
    return repo


def test_what_evalstore_yaml_overrides_counts_for_both(tone: Path, cli: Cli) -> None:
    said = json.loads(cli("-C", str(tone), "diff", "rubric/tone", "--format", "json").out)
    with Store.open(tone) as store:
        diff = compare("rubric/tone@1.0.0", "rubric/tone@worktree", store=store)
        assert compare("rubric/tone", "rubric/tone@worktree", store=store).to_dict() == diff.to_dict()
    assert (said["next_version"], diff.next_version) == ("1.0.1", "1.0.1")
    assert diff.to_dict() == said


def test_what_people_accepted_counts_for_both(tone: Path, cli: Cli) -> None:
    (tone / "evalstore.yaml").write_text("{}\n")
    finding = json.loads(cli("-C", str(tone), "diff", "rubric/tone", "--format", "json").out)["findings"][0]
    cli("-C", str(tone), "accept", finding["fingerprint"], "--level", "minor", "--reason", "nobody says it")
    said = json.loads(cli("-C", str(tone), "diff", "rubric/tone", "--format", "json").out)
    with Store.open(tone) as store:
        diff = compare("rubric/tone@1.0.0", "rubric/tone@worktree", store=store)
    assert any(one.accepted for one in diff.findings)
    assert diff.to_dict() == said


def bumps(diff: Diff) -> list[tuple[Any, ...]]:
    return [(one.rule, one.level, one.level_before, one.fingerprint, one.message) for one in diff.findings]


@pytest.mark.parametrize("name", thin(NAMES, 10))
def test_a_comparison_for_the_bump_alone_finds_the_same_bump(name: str) -> None:
    whole, bump = difference(name), difference(name, detail=Detail.BUMP)
    assert (bump.required_bump, bumps(bump)) == (whole.required_bump, bumps(whole))
    assert difference(name, detail=Detail.LEVELS).required_bump == whole.required_bump
