"""How an answer is held to a JSON Schema: as far as the server can, and what it can is learnt from what it refuses.

    schema   response_format json_schema: whatever is written obeys the schema, even where the model would not
    object   response_format json_object: whatever is written is JSON
    none     nothing is asked for; the instructions alone say what is wanted

"auto" begins with the schema and steps down at each refusal. The step that led to an answer is remembered, for prompts of that
purpose: some servers know no schemas, others only refuse some. A server may also take the field and not heed it: instructions
say the same in words, and whoever asks reads the answer with tolerance in any case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

from bethink.errors import InvalidInput
from bethink.models.language import Prompt

__all__ = ["MENTIONED", "Forms", "Structured", "response_format"]

Structured: TypeAlias = Literal["auto", "schema", "object", "none"]
"""The form in which an answer is asked for, or "auto": the strictest that the server takes."""

MENTIONED = re.compile(rb"response.?format|json.?(schema|object)|structured.?output|grammar", re.IGNORECASE)
"""How a refusal says that it is about the form: at OpenAI, Azure, DeepSeek, Groq, vLLM, llama.cpp, LM Studio and their kin."""

_STEPS: tuple[Structured, ...] = ("schema", "object", "none")
_OTHER = re.compile(r"[^a-zA-Z0-9_-]+")
_MOST_NAME = 64


class Forms:
    """Which form a client asks for, for prompts of each purpose. Safe to use from many threads: the worst is to ask twice.

    Raises:
        InvalidInput: `structured` is no form.
    """

    def __init__(self, structured: Structured) -> None:
        if structured not in get_args(Structured):
            found = repr(structured) if isinstance(structured, str) else f"a {type(structured).__name__}"
            raise InvalidInput("structured", found, f"choose one of: {', '.join(get_args(Structured))}")
        self._steps = _STEPS if structured == "auto" else (structured,)
        self._begin: dict[str, Structured] = {}

    def to_try(self, prompt: Prompt) -> Sequence[Structured]:
        """The forms to ask for, in order, each when the one before was refused. Never none."""
        if prompt.schema is None:
            return ("none",)
        begin = self._begin.get(prompt.purpose)
        return self._steps if begin is None else self._steps[self._steps.index(begin) :]

    def answered(self, prompt: Prompt, form: Structured) -> None:
        """Remember that a prompt of this purpose, asked so, was answered."""
        if prompt.schema is not None:
            self._begin[prompt.purpose] = form


def response_format(prompt: Prompt, form: Structured) -> dict[str, Any]:
    """The field that asks for the form, for a request to OpenAI's chat API; no field for "none"."""
    if prompt.schema is None or form == "none":
        return {}
    if form == "object":
        return {"response_format": {"type": "json_object"}}
    name = _OTHER.sub("_", prompt.purpose)[:_MOST_NAME] or "answer"
    asked = {"name": name, "schema": prompt.schema, "strict": _may_be_strict(prompt.schema)}
    return {"response_format": {"type": "json_schema", "json_schema": asked}}


def _may_be_strict(schema: object) -> bool:
    """Whether OpenAI would hold an answer to it to the letter: it then wants each object closed and all its fields required,
    and refuses the schema otherwise. Without `strict` it does its best with any."""
    if isinstance(schema, Mapping):
        fields = schema.get("properties")
        if isinstance(fields, Mapping) or schema.get("type") == "object":
            required = schema.get("required", ())
            if schema.get("additionalProperties") is not False or set(fields or ()) != set(required):
                return False
        return all(_may_be_strict(part) for part in schema.values())
    if isinstance(schema, (list, tuple)):
        return all(_may_be_strict(part) for part in schema)
    return True
