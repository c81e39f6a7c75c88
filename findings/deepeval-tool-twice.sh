#!/bin/sh
# deepeval 4.3.1 (PyPI), the metric ToolCorrectnessMetric
#
# Expected: an agent that makes exactly the expected calls scores 1. The documentation says that the
#   score compares "whether every tool that is expected to be used was indeed called".
# Seen: of equal calls only the first counts, because a call that equals one matched before is
#   skipped: two equal calls score 0.5, four 0.25, and two with strict_mode 0. With
#   should_exact_match, which asks for more, the same calls score 1, and so they do if an argument
#   differs. Agents that poll, retry or undo lose.
# Tried on 2026-11-30 with Python 3.11.7.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check deepeval==4.3.1

cat >ask.py <<'END'
from deepeval.metrics import ToolCorrectnessMetric
from deepeval.test_case import LLMTestCase, ToolCall

def grade(calls, **options):
    metric = ToolCorrectnessMetric(async_mode=False, include_reason=False, **options)
    case = LLMTestCase(input="?", actual_output="x", tools_called=calls, expected_tools=list(calls))
    metric.measure(case, _show_indicator=False)
    return float(metric.score)

poll = ToolCall(name="poll", input_parameters={"job": 1})
other = ToolCall(name="poll", input_parameters={"job": 2})
print(grade([poll]), grade([poll] * 2), grade([poll] * 4), grade([poll, other]), end=" ")
print(grade([poll] * 2, strict_mode=True), grade([poll] * 2, should_exact_match=True))
END

seen=$(DEEPEVAL_TELEMETRY_OPT_OUT=1 OPENAI_API_KEY=none venv/bin/python ask.py | tail -n 1)
if [ "$seen" != "1.0 0.5 0.25 1.0 0.0 1.0" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "confirmed: two expected calls that are equal, and made as expected, score 0.5, and four 0.25"
