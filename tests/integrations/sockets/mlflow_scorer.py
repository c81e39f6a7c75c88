"""MLflow evaluates rows by our scorers, and keeps which version said so: `mlflow_scorer.py STORE`."""

from __future__ import annotations

import sys
from pathlib import Path

import mlflow
import pytest

from evalstore.integrations.mlflow import make_mlflow_scorer

STORE = sys.argv[1]
mlflow.set_tracking_uri(f"sqlite:///{Path('mlflow.db').resolve()}")
mlflow.create_experiment("tone", artifact_location=Path("artifacts").resolve().as_uri())
mlflow.set_experiment("tone")

wanted = {"format": "json"}
taken = {"output": ["please"], "said_as": "thanks?$"}
rows = [
    {"inputs": {"question": "one"}, "outputs": "please", "expectations": {"expected_response": wanted}},
    {"inputs": {"question": "two"}, "outputs": {"response": "moreover! thanks"}, "expectations": taken},
]
scorers = [
    make_mlflow_scorer("rubric/tone@^1", store=STORE),
    make_mlflow_scorer("rubric/form@1.0.0", store=STORE, name="form"),
    make_mlflow_scorer("rubric/asked@1.0.0", store=STORE, name="asked"),
]
metrics = mlflow.genai.evaluate(data=rows, scorers=scorers).metrics
# The second row says no format, so that `form` cannot grade it: no value, and the mean is that of the first.
assert metrics == {"rubric/tone/mean": pytest.approx(2 / 3), "form/mean": 0, "asked/mean": 0.5}

traces = mlflow.search_traces(return_type="list")
given = [one for trace in traces for one in trace.info.assessments if one.name in {"rubric/tone", "form"}]
kept = {(one.name, one.value): one for one in given}
found = kept["rubric/tone", 1.0]
assert (found.source.source_id, found.metadata["rubric"]) == ("rubric/tone@1.0.0",) * 2
assert {value for name, value in kept if name == "form"} == {0.0, None}
assert "unscored" in kept["form", None].rationale
