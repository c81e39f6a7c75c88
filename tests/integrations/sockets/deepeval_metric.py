"""DeepEval asserts and evaluates test cases by our metric: `deepeval_metric.py STORE`."""

from __future__ import annotations

import sys

import pytest
from deepeval import assert_test, evaluate
from deepeval.evaluate import DisplayConfig
from deepeval.test_case import LLMTestCase, ToolCall

from evalstore.integrations.deepeval import RubricMetric

STORE = sys.argv[1]
tone = RubricMetric("rubric/tone@1.0.0", store=STORE)
bad = LLMTestCase(input="Say two.", actual_output="moreover! thanks")
good = LLMTestCase(input="Say two.", actual_output="please")

assert_test(good, [tone], run_async=False)
with pytest.raises(AssertionError, match=r"rubric/tone@1\.0\.0"):
    assert_test(bad, [tone], run_async=False)
assert (tone.score, tone.is_successful(), tone.threshold) == (pytest.approx(1 / 3), False, 0.5)
assert "calm failed" in tone.reason

shown = DisplayConfig(print_results=False, show_indicator=False)
found = evaluate([bad, good], [tone], display_config=shown)  # asynchronous, from a folder that is not a store
measured = {one.actual_output: one for one in found.test_results}
assert {output: one.success for output, one in measured.items()} == {"moreover! thanks": False, "please": True}
(data,) = measured["moreover! thanks"].metrics_data
assert (data.name, data.score, data.threshold) == ("rubric/tone@1.0.0", pytest.approx(1 / 3), 0.5)

# What a rubric takes from the question is in the metadata of a test case.
asked = RubricMetric("rubric/asked@1.0.0", store=STORE)
keys = {"output": ["please"], "said_as": "thanks?$"}
assert asked.measure(LLMTestCase(input="?", actual_output="please", metadata=keys)) == 0.5

# Without the calls of tools nothing can be graded: an error, and no score that a mean could count.
tools = RubricMetric("rubric/tools@1.0.0", store=STORE)
call = ToolCall(name="search", input_parameters={"share": 0.1})
called = LLMTestCase(input="?", actual_output="x", tools_called=[call])
silent = LLMTestCase(input="?", actual_output="x")
assert (tools.measure(called), tools.error) == (1, None)
assert (tools.measure(silent), tools.is_successful()) == (None, False)
(result,) = evaluate([silent], [tools], display_config=shown).test_results
assert (result.success, result.metrics_data[0].score) == (False, None)
assert "unscored" in result.metrics_data[0].error
