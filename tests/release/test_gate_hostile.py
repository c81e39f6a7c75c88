"""No change answers for itself: edits by an author of every file of a pull request, each against `evalstore gate`.

An edit that moves a score, a signer or a release is never green. One that loosens what later changes are judged by is a
finding, which a strict gate fails on. One that does neither may pass.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.release.shop import JUDGE, Shop, judged, rubric
from tests.rows import thin

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")

Edit = Callable[["World"], None]

FOLDER = "evals"
SETTINGS = (
    "signed: require\nunpinned: forbid\njudge_max_age_days: 400\ntargets:\n  desk: {dataset: dataset/asked@1.0.0}\n"
)
SIGNERS = ".evalstore/allowed_signers"
SUMS = ".evalstore/sums"
TONE, RUDE = rubric(version="2.0.0", ban="just"), rubric(version="2.0.0", ban="merely")
ASKED = "id: asked\nversion: {version}\nquestions:\n- {{id: hi, input: Hello?, rubric_ref: rubric/tone@{pin}}}\n"
LISTED = "id: listed\nversion: 1.0.0\nrows: listed.jsonl\ndefaults: {rubric_ref: rubric/tone@2.0.0}\n"
ROWS = '{"id": "a", "input": "Why?"}\n{"id": "b", "input": "How?"}\n'
CHAT = '{"type": "object", "properties": {"turns": {"type": "integer", "minimum": 1}}, "required": ["turns"]}'
VALIDATION = "validation: {tpr: 0.9, tnr: 0.9, validated_at: 2026-01-01, validated_against: dataset/asked@1.0.0}\n"


@dataclass(frozen=True)
class World(Shop):
    """A clone of a store whose releases Ada signed, and the keys of Ada and Eve."""

    keys: Path = Path()
    cli: Callable[..., Any] = print

    def gate(self, *options: str) -> Any:
        return self.cli("-C", self.root, "gate", "--base", "base", "--format", "json", *options)

    def use_key(self, name: str) -> None:
        for key, value in (("gpg.format", "ssh"), ("user.signingKey", f"{self.keys / name}.pub")):
            subprocess.run(["git", "config", "--global", key, value], check=True)

    def read_key(self, name: str) -> str:
        return (self.keys / f"{name}.pub").read_text()

    def edit(self, path: str, old: str, new: str) -> None:
        text = self.read(path).decode()
        assert old in text, text
        self.write(path, text.replace(old, new))

    def remove(self, path: str) -> None:
        target = self.root / path
        shutil.rmtree(target) if target.is_dir() else target.unlink()

    def commit(self, message: str = "An edit") -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)

    def release(self, *refs: str, key: str = "ada", **options: Any) -> None:
        self.use_key(key)
        self.commit("before a release")
        self.bump(*refs, **options)


@pytest.fixture
def world(git: Callable[..., str], cli: Callable[..., Any], template: Callable[..., Any], tmp_path: Path) -> World:
    def build() -> str:
        git()
        keys = Path(os.environ.get("TMPDIR", "/tmp"), f"evalstore-keys-{os.getpid()}")  # noqa: S108  # of this process
        keys.mkdir(exist_ok=True)
        for name in ("ada", "eve"):
            if not (keys / name).exists():
                argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"{name}@example.org", "-f"]
                subprocess.run([*argv, str(keys / name)], check=True)
        made = World(tmp_path / "repo", git, FOLDER, keys, cli)
        made.write("evalstore.yaml", SETTINGS)
        made.write(SIGNERS, f"ada@example.org {made.read_key('ada')}")
        made.write("rubrics/tone.yaml", rubric())
        made.write("judges/accuracy.yaml", JUDGE)
        made.write("rubrics/reviewed.yaml", judged(pin="judge/accuracy@^1"))
        made.write("evalstore.yaml", SETTINGS.replace("forbid", "warn"))
        made.release()
        made.write("rubrics/tone.yaml", TONE)
        made.write("datasets/asked.yaml", ASKED.format(version="1.0.0", pin="2.0.0"))
        made.write("datasets/listed.yaml", LISTED)
        made.write("datasets/listed.jsonl", ROWS)
        made.release()
        assert cli("-C", made.root, "lock").code == 0
        made.write("evalstore.yaml", SETTINGS)
        made.write("bundles/chat.schema.json", CHAT)
        made.commit("The store")
        made.git("branch", "base")
        return str(keys)

    keys = Path(template("a store for the gate", build))
    return World(tmp_path / "repo", git, FOLDER, keys, cli)


# -- what moves a score -----------------------------------------------------------------------------------------------


def reword(world: World) -> None:
    world.write("rubrics/tone.yaml", RUDE)


def reword_as_patch(world: World) -> None:
    world.write("rubrics/tone.yaml", rubric(version="2.0.1", ban="merely"))


def override(world: World) -> None:
    reword_as_patch(world)
    world.edit("evalstore.yaml", "signed", "rules: {phrase-reworded: patch}\nsigned")


def override_and_release(world: World) -> None:
    override(world)
    world.release("rubric/tone")


def override_release_and_restore(world: World) -> None:
    """Release by settings that are gone again, and take the change back in the next release."""
    override(world)
    world.release("rubric/tone")
    world.write("evalstore.yaml", SETTINGS)
    world.write("rubrics/tone.yaml", rubric(version="2.0.2", ban="just"))
    world.edit("rubrics/tone.yaml", "title: Tone", "title: Our tone")
    world.edit("evalstore.yaml", "signed", "rules: {phrase-reworded: patch}\nsigned")
    world.release("rubric/tone")
    world.write("evalstore.yaml", SETTINGS)


def accept_own_change(world: World) -> None:
    reword_as_patch(world)
    world.commit()
    found = json.loads(world.cli("-C", world.root, "diff", "rubric/tone", "--format", "json").out)
    print_ = found["findings"][0]["fingerprint"]
    assert world.cli("-C", world.root, "accept", print_, "--level", "patch", "--reason", "mine").code == 0


def accept_and_release(world: World) -> None:
    accept_own_change(world)
    world.release("rubric/tone")


def declare_cosmetic(world: World) -> None:
    text = rubric(version="2.0.1", ban="just").replace("values: [just]", "values: [just, merely]\n    negate: true")
    world.write("rubrics/tone.yaml", text)
    world.edit("evalstore.yaml", "signed", "cosmetic: [values, negate]\nsigned")


def rename_question(world: World) -> None:
    world.write("datasets/asked.yaml", ASKED.format(version="1.0.1", pin="2.0.0").replace("id: hi", "id: bye"))
    world.edit("evalstore.yaml", "signed", "renames: {dataset/asked: {hi: bye}}\nsigned")


def change_question(world: World) -> None:
    world.edit("datasets/asked.yaml", "Hello?", "Goodbye?")


def change_row(world: World) -> None:
    world.edit("datasets/listed.jsonl", "Why?", "When?")


def swap_rows_file(world: World) -> None:
    world.edit("datasets/listed.yaml", "rows: listed.jsonl", "rows: other.jsonl")
    world.write("datasets/other.jsonl", ROWS.replace("Why?", "When?"))


def link_rows(world: World) -> None:
    world.remove("datasets/listed.jsonl")
    world.write("outside.jsonl", ROWS.replace("Why?", "When?"))
    (world.root / "datasets/listed.jsonl").symlink_to("../outside.jsonl")


def pin_older_rubric(world: World) -> None:
    world.edit("datasets/asked.yaml", "rubric/tone@2.0.0", "rubric/tone@1.0.0")


def pin_default_older(world: World) -> None:
    world.edit("datasets/listed.yaml", "rubric/tone@2.0.0", "rubric/tone@1.0.0")


def pin_worktree(world: World) -> None:
    world.edit("datasets/asked.yaml", "rubric/tone@2.0.0", "rubric/tone@worktree")


def pin_revision(world: World) -> None:
    world.edit("datasets/asked.yaml", "rubric/tone@2.0.0", "rubric/tone@git:HEAD~1")


def downgrade(world: World) -> None:
    world.write("rubrics/tone.yaml", rubric())


def rename_rubric(world: World) -> None:
    """The rubric goes on under another id, changed, and the dataset follows it."""
    world.remove("rubrics/tone.yaml")
    world.write("rubrics/voice.yaml", rubric("voice", "2.0.0", ban="merely"))
    world.edit("datasets/asked.yaml", "rubric/tone@2.0.0", "rubric/voice@2.0.0")


def rename_dataset_and_target(world: World) -> None:
    world.remove("datasets/asked.yaml")
    world.write(
        "datasets/demanded.yaml", ASKED.format(version="1.0.0", pin="1.0.0").replace("id: asked", "id: demanded")
    )
    world.edit("evalstore.yaml", "dataset/asked@1.0.0", "dataset/demanded@1.0.0")


def change_judge(world: World) -> None:
    world.edit("judges/accuracy.yaml", "Is this right?", "Is this wrong?")


def judge_by_url(world: World) -> None:
    world.edit(
        "judges/accuracy.yaml", "score_type", "model: {id: m, extra: {base_url: 'http://127.0.0.1:9/v1'}}\nscore_type"
    )


def judge_by_patch(world: World) -> None:
    judge_by_url(world)
    world.edit("judges/accuracy.yaml", "version: 1.0.0", "version: 1.0.1")


def judge_by_include(world: World) -> None:
    world.edit("judges/accuracy.yaml", "Is this right?", "{{> ../evil }} Is this right?")


def extend_by_alias(world: World) -> None:
    world.edit("rubrics/tone.yaml", "values: [just]", "values: &v [just]\n  - kind: must_contain_any\n    values: *v")


def include_file(world: World) -> None:
    world.edit("rubrics/tone.yaml", "checks:", "extends: ../base.yaml\nchecks:")
    world.edit("rubrics/tone.yaml", "combine: all_pass", "combine: any_pass\n  include: x.yaml")


def tag_document(world: World) -> None:
    world.write("rubrics/tone.yaml", b"%YAML 1.1\n---\n" + RUDE.encode() + b"...\n---\n" + TONE.encode())


def duplicate_key(world: World) -> None:
    world.write("rubrics/tone.yaml", TONE + "scoring:\n  combine: any_pass\n")


def byte_order_mark(world: World) -> None:
    world.write("rubrics/tone.yaml", RUDE.encode("utf-16"))


def reencode(world: World) -> None:
    """git writes the released bytes to disk, and holds others."""
    world.write("../.gitattributes", "evals/rubrics/*.yaml working-tree-encoding=ISO-8859-1\n")
    stored = TONE.replace("just", "j\u00fcst")
    world.write("rubrics/tone.yaml", stored.encode("latin-1"))
    world.git("add", "-A")
    world.write("rubrics/tone.yaml", stored.encode("latin-1"))


def reencode_utf16(world: World) -> None:
    """What is on disk is what was released, and what git holds is another text, in an encoding that only git undoes."""
    world.write("../.gitattributes", "tone.yaml working-tree-encoding=UTF-7\n")
    utf7 = "+" + base64.b64encode("merely".encode("utf-16-be")).decode().rstrip("=") + "-"
    world.write("rubrics/tone.yaml", TONE.replace("[just]", f"[{utf7}]"))


def hide_attributes(world: World) -> None:
    """The file of attributes is one of those that git rewrites, so that nobody can read it on disk."""
    reencode_utf16(world)
    text = "tone.yaml working-tree-encoding=UTF-7\n.gitattributes working-tree-encoding=UTF-16\n"
    world.write("../.gitattributes", text.encode("utf-16"))
    world.git("-c", "core.attributesFile=/dev/null", "add", "-A")


def ident(world: World) -> None:
    world.write("../.gitattributes", "evals/rubrics/tone.yaml ident\n")
    world.edit("rubrics/tone.yaml", "values: [just]", "values: ['$Id$']")


def large_file(world: World) -> None:
    """Git keeps a pointer, and the rows lie in another place."""
    world.write("../.gitattributes", "evals/datasets/*.jsonl filter=lfs diff=lfs merge=lfs -text\n")
    world.write(
        "datasets/listed.jsonl", "version https://git-lfs.github.com/spec/v1\noid sha256:" + "a" * 64 + "\nsize 9\n"
    )


def link_file(world: World) -> None:
    world.remove("rubrics/tone.yaml")
    world.write("decoy/tone.yaml", RUDE)
    (world.root / "rubrics/tone.yaml").symlink_to("../decoy/tone.yaml")


def link_folder(world: World) -> None:
    (world.root / "rubrics").rename(world.root / "hidden")
    world.write("hidden/tone.yaml", RUDE)
    (world.root / "rubrics").symlink_to("hidden")


def link_store(world: World) -> None:
    """Another store answers in the place of this one."""
    decoy = world.top / "decoy"
    (decoy / "rubrics").mkdir(parents=True)
    (decoy / "evalstore.yaml").write_text("tag_prefix: decoy/\n")
    (decoy / "rubrics/calm.yaml").write_text(rubric("calm"))
    world.root.rename(world.top / "real")
    world.root.symlink_to("decoy")


def submodule(world: World) -> None:
    """The folder of the rubrics is another repository."""
    world.remove("rubrics")
    head = world.git("rev-parse", "HEAD")
    world.git("rm", "-rq", "--cached", "evals/rubrics")
    world.git("update-index", "--add", "--cacheinfo", f"160000,{head},evals/rubrics")
    world.write("../.gitmodules", '[submodule "r"]\n\tpath = evals/rubrics\n\turl = http://127.0.0.1:9/\n')
    (world.root / "rubrics").mkdir()


def collide(world: World) -> None:
    world.write("rubrics/Tone.yaml", RUDE)
    world.edit("datasets/asked.yaml", "rubric/tone@2.0.0", "rubric/Tone@2.0.0")


def other_id(world: World) -> None:
    world.write("rubrics/tone.yaml", RUDE.replace("id: tone", "id: reviewed"))


def yml_twin(world: World) -> None:
    """The rubric is in a file that no command reads, and the dataset names one that there is not."""
    world.remove("rubrics/tone.yaml")
    world.write("rubrics/tone.yml", RUDE)
    world.edit("datasets/asked.yaml", "rubric/tone@2.0.0", "rubric/tone@3.0.0")


def unlock_judge(world: World) -> None:
    """A new major version of the judge, which the floating reference of the rubric would mean without its lock."""
    change_judge(world)
    world.edit("judges/accuracy.yaml", "version: 1.0.0", "version: 1.0.1")
    world.remove("evalstore.lock")


def drop_lock(world: World) -> None:
    world.remove("evalstore.lock")


def edit_lock(world: World) -> None:
    world.edit("evalstore.lock", 'version: "2.0.0"', 'version: "1.0.0"')


def lock_other_digest(world: World) -> None:
    lock = world.read("evalstore.lock").decode()
    digest = next(line for line in lock.splitlines() if "scoring_digest" in line)
    world.edit("evalstore.lock", digest, digest[:-9] + '00000000"')


def break_lock(world: World) -> None:
    world.write("evalstore.lock", "lock: 1\nrefs: {}\n")


def retarget(world: World) -> None:
    world.edit("evalstore.yaml", "dataset/asked@1.0.0", "dataset/nowhere@1.0.0")


def count_headline(world: World) -> None:
    world.write("datasets/asked.yaml", ASKED.format(version="1.0.1", pin="2.0.0") + "- {id: more, input: More?}\n")
    world.edit("evalstore.yaml", "signed", "profile: score\nsigned")


def weigh_missing(world: World) -> None:
    world.edit("rubrics/tone.yaml", "combine: all_pass", "combine: all_pass\n  missing: zero\n  errors: fail")


# -- what moves a release ---------------------------------------------------------------------------------------------


def drop_ledgers(world: World) -> None:
    world.remove(SUMS)


def drop_ledger_and_prefix(world: World) -> None:
    world.remove(SUMS)
    world.edit("evalstore.yaml", "signed", "tag_prefix: new/\nsigned")
    world.write("rubrics/tone.yaml", rubric(version="1.0.0", ban="merely"))


def other_prefix(world: World) -> None:
    world.edit("evalstore.yaml", "signed", "tag_prefix: new/\nsigned")
    world.write("rubrics/tone.yaml", RUDE)


def own_prefix_released(world: World) -> None:
    other_prefix(world)
    world.remove(SUMS)
    world.release()


def edit_ledger(world: World) -> None:
    world.edit(f"{SUMS}/rubric/tone", "2.0.0 ", "2.0.1 ")


def drop_line(world: World) -> None:
    first = world.read(f"{SUMS}/rubric/tone").splitlines(keepends=True)[0]
    world.write(f"{SUMS}/rubric/tone", first)


def unsign_line(world: World) -> None:
    world.edit(f"{SUMS}/rubric/tone", " signed", "")


def invent_line(world: World) -> None:
    world.write(f"{SUMS}/rubric/tone", world.read(f"{SUMS}/rubric/tone") + b"3.0.0 " + b"a" * 64 + b"\n")


def shadow_line(world: World) -> None:
    """Of two lines of one version the first counts."""
    world.write(f"{SUMS}/rubric/tone", b"2.0.0 " + b"a" * 64 + b"\n" + world.read(f"{SUMS}/rubric/tone"))


def link_ledgers(world: World) -> None:
    (world.root / SUMS).rename(world.root / "kept")
    (world.root / SUMS).symlink_to("../kept")


def move_tag(world: World) -> None:
    world.use_key("ada")
    reword(world)
    world.commit()
    world.git("tag", "-f", "-s", "-m", "x", "rubric/tone@2.0.0")


def tag_without_ledger(world: World) -> None:
    """A tag that no ledger lists is what the file says now."""
    world.use_key("ada")
    world.write("rubrics/tone.yaml", rubric(version="2.0.1", ban="merely"))
    world.commit()
    world.git("tag", "-s", "-m", "x", "rubric/tone@2.0.1")


def release_on_a_branch(world: World) -> None:
    """Another branch released it by its own settings, and this change only takes the file."""
    world.git("checkout", "-qb", "side")
    override_and_release(world)
    text = world.read("rubrics/tone.yaml")
    world.git("checkout", "-q", "main")
    world.write("rubrics/tone.yaml", text)


def take_ledger_of_a_branch(world: World) -> None:
    release_on_a_branch(world)
    world.write(f"{SUMS}/rubric/tone", world.git("show", f"side:{FOLDER}/{SUMS}/rubric/tone").encode() + b"\n")


def empty_store(world: World) -> None:
    for path in ("rubrics", "judges", "datasets", ".evalstore", "evalstore.yaml", "evalstore.lock"):
        world.remove(path)
    world.write("README.md", "nothing here\n")


def decoy_above(world: World) -> None:
    """The store lies in another folder, and the one that CI names finds a decoy above it."""
    world.root.rename(world.top / "hidden")
    (world.top / "rubrics").mkdir()
    (world.top / "rubrics/calm.yaml").write_text(rubric("calm"))
    (world.top / "evalstore.yaml").write_text("tag_prefix: decoy/\n")
    world.write("README.md", "CI looks here\n")
    (world.top / "hidden/rubrics/tone.yaml").write_text(RUDE)


def decoy_in_place(world: World) -> None:
    world.root.rename(world.top / "hidden")
    world.write("evalstore.yaml", "tag_prefix: decoy/\n")
    world.write("rubrics/calm.yaml", rubric("calm"))
    (world.top / "hidden/rubrics/tone.yaml").write_text(RUDE)


def forget_artifacts(world: World) -> None:
    world.remove("rubrics/tone.yaml")
    world.remove(f"{SUMS}/rubric/tone")


def orphan(world: World) -> None:
    """A history of its own, in which nothing was ever released."""
    world.remove(SUMS)
    world.write("rubrics/tone.yaml", RUDE)
    world.git("checkout", "-q", "--orphan", "new")


def old_start(world: World) -> None:
    """A branch that began before the store had its second release, with an own one of that number."""
    world.git("checkout", "-q", "base~3")
    world.write("rubrics/tone.yaml", RUDE)
    world.write("evalstore.yaml", "")


# -- what moves a signer ----------------------------------------------------------------------------------------------


def swap_signer(world: World) -> None:
    world.write(SIGNERS, f"eve@example.org {world.read_key('eve')}")


def add_signer(world: World) -> None:
    world.write(SIGNERS, world.read(SIGNERS) + f"eve@example.org {world.read_key('eve')}".encode())


def escape_signer(world: World) -> None:
    """ssh-keygen reads a quote in an option that is behind a backslash."""
    line = f'eve@example.org namespaces="git,a\\"b" {world.read_key("eve")}'
    world.write(SIGNERS, world.read(SIGNERS) + line.encode())


def any_principal(world: World) -> None:
    world.edit(SIGNERS, "ada@example.org ssh", "* ssh")


def other_file(world: World) -> None:
    world.write("keys", f"* {world.read_key('eve')}" + world.read(SIGNERS).decode())
    world.edit("evalstore.yaml", "signed", "allowed_signers: keys\nsigned")


def sign_optionally(world: World) -> None:
    world.edit("evalstore.yaml", "signed: require", "signed: optional")


def drop_signed(world: World) -> None:
    world.edit("evalstore.yaml", "signed: require\n", "")


def add_and_release(world: World) -> None:
    add_signer(world)
    world.write("rubrics/tone.yaml", rubric(version="3.0.0", ban="merely"))
    world.release("rubric/tone", key="eve")


def release_unsigned(world: World) -> None:
    sign_optionally(world)
    world.write("rubrics/tone.yaml", rubric(version="3.0.0", ban="merely"))
    world.release("rubric/tone")


def authority(world: World) -> None:
    world.edit(SIGNERS, "ada@example.org ssh", "ada@example.org cert-authority ssh")


def link_signers(world: World) -> None:
    world.remove(SIGNERS)
    world.write("keys", f"eve@example.org {world.read_key('eve')}")
    (world.root / SIGNERS).symlink_to("../keys")


def drop_signers(world: World) -> None:
    world.remove(SIGNERS)


RED: tuple[Edit, ...] = (
    reword, reword_as_patch, override, override_and_release, override_release_and_restore, accept_own_change,
    accept_and_release, declare_cosmetic, rename_question, change_question, change_row, swap_rows_file, link_rows,
    pin_older_rubric, pin_default_older, pin_worktree, pin_revision, downgrade, rename_rubric,
    change_judge, judge_by_url, judge_by_patch, judge_by_include, extend_by_alias,
    include_file, tag_document, duplicate_key, byte_order_mark, reencode, reencode_utf16, hide_attributes, ident,
    large_file, link_file, link_folder, link_store, submodule, collide, other_id, yml_twin, unlock_judge, edit_lock, drop_lock,
    lock_other_digest, break_lock, retarget, count_headline, weigh_missing, drop_ledgers, drop_ledger_and_prefix,
    other_prefix, own_prefix_released, edit_ledger, drop_line, unsign_line, invent_line, shadow_line, link_ledgers,
    move_tag, tag_without_ledger, release_on_a_branch, take_ledger_of_a_branch, empty_store, decoy_above,
    decoy_in_place, forget_artifacts, orphan, old_start, swap_signer, add_signer, escape_signer, any_principal, other_file,
    sign_optionally, drop_signed, add_and_release, release_unsigned, authority, link_signers, drop_signers,
)  # fmt: skip


# -- what loosens the judgement of later changes ----------------------------------------------------------------------


def stop_strict(world: World) -> None:
    world.edit(
        "evalstore.yaml",
        "desk: {dataset: dataset/asked@1.0.0}",
        "desk: {dataset: dataset/asked@1.0.0, unpinned: allow}",
    )


def allow_unpinned(world: World) -> None:
    world.edit("evalstore.yaml", "unpinned: forbid", "unpinned: allow")


def age(world: World) -> None:
    world.edit("evalstore.yaml", "400", "40000")


def lower_a_rule(world: World) -> None:
    world.edit("evalstore.yaml", "signed", "rules: {phrase-reworded: minor}\nsigned")


def switch_off(world: World) -> None:
    world.edit("evalstore.yaml", "signed", "rules: {judge-unvalidated: 'off'}\nsigned")


def headline(world: World) -> None:
    world.edit("evalstore.yaml", "signed", "cosmetic: [reviewed_by]\nsigned")


def new_lax_target(world: World) -> None:
    world.edit("evalstore.yaml", "targets:", "targets:\n  lax: {dataset: dataset/listed@1.0.0, unpinned: allow}")


def loosen_bundle(world: World) -> None:
    world.edit("bundles/chat.schema.json", '"minimum": 1', '"minimum": 0')


def move_bundle(world: World) -> None:
    world.edit("evalstore.yaml", "signed", "bundles: {chat: bundles/other.json}\nsigned")
    world.write("bundles/other.json", "{}")


def drop_bundle(world: World) -> None:
    world.remove("bundles/chat.schema.json")


LOOSENED: tuple[Edit, ...] = (
    loosen_bundle, move_bundle, drop_bundle,
    stop_strict, allow_unpinned, age, lower_a_rule, switch_off, headline, new_lax_target,
    rename_dataset_and_target,
)  # fmt: skip


# -- what has no say at all -------------------------------------------------------------------------------------------


def python_files(world: World) -> None:
    for name in ("venv.py", "sitecustomize.py", "logging.py", "evalstore.py", "usercustomize.py", "pip.py"):
        (world.top / name).write_text("raise SystemExit(0)\n")
        world.write(name, "raise SystemExit(0)\n")


def project_files(world: World) -> None:
    (world.top / "pyproject.toml").write_text("[tool.evalstore]\nstrict = false\n[build-system]\nrequires = []\n")
    (world.top / ".gitignore").write_text("*.yaml\n.evalstore/\n")
    world.write(".evalstore/config", "strict: false\n")
    world.write(".evalstore/schema/rubric.schema.json", "{}")


def leave_things(world: World) -> None:
    for name in ("evalstore.md", "gl-code-quality-report.json", "evalstore.sarif", "evalstore.xml"):
        (world.top / name).symlink_to("/etc/passwd")


def tighten_bundle(world: World) -> None:
    world.edit("bundles/chat.schema.json", '"minimum": 1', '"minimum": 2')


HARMLESS: tuple[Edit, ...] = (python_files, tighten_bundle, project_files, leave_things)


def change(world: World, edit: Edit) -> None:
    edit(world)
    world.commit()


@pytest.mark.parametrize("edit", thin(RED, 6), ids=lambda edit: edit.__name__)
def test_no_change_answers_for_itself(world: World, edit: Edit) -> None:
    change(world, edit)
    ran = world.gate()
    assert ran.code in {1, 3}, ran.out


@pytest.mark.parametrize("edit", thin(LOOSENED, 4), ids=lambda edit: edit.__name__)
def test_what_a_change_loosens_is_a_finding_that_strict_fails_on(world: World, edit: Edit) -> None:
    change(world, edit)
    ran = world.gate()
    found = {finding["rule"] for finding in json.loads(ran.out)["findings"] + json.loads(ran.out)["status"]["findings"]}
    assert (ran.code, bool(found & {"override-loosened", "lock-loosened", "bundle-loosened"})) == (0, True), ran.out
    assert world.gate("--strict").code == 1


@pytest.mark.parametrize("edit", thin(HARMLESS, 3), ids=lambda edit: edit.__name__)
def test_a_change_beside_the_store_passes(world: World, edit: Edit) -> None:
    change(world, edit)
    ran = world.gate()
    assert ran.code == 0, ran.out


def test_a_branch_behind_its_base_need_not_know_its_new_signer(world: World) -> None:
    world.git("checkout", "-q", "-b", "mine")
    world.git("checkout", "-q", "main")
    add_and_release(world)
    world.git("branch", "-f", "base")
    world.git("checkout", "-q", "mine")
    assert world.gate().code == 0
    world.git("tag", "-f", "-m", "x", "rubric/tone@3.0.0", "rubric/tone@3.0.0^{commit}")
    assert "release-unsigned" in world.gate().out
