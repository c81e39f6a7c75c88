"""Inspect AI grades 150 samples in two epochs, by scorers that say C, I, P, N, a number, several, and nothing."""

import json
import sys

from inspect_ai import Task, eval  # noqa: A004  # its word
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, PARTIAL, Score, includes, mean, scorer, value_to_float
from inspect_ai.solver import generate

OUTPUTS = ("yes", "no way at all", "10", "yes, or no", "é", "")
VALUES = (CORRECT, INCORRECT, PARTIAL, NOANSWER, 0.5, True, None)


@scorer(metrics=[mean()])
def odd():
    async def score(state, target):
        value = VALUES[(int(state.sample_id) + len(state.output.completion)) % len(VALUES)]
        return None if value is None else Score(value=value, explanation="odd")

    return score


@scorer(metrics={"a": [mean()], "b": [mean()]})
def several():
    async def score(state, target):
        return Score(value={"a": 1, "b": 0.25})

    return score


def make_output(number):
    output = ModelOutput.from_content("mockllm/model", OUTPUTS[number % len(OUTPUTS)])
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else it loads a tokenizer
    return output


samples = [Sample(id=number, input=f"ask {number}", target="yes") for number in range(150)]
task = Task(dataset=samples, solver=generate(), scorer=[includes(), odd(), several()], epochs=2, name="bridge")
own = {}
for form in ("eval", "json"):
    model = get_model("mockllm/model", custom_outputs=[make_output(number) for number in range(300)])
    (log,) = eval(task, model=model, log_format=form, log_dir=form, display="none")
    own[f"{form}/*.{form}"] = found = []
    for one in log.samples:
        checks = {}
        for name, score in one.scores.items():
            values = score.value if isinstance(score.value, dict) else {"": score.value}
            checks |= {f"{name}/{key}".rstrip("/"): value_to_float()(value) for key, value in values.items()}
        found.append({"id": str(one.id), "sample": one.epoch - 1, "output": one.output.completion, "checks": checks})
json.dump(own, sys.stdout)
