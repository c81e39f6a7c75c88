"""evalstore within Inspect AI: a scorer that grades by a rubric of a store, and a store's datasets as samples.

Needs the extra `evalstore[inspect]`. In a task:

    Task(dataset_samples("dataset/x@1.0.0", store="."), solver=generate(), scorer=rubric_scorer(store="."))
"""

from __future__ import annotations

from evalstore.about import suggest_install

try:
    import inspect_ai  # noqa: F401  # asked for once, here, so that one sentence answers for all of it
except ModuleNotFoundError as missing:
    if missing.name != "inspect_ai":
        raise
    raise ModuleNotFoundError(
        f"Inspect AI is not installed, and this is for use within it: {suggest_install('inspect')}",
        name="inspect_ai",
    ) from None

from evalstore.integrations.inspect.samples import dataset_samples, pass_rate
from evalstore.integrations.inspect.scorer import rubric_scorer

__all__ = ["dataset_samples", "pass_rate", "rubric_scorer"]
