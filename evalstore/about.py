"""The version of evalstore, its addresses, and how to install its extras.

The build reads the version here.
"""

from __future__ import annotations

VERSION = "0.1.0"
# Where evalstore is published: only this place says so. Nobody has decided it yet, so both are
# empty, and everything works without them. After a change, `python -m tests.project.generate`
# writes the addresses into the files that need them.
REPOSITORY = ""  # as https://github.com/OWNER/evalstore
PAGES = ""  # where the site of `make docs` is served, as https://OWNER.github.io/evalstore
UNDECIDED = "https://HOST/evalstore"  # a placeholder for places that need an address
COMPLETE_VARIABLE = "_EVALSTORE_COMPLETE"  # in which a shell asks click for completions


def suggest_install(extra: str) -> str:
    """Return the command that adds an extra to this installation.

    It installs from the source that this installation came from (PEP 610), so it works even if
    evalstore is published nowhere.
    """
    import json
    import shlex
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import unquote

    try:
        record = distribution("evalstore").read_text("direct_url.json")
    except PackageNotFoundError:
        return f"pip install '.[{extra}]' in a clone of " + (REPOSITORY or "evalstore's repository")
    source = json.loads(record) if record else {}
    url = source.get("url", "")
    if not url:
        return f"pip install 'evalstore[{extra}]'"
    if "dir_info" in source:
        edited = "-e " if source["dir_info"].get("editable") else ""
        return (
            "pip install "
            f"{edited}{shlex.quote(unquote(url.removeprefix('file://')) + f'[{extra}]')}"
        )
    if vcs := source.get("vcs_info"):
        url = f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
    return f"pip install {shlex.quote(f'evalstore[{extra}] @ {url}')}"
