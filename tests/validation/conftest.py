"""One way to run a case folder: files/ is the store, released/ holds what is tagged, the day stands still."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path

import pytest

from evalstore.checks import NO_CONTEXT
from evalstore.diff.rules import RULES
from evalstore.diff.settings import RULE_SETS
from evalstore.documents import read_yaml
from evalstore.errors import RefError
from evalstore.lint import KnownRules, ValidationSource, find_folder_sources, validate
from evalstore.model import Artifact, Findings, Ref
from evalstore.versions import find_version

TODAY = date(2026, 9, 30)


def released(folder: Path) -> Callable[[Ref], Artifact]:
    """Return a loader over `<kind>s/<id>@<version>.yaml`."""

    def load(ref: Ref) -> Artifact:
        versions = sorted(path.stem.split("@")[1] for path in folder.glob(f"{ref.kind.folder}/{ref.id}@*.yaml"))
        wanted = [version for version in versions if meets(ref, version)]
        if not wanted:
            raise RefError(f"{ref.name} has no version {ref.pin}", hint=f"released: {', '.join(versions) or 'none'}")
        file = folder / ref.kind.folder / f"{ref.id}@{wanted[-1]}.yaml"
        return Artifact(ref.kind, ref.id, wanted[-1], read_yaml(file.read_bytes(), file.name))

    return load


def meets(ref: Ref, text: str) -> bool:
    version = find_version(text)
    if ref.version or ref.range:
        return version == ref.version or (ref.range is not None and version in ref.range)
    return ref.is_floating


def pending(file: Path) -> dict[tuple[str, str, str], bool] | None:
    """Return the acceptances since 1.0.0, from `{artifact: {fingerprint: whether a change needs it}}`."""
    if not file.exists():
        return None
    value = read_yaml(file.read_bytes(), file.name).value
    return {(artifact, "1.0.0", print_): used for artifact, prints in value.items() for print_, used in prints.items()}


@pytest.fixture
def run() -> Callable[..., Findings]:
    """Validate a case folder."""

    def validated(case: Path, *, strict: bool = False) -> Findings:
        load = released(case / "released") if (case / "released").is_dir() else None
        known = KnownRules(RULES, RULE_SETS, pending(case / "pending.yaml"))
        options = {"known": known, "grading": NO_CONTEXT, "whole": True}
        return validate(find_folder_sources(case / "files"), load=load, today=TODAY, strict=strict, **options)

    return validated


@pytest.fixture
def check() -> Callable[..., Findings]:
    """Validate sources outside a store."""

    def validated(sources: Iterable[ValidationSource]) -> Findings:
        return validate(sources, load=None, today=TODAY)

    return validated
