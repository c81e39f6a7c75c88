"""Stores of real git for audits: the sample repository with its releases and two runs, and small ones made to order."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from evalstore.audits import Audit, AuditOptions, Factor, audit_runs
from evalstore.documents import write_canonical
from evalstore.runs import Run
from evalstore.scoring.judging import Endpoint, Judges
from evalstore.store import ArtifactStore
from tests.scoring.jobs import score

JUDGE = 'id: tone\nversion: {version}\ntemplate: "{words}: {{{{ output }}}}"\nmodel: {{id: m}}\n'
SAMPLE = Path(__file__).resolve().parents[2] / "sample_repo"
AT = datetime(2026, 11, 1, tzinfo=UTC)
# folder -> who, and the artifacts that are released with it.
RELEASES = (
    ("02-own-rubrics", "Mira Okafor", {"rubrics/answer_style": "1.0.0", "rubrics/cache_metadata": "1.0.0",
     "rubrics/safe_markup": "1.0.0", "rubrics/config_deploy": "1.0.0", "datasets/web_answers": "1.0.0"}),
    ("03-no-filler", "Jonas Brandt", {"rubrics/answer_style": "2.0.0"}),
    ("04-tidy-wording", "Mira Okafor", {"rubrics/answer_style": "2.0.1"}),
    ("05-advisory-check", "Teodora Vale", {"rubrics/cache_metadata": "1.1.0"}),
    ("06-repinned-questions", "Mira Okafor", {"datasets/web_answers": "2.0.0"}),
)  # fmt: skip


@dataclass
class Repo:
    """A repository that tests write releases into; the clock ticks a minute a commit."""

    root: Path
    minutes: int = 0

    def git(self, *argv: str, author: str = "Ada Tester") -> str:
        self.minutes += 1
        stamp = f"{1_760_000_000 + 60 * self.minutes} +0000"
        who = {"NAME": author, "EMAIL": "ada@example.org", "DATE": stamp}
        env = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
        env |= {"PATH": os.environ["PATH"], "HOME": str(self.root), "GIT_CONFIG_NOSYSTEM": "1"}
        env |= {"GIT_TEMPLATE_DIR": "", "GIT_CONFIG_COUNT": "1"}  # no hooks to copy, no process after a commit
        env |= {"GIT_CONFIG_KEY_0": "maintenance.auto", "GIT_CONFIG_VALUE_0": "false"}
        done = subprocess.run(["git", *argv], cwd=self.root, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def release(self, path: str, text: str, *, author: str = "Ada Tester") -> str:
        """Commit `text` as `rubrics/x` or `datasets/x` and tag the version that it has; return the commit."""
        self.write(f"{path}.yaml", text)
        return self.tag({path: re.search(r'^version: "?([0-9.]+)', text, re.MULTILINE)[1]}, author=author)  # type: ignore[index]

    def tag(self, released: dict[str, str], *, author: str = "Ada Tester") -> str:
        self.git("add", "-A")
        self.git("commit", "-qm", f"Release {', '.join(released)}", author=author)
        for path, version in released.items():
            name = f"{path.replace('s/', '/', 1)}@{version}"
            self.git("tag", "-a", name, "-m", name, author=author)
        return self.git("rev-parse", "HEAD")

    def score(self, dataset: str, outputs: Path, model: str = "m", **options: Any) -> Run:
        out = self.root.parent / "runs" / f"{model}-{self.minutes}"
        with ArtifactStore.open(self.root) as store:
            return score(dataset, outputs, store=store, out=out, at=AT, model=model, **options)

    def forget(self) -> None:
        """Remove the replies that are kept."""
        for path in (self.root / ".git" / "evalstore").glob("replies*"):
            path.unlink()

    def audit(self, a: Run | Path, b: Run | Path, **options: Any) -> Audit:
        with ArtifactStore.open(self.root) as store:
            given = {name: value for name, value in options.items() if value is not None}
            return audit_runs(a, b, store, AuditOptions(**given))


def factor(found: Audit, name: str) -> Factor:
    return next(factor for factor in found.factors if factor.name == name)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    (tmp_path / "store").mkdir()
    made = Repo(tmp_path / "store")
    made.git("init", "-q")
    return made


@pytest.fixture
def answers(tmp_path: Path) -> Callable[..., Path]:
    """Write outputs: `answers("a", q1="text", …)`."""

    def write(name: str, **texts: str) -> Path:
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps({"id": id_, "output": text}) + "\n" for id_, text in texts.items()))
        return path

    return write


@dataclass(frozen=True)
class Sample:
    """The sample repository after its story: two runs, and who made which release."""

    root: Path
    a: Run
    b: Run
    commits: dict[str, str]


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    root = tmp_path_factory.mktemp("sample") / "store"
    root.mkdir()
    repo = Repo(root)
    repo.git("init", "-q")
    commits = {}
    for folder, author, released in RELEASES:
        shutil.copytree(SAMPLE / "history" / folder, root, dirs_exist_ok=True)
        for path, version in released.items():
            file = root / f"{path}.yaml"
            file.write_text(re.sub(r"(?m)^version: .*$", f"version: {version}", file.read_text()))
        commit = repo.tag(released, author=author)
        commits |= {f"{path}@{version}": commit for path, version in released.items()}
    a = repo.score("dataset/web_answers@1.0.0", SAMPLE / "outputs" / "model_a.jsonl", "model_a")
    b = repo.score("dataset/web_answers@2.0.0", SAMPLE / "outputs" / "model_b.jsonl", "model_b")
    return Sample(root, a, b, commits)


@dataclass
class Desk:
    """Releases artifacts, scores outputs and audits runs in one repository; a judge answers by what a prompt says."""

    repo: Repo
    server: Any
    folder: Path

    def put(self, kind: str, value: Mapping[str, Any], author: str = "Ada") -> str:
        return self.repo.release(f"{kind}s/{value['id']}", _yaml(value), author=author)

    def rubric(
        self, version: str, *checks: Mapping[str, Any], name: str = "r", author: str = "Ada", **scoring: Any
    ) -> str:
        scoring = {"combine": "weighted_avg", **scoring}
        return self.put("rubric", {"id": name, "version": version, "checks": list(checks), "scoring": scoring}, author)

    def dataset(self, version: str, questions: Sequence[Mapping[str, Any]] | int, rubric: str | None = None) -> str:
        rows = [{"id": f"q{i}", "input": "x"} for i in range(questions)] if isinstance(questions, int) else questions
        defaults = {"rubric_ref": f"rubric/r@{rubric or version}"}
        return self.put("dataset", {"id": "d", "version": version, "defaults": defaults, "questions": list(rows)})

    def judge(self, version: str, words: str = "Rate", author: str = "Ada") -> str:
        template = words + ": {{ output }}"
        return self.put("judge", {"id": "acc", "version": version, "template": template, "model": {"id": "m"}}, author)

    def score(self, version: str, outputs: Sequence[str] | Mapping[str, str], name: str = "a", **judges: Any) -> Run:
        texts = outputs if isinstance(outputs, Mapping) else {f"q{i}": text for i, text in enumerate(outputs)}
        return self.score_lines(version, [{"id": id_, "output": text} for id_, text in texts.items()], name, **judges)

    def score_lines(self, version: str, lines: Sequence[Mapping[str, Any]], name: str = "a", **judges: Any) -> Run:
        path = self.folder / f"{name}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        with ArtifactStore.open(self.repo.root) as store:
            return score(
                f"dataset/d@{version}", path, store=store, out=self.folder / f"runs-{name}", at=AT, model=name,
                judges=Judges(Endpoint(self.server.url, retries=0), **judges),
            )  # fmt: skip

    def audit(self, a: Run, b: Run, *, asks: bool = False, **options: Any) -> Audit:
        judges = Judges(Endpoint(self.server.url, retries=0)) if asks else None
        return self.repo.audit(a, b, judges=judges, **options)


@pytest.fixture
def desk(repo: Repo, judge_server: Any, tmp_path: Path) -> Desk:
    judge_server.text = rate
    return Desk(repo, judge_server, tmp_path)


@pytest.fixture
def print_page(desk: Desk, cli: Callable[..., Any]) -> Callable[..., str]:
    """Run a command that succeeds, and return what it prints in a format: a page where none is named."""

    def run(*argv: str | Path, form: str = "html") -> str:
        ran = cli(*argv, "--format", form, cwd=desk.repo.root)
        assert ran.code == 0, ran.err
        return str(ran.out)

    return run


def rate(prompt: str) -> str:
    value = min(1.0, prompt.count("good") / 3) - 0.2 * ("HARD" in prompt) - 0.1 * ("STRICT" in prompt)
    return json.dumps({"score": max(0.0, round(value, 4))})


def _yaml(value: Mapping[str, Any]) -> str:
    # JSON is YAML; the version stands on a line of its own, where the fixture looks for it.
    rest = {key: item for key, item in value.items() if key != "version"}
    return f'version: "{value["version"]}"\n' + "".join(
        f"{key}: {write_canonical(item)}\n" for key, item in rest.items()
    )
