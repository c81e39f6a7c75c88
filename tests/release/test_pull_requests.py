"""What the gate answers about the pull requests of an ordinary week: a row for each situation, with real git."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from tests.release.conftest import JUDGE, Shop, judged, rubric

ASKED = "id: asked\nversion: {}\nquestions:\n- {{id: hi, input: {}, rubric_ref: rubric/tone@1.0.0}}\n"
LISTED = "id: listed\nversion: {}\nrows: listed.jsonl\ndefaults: {{rubric_ref: rubric/tone@1.0.0}}\n"
EXAMPLES = "examples:\n  - {output: Please do., verdict: pass}\n"
QUIET = "rules: {judge-unvalidated: off}\n"  # the judge of this store is nobody's concern here
TARGET = QUIET + "targets:\n  desk: {dataset: dataset/asked@1.0.0}\n"


@dataclass(frozen=True)
class Desk(Shop):
    """A clone on the branch `work`, which began at `main`."""

    cli: Callable[..., Any] = print

    def commit(self, message: str = "An edit") -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)

    def edit(self, path: str, old: str, new: str) -> None:
        text = self.read(path).decode()
        assert old in text, text
        self.write(path, text.replace(old, new, 1))

    def release(self, *refs: str, **options: Any) -> None:
        self.commit("before a release")
        self.bump(*refs, **options)


@pytest.fixture
def desk(git: Callable[..., str], cli: Callable[..., Any], template: Callable[..., Any], tmp_path: Any) -> Desk:
    made = Desk(tmp_path / "repo", git, "", cli)

    def build() -> None:
        git("--version")
        made.write("evalstore.yaml", TARGET)
        made.write("rubrics/tone.yaml", rubric())
        made.write("rubrics/plain.yaml", rubric("plain", ban="very") + EXAMPLES)
        made.write("judges/accuracy.yaml", JUDGE)
        made.write("rubrics/reviewed.yaml", judged())
        made.write("datasets/asked.yaml", ASKED.format("1.0.0", "Hello?"))
        made.write("datasets/listed.yaml", LISTED.format("1.0.0"))
        made.write("datasets/listed.jsonl", '{"id": "a", "input": "Why?"}\n')
        made.release()
        made.commit("The store")
        made.git("branch", "-M", "main")
        made.git("checkout", "-q", "-b", "work")

    template("a store for pull requests", build)
    return made


def change(desk: Desk, word: str = "just", version: str = "1.0.0") -> None:
    desk.write("rubrics/tone.yaml", rubric(ban=word, version=version))


def say_now(desk: Desk, word: str) -> None:
    """Change what the rubric bans, whatever version its file has."""
    text = desk.read("rubrics/tone.yaml").decode()
    before = text.partition("values: [")[2].partition("]")[0]
    desk.edit("rubrics/tone.yaml", f"values: [{before}]", f"values: [{word}]")


def nothing(desk: Desk) -> None:
    desk.write("notes.md", "An innocent page.\n")
    desk.commit()


def edit_alone(desk: Desk) -> None:
    change(desk)
    desk.commit()


def bump(desk: Desk) -> None:
    change(desk)
    desk.release("rubric/tone")


def number_by_hand(desk: Desk) -> None:
    change(desk, version="2.0.0")
    desk.commit()


def number_too_small(desk: Desk) -> None:
    change(desk, version="1.0.1")
    desk.commit()


def edit_after_bump(desk: Desk) -> None:
    bump(desk)
    say_now(desk, "only")
    desk.commit("As in any review")


def title_after_bump(desk: Desk) -> None:
    bump(desk)
    desk.edit("rubrics/tone.yaml", "title: Tone", "title: Our tone")
    desk.commit("As in any review")


def comment_after_bump(desk: Desk) -> None:
    bump(desk)
    desk.edit("rubrics/tone.yaml", "# How we talk", "# How we talk to people")
    desk.commit()


def edit_and_undo_after_bump(desk: Desk) -> None:
    edit_after_bump(desk)
    say_now(desk, "just")
    desk.commit("Taken back")


def edit_after_bump_and_bump(desk: Desk) -> None:
    edit_after_bump(desk)
    desk.bump("rubric/tone")


def edit_rows_after_bump(desk: Desk) -> None:
    desk.write("datasets/listed.jsonl", '{"id": "a", "input": "When?"}\n')
    desk.release("dataset/listed")
    desk.write("datasets/listed.jsonl", '{"id": "a", "input": "Where?"}\n')
    desk.commit()


def edit_uncommitted_after_bump(desk: Desk) -> None:
    bump(desk)
    say_now(desk, "only")


def new_artifact(desk: Desk) -> None:
    desk.write("rubrics/fresh.yaml", rubric("fresh", ban="such"))
    desk.commit()


def new_released(desk: Desk) -> None:
    desk.write("rubrics/fresh.yaml", rubric("fresh", ban="such"))
    desk.release("rubric/fresh")


def new_edited_after_release(desk: Desk) -> None:
    new_released(desk)
    desk.edit("rubrics/fresh.yaml", "[such]", "[such, so]")
    desk.commit()


def candidate(desk: Desk) -> None:
    change(desk)
    desk.release("rubric/tone", pre="rc")


def edit_after_candidate(desk: Desk) -> None:
    candidate(desk)
    say_now(desk, "only")
    desk.commit()


def candidate_merged(desk: Desk) -> None:
    """The base has the candidate, and the next request is an innocent one."""
    candidate(desk)
    desk.git("branch", "-f", "main", "work")
    nothing(desk)


def second_candidate(desk: Desk) -> None:
    edit_after_candidate(desk)
    desk.bump("rubric/tone", pre="rc")


def candidate_then_final(desk: Desk) -> None:
    candidate(desk)
    desk.bump("rubric/tone", level="major")


def candidate_too_small(desk: Desk) -> None:
    """A pre-release by hand whose final version would be too low."""
    change(desk, version="1.0.1-rc.1")
    desk.commit()


def squash(desk: Desk) -> None:
    edit_after_bump_and_bump(desk)
    desk.git("reset", "-q", "--soft", "main")
    desk.commit("All in one")


def squash_with_edit(desk: Desk) -> None:
    edit_after_bump(desk)
    desk.git("reset", "-q", "--soft", "main")
    desk.commit("All in one")


def rebase(desk: Desk) -> None:
    bump(desk)
    desk.git("checkout", "-q", "main")
    desk.write("notes.md", "Meanwhile.\n")
    desk.commit()
    desk.git("checkout", "-q", "work")
    desk.git("rebase", "-q", "main")


def rebase_with_edit(desk: Desk) -> None:
    rebase(desk)
    say_now(desk, "only")
    desk.commit()


def cherry_pick(desk: Desk) -> None:
    bump(desk)
    made = desk.git("rev-parse", "HEAD").strip()
    before = desk.git("rev-parse", "HEAD~1").strip()
    desk.git("checkout", "-q", "-b", "picked", "main")
    desk.git("cherry-pick", before, made)


def revert_release(desk: Desk) -> None:
    """The release and its edit are reverted on the branch that made them."""
    bump(desk)
    desk.git("revert", "--no-edit", "HEAD", "HEAD~1")


def revert_merged(desk: Desk) -> None:
    bump(desk)
    desk.git("branch", "-f", "main", "work")
    desk.git("revert", "--no-edit", "HEAD~1")


def revert_and_bump(desk: Desk) -> None:
    bump(desk)
    desk.git("branch", "-f", "main", "work")
    say_now(desk, "simply")
    desk.release("rubric/tone")


def lower_number(desk: Desk) -> None:
    bump(desk)
    desk.git("branch", "-f", "main", "work")
    change(desk, "only", version="1.5.0")
    desk.commit()


def edit_with_taken_number(desk: Desk) -> None:
    """Another branch has released 2.0.0; this one says 2.0.0 of something else."""
    desk.git("checkout", "-q", "-b", "theirs", "main")
    bump(desk)
    desk.git("checkout", "-q", "work")
    change(desk, "only", version="2.0.0")
    desk.commit()


def merge_of_main(desk: Desk) -> None:
    desk.git("checkout", "-q", "main")
    bump(desk)
    desk.git("checkout", "-q", "work")
    desk.write("notes.md", "Mine.\n")
    desk.commit()
    desk.git("merge", "-q", "--no-edit", "main")


def behind_main(desk: Desk) -> None:
    desk.git("checkout", "-q", "main")
    bump(desk)
    desk.git("checkout", "-q", "work")
    nothing(desk)


def second_store(desk: Desk) -> None:
    """Another store in the repository, with a prefix of its own."""
    desk.write("other/evalstore.yaml", "tag_prefix: other/\n")
    desk.write("other/rubrics/tone.yaml", rubric(ban="rather"))
    desk.commit()


def remove_rubric(desk: Desk) -> None:
    (desk.root / "rubrics/plain.yaml").unlink()
    desk.commit()


def remove_pinned_rubric(desk: Desk) -> None:
    (desk.root / "rubrics/tone.yaml").unlink()
    desk.commit()


def remove_pinned_judge(desk: Desk) -> None:
    (desk.root / "judges/accuracy.yaml").unlink()
    desk.commit()


def remove_dataset_and_target(desk: Desk) -> None:
    (desk.root / "datasets/asked.yaml").unlink()
    desk.write("evalstore.yaml", QUIET)
    desk.commit()


def remove_target(desk: Desk) -> None:
    desk.write("evalstore.yaml", QUIET)
    desk.commit()


def remove_examples(desk: Desk) -> None:
    desk.edit("rubrics/plain.yaml", EXAMPLES, "")
    desk.commit()


def remove_examples_and_bump(desk: Desk) -> None:
    remove_examples(desk)
    desk.bump("rubric/plain")


def leave_a_decoy(desk: Desk) -> None:
    """Most artifacts go elsewhere; settings, ledgers and one rubric stay for CI to look at."""
    for path in ("rubrics/tone.yaml", "rubrics/reviewed.yaml", "judges/accuracy.yaml", "datasets/asked.yaml"):
        target = desk.root / "old" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        (desk.root / path).rename(target)
    desk.write("old/evalstore.yaml", TARGET)
    say = desk.root / "old/rubrics/tone.yaml"
    say.write_text(rubric(ban="anything at all"))
    desk.commit()


def rename_with_line(desk: Desk) -> None:
    text = desk.read("rubrics/plain.yaml").decode()
    (desk.root / "rubrics/plain.yaml").unlink()
    desk.write("rubrics/plainer.yaml", text.replace("id: plain\n", "id: plainer\nrenamed_from: rubric/plain\n"))
    desk.release("rubric/plainer")


class Situation(NamedTuple):
    """What was done on the branch, whether the gate lets it in, whether a strict one does, and what it must say."""

    act: Callable[[Desk], None]
    passes: bool
    strict: bool
    says: str = ""


SITUATIONS = (
    Situation(nothing, True, True),
    Situation(edit_alone, False, False, "needs 2.0.0"),
    Situation(bump, True, True),
    Situation(number_by_hand, True, True),
    Situation(number_too_small, False, False, "too low"),
    Situation(edit_after_bump, False, False, "2.0.0 was released with other content: needs 3.0.0"),
    Situation(title_after_bump, False, False, "2.0.0 was released with other content: needs 2.0.1"),
    Situation(comment_after_bump, True, True),
    Situation(edit_and_undo_after_bump, True, True),
    Situation(edit_after_bump_and_bump, True, True),
    Situation(edit_rows_after_bump, False, False, "2.0.0 was released with other content"),
    Situation(edit_uncommitted_after_bump, False, False, "2.0.0 was released with other content"),
    Situation(new_artifact, True, True),
    Situation(new_released, True, True),
    Situation(new_edited_after_release, False, False, "1.0.0 was released with other content: needs 2.0.0"),
    Situation(candidate, True, True),
    Situation(edit_after_candidate, False, False, "2.0.0-rc.1 was released with other content"),
    Situation(candidate_merged, True, True),
    Situation(second_candidate, True, True),
    Situation(candidate_then_final, True, True),
    Situation(candidate_too_small, False, False),
    Situation(squash, True, True),
    Situation(squash_with_edit, False, False, "was released with other content"),
    Situation(rebase, True, True),
    Situation(rebase_with_edit, False, False, "was released with other content"),
    Situation(cherry_pick, True, True),
    Situation(revert_release, False, False, "ledger"),
    Situation(revert_merged, False, False),
    Situation(revert_and_bump, True, True),
    Situation(lower_number, False, False),
    Situation(edit_with_taken_number, False, False, "2.0.0 was released with other content"),
    Situation(merge_of_main, True, True),
    Situation(behind_main, True, True),
    Situation(second_store, True, True),
    Situation(remove_rubric, True, False, "artifact-removed"),
    Situation(remove_pinned_rubric, True, False, "artifact-removed"),
    Situation(remove_pinned_judge, True, False, "artifact-removed"),
    Situation(remove_dataset_and_target, True, False, "artifact-removed"),
    Situation(remove_target, True, False, "targets: desk"),
    Situation(remove_examples, False, False),
    Situation(remove_examples_and_bump, True, False, "examples-removed"),
    Situation(leave_a_decoy, True, False, "artifact-removed"),
    Situation(rename_with_line, True, True),
)


@pytest.mark.parametrize("situation", SITUATIONS, ids=[one.act.__name__ for one in SITUATIONS])
def test_the_gate_answers_what_is_right(situation: Situation, desk: Desk) -> None:
    situation.act(desk)
    answers = {}
    for options in ((), ("--strict",)):
        ran = desk.cli("-C", desk.root, "gate", "--base", "main", "--format", "json", *options)
        answers[options] = ran
        assert ran.code in {0, 1}, ran.err
    said = answers["--strict",].out
    given = [answers[options].code == 0 for options in ((), ("--strict",))]
    assert given == [situation.passes, situation.strict], json.dumps(json.loads(said), indent=1)[:4000]
    assert situation.says in said, json.dumps(json.loads(said), indent=1)[:4000]
