"""Renders the replayed sample story as JSON; `evalstore demo` prints the text itself, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalstore.report.json_values import select_json_keys

if TYPE_CHECKING:
    from evalstore.demo import ReplayedStory


def document(story: ReplayedStory) -> Any:
    """Return the JSON document."""
    steps = [
        {
            **select_json_keys(step, "title author date"),
            "commands": [
                {"command": list(result.words), "exit_code": result.code, "out": result.out} for result in results
            ],
        }
        for step, results in story.steps
    ]
    return {"folder": str(story.folder), "steps": steps}
