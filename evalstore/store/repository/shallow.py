"""Says whether a clone lacks history or objects, and how to get them."""

from __future__ import annotations

from evalstore.store.repository.config import find_remote
from evalstore.store.repository.git import REFETCH, Git


def describe_missing_history(git: Git) -> str:
    """Say how a clone gets the history or objects that it lacks, from the releases' remote."""
    name, source = find_remote(git)
    source = source if name else "<address of a clone that has it> "
    return f"git fetch {source}--unshallow --tags" if is_shallow(git) else REFETCH.format(source)


def is_shallow(git: Git) -> bool:
    """Whether a repository has git's list of the commits at which a shallow clone ends."""
    return (git.common / "shallow").exists()
