"""Situations of a pull request: what status, verify and the strict gate answer to each, and that they agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from tests.release.shop import JUDGE, Shop, judged, rubric
from tests.rows import thin

EXAMPLES = "examples:\n- {output: plain words, verdict: pass}\n- {output: simply said, verdict: fail}\n"
ASKED = "id: asked\nversion: {version}\nquestions:\n- {{id: hi, input: {input}, rubric_ref: rubric/tone@1.0.0}}\n"
TONE, CALM, DATASET = "rubrics/tone.yaml", "rubrics/calm.yaml", "datasets/asked.yaml"
RULES = "rules: {judge-unvalidated: off}\n"
SETTINGS = RULES + "targets:\n  desk: {dataset: dataset/asked@1.0.0}\n"


@dataclass(frozen=True)
class Request(Shop):
    """A branch that began at `main`, where everything is released."""

    cli: Callable[..., Any] = print

    def answer(self, *argv: str) -> int:
        return int(self.cli("-C", self.root, *argv).code)

    def edit(self, path: str, old: str, new: str) -> None:
        text = self.read(path).decode()
        assert old in text, text
        self.write(path, text.replace(old, new))

    def save(self, message: str = "An edit") -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)

    def change(self, word: str, path: str = TONE) -> None:
        """Commit another banned word: a major change."""
        lines = self.read(path).decode().split("\n")
        self.write(path, "\n".join(f"    values: [{word}]" if "values:" in line else line for line in lines))
        self.save(f"Ban {word}")

    def set_version(self, version: str, path: str = TONE) -> None:
        lines = self.read(path).decode().split("\n")
        self.write(path, "\n".join(f"version: {version}" if "version:" in line else line for line in lines))
        self.save(f"Version {version}")


@pytest.fixture
def request_(git: Callable[..., str], cli: Callable[..., Any], template: Callable[..., Any], tmp_path: Any) -> Request:
    made = Request(tmp_path / "repo", git, "evals", cli)

    def build() -> None:
        git()
        made.write("evalstore.yaml", SETTINGS)
        made.write(TONE, rubric())
        made.write(CALM, rubric("calm") + EXAMPLES)
        made.write("judges/accuracy.yaml", JUDGE)
        made.write("rubrics/reviewed.yaml", judged())
        made.write(DATASET, ASKED.format(version="1.0.0", input="Hello?"))
        made.save("The store")
        made.bump()
        made.git("branch", "-f", "base")

    template("a store for pull requests", build)
    return made


# -- what is not ready: its version was released with other content -----------------------------------------------------


def edit_after_bump(it: Request) -> None:
    it.change("just")
    it.bump()
    it.change("only")


def edit_without_commit_after_bump(it: Request) -> None:
    edit_released = it.read(TONE)
    it.change("just")
    it.bump()
    it.write(TONE, it.read(TONE).replace(b"[just]", b"[only]"))
    assert edit_released != it.read(TONE)


def title_after_bump(it: Request) -> None:
    it.change("just")
    it.bump()
    it.edit(TONE, "title: Tone", "title: Voice")
    it.save()


def new_edited_after_bump(it: Request) -> None:
    it.write("rubrics/fresh.yaml", rubric("fresh"))
    it.bump("rubric/fresh")
    it.change("only", "rubrics/fresh.yaml")


def rows_after_bump(it: Request) -> None:
    it.write(
        "datasets/web.yaml", "id: web\nversion: 1.0.0\nrows: web.jsonl\ndefaults: {rubric_ref: rubric/tone@1.0.0}\n"
    )
    it.write("datasets/web.jsonl", '{"id": "one", "input": "Why?"}\n')
    it.bump("dataset/web")
    it.write("datasets/web.jsonl", '{"id": "one", "input": "How?"}\n')
    it.save()


def judge_after_bump(it: Request) -> None:
    it.edit("judges/accuracy.yaml", "right", "true")
    it.bump("judge/accuracy")
    it.edit("judges/accuracy.yaml", "true", "wrong")
    it.save()


def question_after_bump(it: Request) -> None:
    it.edit(DATASET, "Hello?", "Bye?")
    it.bump("dataset/asked")
    it.edit(DATASET, "Bye?", "Why?")
    it.save()


def revert_content_after_bump(it: Request) -> None:
    """The edit is taken back, and the version that it got is not."""
    it.change("just")
    it.bump()
    it.change("simply")


def too_small_since_the_new_release(it: Request) -> None:
    it.change("just")
    it.bump()
    it.change("only")
    it.set_version("2.0.1")


def candidate_edited(it: Request) -> None:
    it.change("just")
    it.bump(pre="rc")
    it.change("only")


def new_candidate_edited(it: Request) -> None:
    it.write("rubrics/fresh.yaml", rubric("fresh"))
    it.bump("rubric/fresh", pre="rc")
    it.change("only", "rubrics/fresh.yaml")


def candidate_by_hand(it: Request) -> None:
    it.change("just")
    it.set_version("2.0.0-rc.1")


def squash_edited(it: Request) -> None:
    squash(it)
    it.change("only")


def number_of_another_branch(it: Request) -> None:
    """Somebody else released 2.0.0 on a branch of their own."""
    it.git("switch", "-qc", "other")
    it.change("just")
    it.bump()
    it.git("switch", "-q", "-")
    it.change("only")
    it.set_version("2.0.0")


def edit_without_bump(it: Request) -> None:
    it.change("just")


def patch_for_a_major_change(it: Request) -> None:
    it.change("just")
    it.set_version("1.0.1")


def rename_edited_after_bump(it: Request) -> None:
    rename(it)
    it.change("only", "rubrics/serene.yaml")


# -- what is ready ------------------------------------------------------------------------------------------------------


def nothing(it: Request) -> None:
    it.save()


def bump_at_the_end(it: Request) -> None:
    it.change("just")
    it.bump()


def bump_twice(it: Request) -> None:
    bump_at_the_end(it)
    it.change("only")
    it.bump()


def comment_after_bump(it: Request) -> None:
    bump_at_the_end(it)
    it.write(TONE, b"# A word\n" + it.read(TONE))
    it.save()


def new_artifact(it: Request) -> None:
    it.write("rubrics/fresh.yaml", rubric("fresh"))
    it.bump("rubric/fresh")


def new_unreleased(it: Request) -> None:
    it.write("rubrics/fresh.yaml", rubric("fresh"))
    it.save()


def squash(it: Request) -> None:
    bump_at_the_end(it)
    it.git("reset", "-q", "--soft", "base")
    it.save("Squashed")


def rebase(it: Request) -> None:
    bump_at_the_end(it)
    it.git("switch", "-q", "-c", "trunk", "base")
    it.write("../notes.txt", "elsewhere\n")
    it.save()
    it.git("branch", "-f", "base")
    it.git("switch", "-q", "-")
    it.git("rebase", "-q", "base")


def cherry_pick(it: Request) -> None:
    it.change("just")
    it.bump()
    it.git("switch", "-qc", "picked", "base")
    it.git("cherry-pick", "base..@{-1}")


def revert_all(it: Request) -> None:
    it.change("just")
    it.git("revert", "--no-edit", "HEAD")


def candidate(it: Request) -> None:
    it.change("just")
    it.bump(pre="rc")


def second_candidate(it: Request) -> None:
    candidate_edited(it)
    it.bump(pre="rc")


def new_candidate(it: Request) -> None:
    it.write("rubrics/fresh.yaml", rubric("fresh"))
    it.bump("rubric/fresh", pre="rc")


def candidate_squashed(it: Request) -> None:
    candidate(it)
    it.git("reset", "-q", "--soft", "base")
    it.save("Squashed")


def released_by_hand_later(it: Request) -> None:
    """The version is written, and is to be released after the merge."""
    it.change("just")
    it.set_version("2.0.0")


def two_stores(it: Request) -> None:
    it.write("../other/evalstore.yaml", "tag_prefix: other/\n")
    it.write("../other/rubrics/tone.yaml", rubric())
    bump_at_the_end(it)


def rename(it: Request) -> None:
    it.git("mv", "evals/rubrics/calm.yaml", "evals/rubrics/serene.yaml")
    it.edit(
        "rubrics/serene.yaml", "id: calm\nversion: 1.0.0\n", "id: serene\nversion: 1.0.1\nrenamed_from: rubric/calm\n"
    )
    it.save()
    it.bump("rubric/serene")


def more_examples(it: Request) -> None:
    it.write(CALM, it.read(CALM) + b"- {output: fine, verdict: pass}\n")
    it.set_version("1.0.1", CALM)


def note_of_example(it: Request) -> None:
    it.edit(CALM, "words, verdict: pass", "words, verdict: pass, note: short")
    it.set_version("1.0.1", CALM)


def draft_removed(it: Request) -> None:
    it.write("rubrics/draft.yaml", rubric("draft"))
    it.save()
    it.git("branch", "-f", "base")
    it.git("rm", "-q", "evals/rubrics/draft.yaml")
    it.save()


# -- what a strict gate stops: something that was there is gone -------------------------------------------------------------


def decoy(it: Request) -> None:
    """The store moves, and its settings, its ledgers and one rubric stay for CI to look at."""
    it.git("mv", "evals", "old")
    for path in ("evalstore.yaml", ".evalstore", "rubrics/calm.yaml"):
        (it.top / "evals" / path).parent.mkdir(parents=True, exist_ok=True)
        it.git("checkout", "base", "--", f"evals/{path}")
    it.change("only", "../old/rubrics/tone.yaml")


def dataset_and_target(it: Request) -> None:
    it.git("rm", "-q", "evals/datasets/asked.yaml")
    it.write("evalstore.yaml", RULES)
    it.save()


def dataset_alone(it: Request) -> None:
    it.git("rm", "-q", "evals/datasets/asked.yaml")
    it.save()


def pinned_rubric(it: Request) -> None:
    it.git("rm", "-q", "evals/rubrics/tone.yaml")
    it.save()


def pinned_judge(it: Request) -> None:
    it.git("rm", "-q", "evals/judges/accuracy.yaml")
    it.save()


def unpinned_rubric(it: Request) -> None:
    it.git("rm", "-q", "evals/rubrics/calm.yaml")
    it.save()


def rename_undeclared(it: Request) -> None:
    it.git("mv", "evals/rubrics/calm.yaml", "evals/rubrics/serene.yaml")
    it.edit("rubrics/serene.yaml", "id: calm", "id: serene")
    it.save()


def examples_removed(it: Request) -> None:
    it.write(CALM, it.read(CALM).decode().replace(EXAMPLES, ""))
    it.set_version("1.0.1", CALM)


def example_removed(it: Request) -> None:
    it.edit(CALM, "- {output: simply said, verdict: fail}\n", "")
    it.set_version("1.0.1", CALM)


def example_turned(it: Request) -> None:
    it.edit(CALM, "simply said, verdict: fail", "plainly said, verdict: pass")
    it.set_version("1.0.1", CALM)


def examples_removed_and_released(it: Request) -> None:
    examples_removed(it)
    it.bump("rubric/calm")


def target_alone(it: Request) -> None:
    it.write("evalstore.yaml", RULES)
    it.save()


class Situation(NamedTuple):
    """What happened on the branch, and the exit codes of `status --check`, `verify` and `gate --strict`."""

    make: Callable[[Request], None]
    status: int
    verify: int
    gate: int


_DIFFERS = (
    edit_after_bump,
    title_after_bump,
    new_edited_after_bump,
    rows_after_bump,
    judge_after_bump,
    question_after_bump,
    revert_content_after_bump,
    candidate_edited,
    new_candidate_edited,
    squash_edited,
    number_of_another_branch,
    edit_without_bump,
    rename_edited_after_bump,
)
_TOO_SMALL = (too_small_since_the_new_release, candidate_by_hand, patch_for_a_major_change)
_READY = (
    nothing,
    bump_at_the_end,
    bump_twice,
    comment_after_bump,
    new_artifact,
    new_unreleased,
    squash,
    rebase,
    cherry_pick,
    revert_all,
    candidate,
    second_candidate,
    new_candidate,
    candidate_squashed,
    released_by_hand_later,
    two_stores,
    rename,
    more_examples,
    note_of_example,
    draft_removed,
)
_GONE = (
    decoy,
    dataset_and_target,
    dataset_alone,
    pinned_rubric,
    pinned_judge,
    unpinned_rubric,
    rename_undeclared,
    examples_removed,
    example_removed,
    example_turned,
    examples_removed_and_released,
    target_alone,
)
SITUATIONS = [
    *(Situation(make, 1, 1, 1) for make in _DIFFERS),
    Situation(edit_without_commit_after_bump, 1, 0, 1),
    *(Situation(make, 1, 0, 1) for make in _TOO_SMALL),
    *(Situation(make, 0, 0, 0) for make in _READY),
    *(Situation(make, 0, 0, 1) for make in _GONE),
]


def _name(value: Any) -> str:
    return value.__name__ if callable(value) else str(value)


@pytest.mark.parametrize(("make", "status", "verify", "gate"), thin(SITUATIONS, 5), ids=_name)
def test_a_situation_of_a_pull_request(
    request_: Request, make: Callable[[Request], None], status: int, verify: int, gate: int
) -> None:
    make(request_)
    given = (
        request_.answer("status", "--check"),
        request_.answer("verify"),
        request_.answer("gate", "--base", "base", "--strict"),
    )
    assert given == (status, verify, gate), request_.cli("-C", request_.root, "gate", "--base", "base", "--strict").out


def test_what_is_released_and_too_small_now_says_which(request_: Request) -> None:
    too_small_since_the_new_release(request_)
    ran = request_.cli("-C", request_.root, "gate", "--base", "base")
    said = " ".join(ran.out.split())
    assert "2.0.0 is released, and the edit since then needs 3.0.0, but 2.0.1 is too low" in said
    assert "released with other content" not in said
