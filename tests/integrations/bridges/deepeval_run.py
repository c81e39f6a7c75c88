"""DeepEval grades 150 outputs with metrics that need no model, one of which raises at some."""

import json
import sys

from deepeval import evaluate
from deepeval.evaluate import AsyncConfig, CacheConfig, DisplayConfig, ErrorConfig
from deepeval.metrics import BaseMetric, ExactMatchMetric
from deepeval.test_case import LLMTestCase

OUTPUTS = ("yes", "no way at all", "boom", "10", "")


class Length(BaseMetric):
    threshold, async_mode, strict_mode, evaluation_model, include_reason = 0.5, False, False, None, True
    __name__ = "Length"

    def measure(self, case, *args, **options):
        if case.actual_output == "boom":
            raise RuntimeError("no score")
        self.score = min(len(case.actual_output) / 10, 1)
        self.success, self.reason = self.score >= self.threshold, "counted"
        return self.score

    def is_successful(self):
        return self.success


cases = [
    LLMTestCase(name=f"case {n}", input=f"ask {n}", actual_output=OUTPUTS[n % 5], expected_output="yes")
    for n in range(150)
]
found = evaluate(
    cases,
    [Length(), ExactMatchMetric()],
    async_config=AsyncConfig(run_async=False),
    display_config=DisplayConfig(show_indicator=False, print_results=False),
    error_config=ErrorConfig(ignore_errors=True),
    cache_config=CacheConfig(write_cache=False),
)
own = [
    {
        "id": case.name,
        "output": case.actual_output,
        "passed": case.success if any(one.score is not None for one in case.metrics_data) else None,
        "checks": {one.name: one.score for one in case.metrics_data},
    }
    for case in found.test_results
]
json.dump({"found/test_run_*.json": own}, sys.stdout)
