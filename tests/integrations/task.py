"""A task as a user writes it, except for the mock model, whose replies are given."""

from inspect_ai import Task, task
from inspect_ai.model import ChatMessage, ModelOutput, ModelUsage, get_model
from inspect_ai.solver import generate

from evalstore.integrations.inspect import dataset_samples, rubric_scorer

SAID = {"Say one.": "please", "Say two.": "moreover! thanks", "And then?": "nothing"}


def answer(messages: list[ChatMessage], *_: object) -> ModelOutput:
    output = ModelOutput.from_content("mockllm/model", SAID[messages[-1].text])
    output.usage = ModelUsage()
    return output


@task
def small() -> Task:
    model = get_model("mockllm/model", custom_outputs=answer)
    return Task(dataset_samples("dataset/small@1.0.0"), solver=generate(), scorer=rubric_scorer(), model=model)
