"""Audits of runs that `score --worktree` graded: found by digest once the content is committed or released."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from evalstore.audits import Audit, AuditOptions, audit_runs
from evalstore.errors import RefusedError
from evalstore.runs import Run
from evalstore.scoring.judging import Endpoint, Judges
from evalstore.store import ArtifactStore
from tests.audits.conftest import AT, Repo, factor
from tests.conftest import Ran
from tests.scoring.jobs import score

Answers = Callable[..., Path]
FILES = {
    "rubrics/style.yaml": """\
id: style
version: 1.0.0
checks:
  - {id: kind, kind: llm_judge, judge_prompt_ref: judge/tone@1.0.0}
  - {id: ban, kind: must_not_contain, values: [simply]}
  - {id: inner, kind: composite, rubric_ref: rubric/words@1.0.0}
scoring: {combine: weighted_avg}
""",
    "rubrics/words.yaml": """\
id: words
version: 1.0.0
checks: [{id: few, kind: must_not_contain, values: [moreover]}]
scoring: {combine: min}
""",
    "judges/tone.yaml": """\
id: tone
version: 1.0.0
template: "Is it kind? {{ output }}"
model: {id: m}
""",
    "datasets/d.yaml": """\
id: d
version: 1.0.0
defaults: {rubric_ref: rubric/style}
rows: d.jsonl
""",
    "datasets/d.jsonl": '{"id": "one", "input": "One?"}\n{"id": "two", "input": "Two?"}\n',
}
TEXTS = {"one": "simply yes", "two": "moreover no"}
RULERS = ("rubric", "judge", "dataset", "input", "judge_service", "rubric + dataset")


class Trial:
    """A store of files of which nothing is released, and its runs."""

    def __init__(self, repo: Repo, outputs: Path, judges: Judges) -> None:
        self.repo, self.outputs, self.judges = repo, outputs, judges
        for name, text in FILES.items():
            repo.write(name, text)

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.repo.root / name).read_text()
        assert old in text
        self.repo.write(name, text.replace(old, new))

    def commit(self, author: str = "Ada Tester") -> str:
        self.repo.git("add", "-A")
        self.repo.git("commit", "-qm", "Edit", author=author)
        return self.repo.git("rev-parse", "HEAD")

    def score(self, pins: str | None = "unreleased", dataset: str = "dataset/d") -> Run:
        with ArtifactStore.open(self.repo.root) as store:
            return score(
                dataset,
                self.outputs,
                store=store.with_worktree(pins),
                out=self.repo.root.parent / "runs",
                at=AT,
                judges=self.judges,
            )

    def audit(self, a: Run, b: Run) -> Audit:
        with ArtifactStore.open(self.repo.root) as store:
            return audit_runs(a, b, store, AuditOptions())


@pytest.fixture
def trial(repo: Repo, answers: Answers, judge_server: Any) -> Trial:
    judge_server.text = lambda prompt: '{"score": 0.25}' if "Really" in prompt else '{"score": 0.75}'
    return Trial(repo, answers("m", **TEXTS), Judges(Endpoint(judge_server.url), {}))


def list_moved(found: Audit) -> dict[str, Fraction]:
    return {one.name: one.share for one in found.factors if one.changed or one.share}


def test_a_run_of_files_equals_one_of_the_same_content_released(trial: Trial, cli: Callable[..., Ran]) -> None:
    a = trial.score()
    assert a.unreleased
    trial.commit()
    assert cli("bump", "--all", cwd=trial.repo.root).code == 0
    b = trial.score(None, "dataset/d@1.0.0")
    assert not b.unreleased
    for found in (trial.audit(a, b), trial.audit(b, a)):
        assert (found.delta, list_moved(found), found.drift) == (0, {}, ())
        assert sorted(found.notes) == [
            f"{name}@worktree was an unreleased file; its content is that of {name}@1.0.0"
            for name in ("dataset/d", "judge/tone", "rubric/style", "rubric/words")
        ]


def test_a_run_of_files_is_explained_against_the_release_of_another_content(
    trial: Trial, cli: Callable[..., Ran]
) -> None:
    a = trial.score()
    trial.commit()
    trial.edit("judges/tone.yaml", "Is it", "Really, is it")
    trial.edit("rubrics/words.yaml", "[moreover]", "[moreover, 'yes']")
    assert cli("bump", "--all", cwd=trial.repo.root).code == 0
    b = trial.score(None, "dataset/d@1.0.0")
    found = trial.audit(a, b)
    # One output loses a third for its inner check; each loses a third of the half that the judge takes.
    assert list_moved(found) == {"judge": Fraction(-1, 6), "rubric": Fraction(-1, 6)}
    assert found.delta == Fraction(-1, 3)


def test_files_that_changed_between_two_runs_are_attributed_to_their_commits(trial: Trial) -> None:
    trial.commit()
    a = trial.score()
    trial.edit("rubrics/style.yaml", "[simply]", "[simply, moreover]")
    commit = trial.commit("Bob Builder")
    b = trial.score()
    found = trial.audit(a, b)
    assert list_moved(found) == {"rubric": Fraction(-1, 6)}
    (cause,) = factor(found, "rubric").causes
    assert (cause.source.rule, cause.source.origin.commit) == ("ban-phrase-added", commit)
    assert cause.source.origin.author == "Bob Builder"


def test_a_judge_that_changed_between_two_runs_is_an_edit_of_the_judge(trial: Trial) -> None:
    trial.commit()
    a = trial.score()
    trial.edit("judges/tone.yaml", "Is it", "Really, is it")
    commit = trial.commit("Bob Builder")
    b = trial.score("all")
    found = trial.audit(a, b)
    assert list_moved(found) == {"judge": Fraction(-1, 6)}
    assert [cause.source.origin.commit for cause in factor(found, "judge").causes] == [commit]


def test_an_edit_that_is_not_committed_is_attributed_to_nobody_yet(trial: Trial) -> None:
    trial.commit()
    a = trial.score()
    trial.edit("judges/tone.yaml", "Is it", "Really, is it")
    trial.edit("rubrics/style.yaml", "[simply]", "[simply, moreover]")
    found = trial.audit(a, trial.score())
    assert list_moved(found) == {"judge": Fraction(-1, 6), "rubric": Fraction(-1, 6)}
    assert [cause.source.origin.commit for one in found.factors for cause in one.causes] == [None, None]


def test_rows_that_changed_between_two_runs_are_found_though_no_digest_has_them(trial: Trial) -> None:
    trial.commit()
    a = trial.score()
    trial.edit("datasets/d.jsonl", "Two?", "Three?")
    trial.commit()
    b = trial.score()
    assert (a.dataset and a.dataset.digest) == (b.dataset and b.dataset.digest)
    found = trial.audit(a, b)
    assert (found.input_changed, found.drift) == (("two",), ())
    trial.edit("datasets/d.jsonl", "Three?", "Four?")
    c = trial.score()
    assert trial.audit(a, c).input_changed == ("two",)
    trial.edit("datasets/d.jsonl", "Four?", "Five?")
    with pytest.raises(
        RefusedError, match="no release, commit or file has dataset/d@worktree with the content that the run"
    ):
        trial.audit(a, c)


@pytest.mark.parametrize("is_committed", [False, True])
def test_content_that_is_nowhere_is_said_in_a_sentence(trial: Trial, is_committed: bool) -> None:  # noqa: FBT001
    a = trial.score()
    trial.edit("rubrics/style.yaml", "[simply]", "[simply, moreover]")
    if is_committed:
        trial.commit()
    b = trial.score()
    with pytest.raises(RefusedError) as error:
        trial.audit(a, b)
    pinned = next(one for one in a.rubrics if one.ref == "rubric/style@worktree")
    assert error.value.message == (
        f"no release, commit or file has rubric/style@worktree with the content that the run used (digest {pinned.digest[:12]})"
    )
    assert error.value.hint == (
        "restore the file with that digest, or score the outputs with a released version again; "
        "commit a file before you edit it, so that it can be found"
    )


def test_a_pin_means_the_file_only_where_the_run_read_it_so(trial: Trial, cli: Callable[..., Ran]) -> None:
    assert cli("bump", "--all", cwd=trial.repo.root).code == 0
    trial.edit("judges/tone.yaml", "Is it", "Really, is it")
    trial.edit("judges/tone.yaml", "version: 1.0.0", "version: 1.1.0")
    released, whole = trial.score(None, "dataset/d@1.0.0"), trial.score("all", "dataset/d@1.0.0")
    # Every pin of 1.0.0 meant the file, which says 1.1.0.
    assert list_moved(trial.audit(released, whole)) == {"judge": Fraction(-1, 6)}
    trial.edit("rubrics/style.yaml", "judge/tone@1.0.0", "judge/tone@1.1.0")
    trial.edit("rubrics/style.yaml", "version: 1.0.0", "version: 2.0.0")
    trial.edit("datasets/d.yaml", "rubric/style", "rubric/style@2.0.0")
    trial.edit("datasets/d.yaml", "version: 1.0.0", "version: 2.0.0")
    draft = trial.score("unreleased", "dataset/d@2.0.0")
    assert list_moved(trial.audit(released, draft)) == {"judge": Fraction(-1, 6)}
    ran = cli("history", "rubric/style", "--run", draft.path, "--format", "json", cwd=trial.repo.root)
    # Under 1.0.0 of the rubric the judge is the one that 1.0.0 pins.
    assert json.loads(ran.out)["cells"] == [[0.583333333333]]


def test_both_meanings_of_a_judge_in_one_run_are_told_apart(trial: Trial, cli: Callable[..., Ran]) -> None:
    assert cli("bump", "--all", cwd=trial.repo.root).code == 0
    trial.edit("judges/tone.yaml", "Is it", "Really, is it")
    trial.edit("judges/tone.yaml", "version: 1.0.0", "version: 1.1.0")
    trial.edit(
        "rubrics/style.yaml",
        "  - {id: ban",
        "  - {id: other, kind: llm_judge, judge_prompt_ref: judge/tone@1.1.0}\n  - {id: ban",
    )
    trial.edit("rubrics/style.yaml", "version: 1.0.0", "version: 2.0.0")
    trial.edit("datasets/d.yaml", "rubric/style", "rubric/style@2.0.0")
    trial.edit("datasets/d.yaml", "version: 1.0.0", "version: 2.0.0")
    a = trial.score(None, "dataset/d@1.0.0")
    b = trial.score("unreleased", "dataset/d@2.0.0")
    assert [pinned.ref for pinned in b.judges] == ["judge/tone@1.0.0", "judge/tone@worktree"]
    found = trial.audit(a, b)
    assert found.drift == ()
    assert set(list_moved(found)) == {"rubric"}
    replayed = cli("history", b.path, "--rubric", "rubric/style@worktree", "--format", "json", cwd=trial.repo.root)
    # The file pins 1.1.0, which the run says is its file.
    assert json.loads(replayed.out)["moved"] == []
