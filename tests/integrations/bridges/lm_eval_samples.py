"""lm-evaluation-harness asks its model `dummy` in each of its ways: to generate, to choose, and for likelihoods."""

import json
import sys
from pathlib import Path

from lm_eval import simple_evaluate
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

COMMON = {"dataset_path": "json", "dataset_kwargs": {"data_files": {"test": "docs.jsonl"}}, "test_split": "test"}
ASKS = {"doc_to_text": "{{question}}", "doc_to_target": "{{answer}}"}
MATCH = {"metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}]}
ACCURACY = {"metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}]}
TASKS = {
    "generates": {"output_type": "generate_until", **ASKS, **MATCH},
    "chooses": {
        "output_type": "multiple_choice",
        **ASKS,
        "doc_to_choice": "choices",
        "doc_to_target": "gold",
        **ACCURACY,
    },
    "would_say": {"output_type": "loglikelihood", **ASKS, **ACCURACY},
}
docs = (
    {"question": f"What is {n}?", "answer": "lol" if n % 3 else str(n), "choices": ["a", "bb"], "gold": n % 2}
    for n in range(150)
)
Path("docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
for name, task in TASKS.items():
    Path(f"{name}.yaml").write_text(json.dumps({"task": name, **COMMON, **task}))

tracker = EvaluationTracker(output_path="out")
found = simple_evaluate(
    "dummy", tasks=list(TASKS), task_manager=TaskManager(include_path="."), log_samples=True, evaluation_tracker=tracker
)
samples = found.pop("samples")
tracker.save_results_aggregated(results=found, samples=samples)
for name, rows in samples.items():
    tracker.save_results_samples(task_name=name, samples=rows)


def describe(task, row):
    score = float(row[row["metrics"][0]])
    chosen = max(range(2), key=lambda at: float(row["resps"][at][0][0])) if task == "chooses" else 0
    output = {"generates": "lol", "chooses": (" a", " bb")[chosen], "would_say": None}[task]
    return {"id": str(row["doc_id"]), "output": output, "passed": score == 1, "checks": {row["metrics"][0]: score}}


json.dump(
    {f"out/*/samples_{task}_*.jsonl": [describe(task, row) for row in rows] for task, rows in samples.items()},
    sys.stdout,
)
