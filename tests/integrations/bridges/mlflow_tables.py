"""MLflow grades outputs by both of its functions; a scorer that raises, and what is expected, are no scores."""

import json
import os
import sys

os.environ |= {"MLFLOW_GENAI_EVAL_MAX_WORKERS": "1", "MLFLOW_ENABLE_ASYNC_TRACE_LOGGING": "false"}
import mlflow
import pandas as pd
from mlflow.genai.scorers import scorer
from mlflow.metrics import make_metric
from mlflow.metrics.base import MetricValue

OUTPUTS = ("yes", "no", "boom", "10", "é")
mlflow.set_tracking_uri("sqlite:///runs.db")
mlflow.set_experiment("bridge")
rows = [{"inputs": f"ask {n}", "outputs": OUTPUTS[n % 5], "expected": "yes" if n % 2 else "no"} for n in range(150)]


def score_equal(predictions, targets, metrics=None):
    return MetricValue(scores=[float(one == two) for one, two in zip(predictions, targets, strict=True)])


same = make_metric(eval_fn=score_equal, greater_is_better=True, name="same")
with mlflow.start_run() as run:
    table = pd.DataFrame(rows)
    mlflow.models.evaluate(
        data=table, predictions="outputs", targets="expected", extra_metrics=[same], evaluators="default"
    )
    mlflow.artifacts.download_artifacts(run_id=run.info.run_id, artifact_path="eval_results_table.json", dst_path=".")


@scorer
def exact(outputs, expectations):
    return outputs == expectations["expected_response"]


@scorer
def half(outputs):
    if outputs == "boom":
        raise RuntimeError("no score")
    return 0.5


asked = [
    {
        "inputs": {"question": row["inputs"]},
        "outputs": row["outputs"],
        "expectations": {"expected_response": row["expected"]},
    }
    for row in rows[:20]
]
found = mlflow.genai.evaluate(data=asked, scorers=[exact, half]).result_df
found.to_json("genai.json", orient="records")
found.to_csv("genai.csv", index=False)


def describe(row):
    raised = row["response"] == "boom"
    checks = {"exact": float(row["exact/value"]), "half": None if raised else 0.5}
    return {
        "id": row["trace_id"],
        "output": row["response"],
        "passed": raised and checks["exact"] == 1,
        "checks": checks,
    }


own = [
    {"id": str(n), "output": row["outputs"], "passed": row["outputs"] == row["expected"],
     "checks": {"same": float(row["outputs"] == row["expected"])}}
    for n, row in enumerate(rows)
]  # fmt: skip
graded = [describe(row) for _, row in found.iterrows()]
json.dump({"eval_results_table.json": own, "genai.json": graded, "genai.csv": graded}, sys.stdout)
