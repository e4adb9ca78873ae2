"""Decisions in the form of OpenAI clients: an input and a list of questions, answered by a list.

The client's own types (`openai.types.Decision` and the parameters of `decisions.create`) are the source. The form is
read into the internal one, and an answer of that into the form; a question that fails is answered by a refusal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vela_jax.contract import InvalidRequest
from vela_jax.surfaces.shown import kind_of, shown
from vela_jax.systemone.json_values import canonical_json

MAX_QUESTIONS: Final = 400
_IGNORED: Final = ("prompt_cache_key", "prompt_cache_options", "safety_identifier")
_MEMBERS: Final = ("input", "model", "questions", *_IGNORED)
_QUESTION_MEMBERS: Final[Mapping[str, tuple[str, ...]]] = {
    "predicate": (),
    "choice": ("choices",),
    "score": ("levels",),
}


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question as it came: its name, and the values or labels that its options stand for, in order."""

    kind: str
    name: str | None
    values: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenAIDecisions:
    """A request of that form: the internal body that asks the same, and what its answer needs."""

    body: dict[str, Any]
    asked: tuple[_Asked, ...]

    def answer(self, response: Mapping[str, Any]) -> dict[str, Any]:
        """The internal form's response as a list of answers in the order of the questions."""
        usage = response["usage"]
        answers = response["answers"]
        return {
            "model": response["model"],
            "answers": [_answer(asked, answers[str(index)]) for index, asked in enumerate(self.asked)],
            "usage": {
                "input_tokens": usage["input_tokens"],
                "input_tokens_details": {"cache_write_tokens": 0, "cached_tokens": 0},
                "output_tokens": usage["output_tokens"],
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": usage["input_tokens"] + usage["output_tokens"],
            },
        }


def is_openai_form(body: Any) -> bool:
    """Whether a body of `/v1/decisions` has that form: an `input`, and questions as an array."""
    return isinstance(body, dict) and "input" in body and isinstance(body.get("questions"), list)


def read_openai(body: dict[str, Any]) -> OpenAIDecisions:
    """Read a request of that form. Raises InvalidRequest."""
    unknown = sorted(name for name in body if name not in _MEMBERS)
    if unknown:
        raise InvalidRequest(f"unknown members {shown(unknown)}; beside input, decisions takes {list(_MEMBERS)}")
    questions = body["questions"]
    if not 1 <= len(questions) <= MAX_QUESTIONS:
        raise InvalidRequest(f"questions must hold 1 to {MAX_QUESTIONS} questions, got {len(questions)}")
    read = [_read_question(question, f"questions[{index}]") for index, question in enumerate(questions)]
    state, images = _read_input(body["input"])
    members: dict[str, Any] = {
        "state": state,
        "questions": {str(index): question for index, (_, question) in enumerate(read)},
    }
    if images:
        members["images"] = images
    if "model" in body:
        members["model"] = body["model"]
    return OpenAIDecisions(members, tuple(asked for asked, _ in read))


def _read_question(question: Any, where: str) -> tuple[_Asked, dict[str, Any]]:
    if not isinstance(question, dict):
        raise InvalidRequest(f"{where} must be an object, got {kind_of(question)}")
    kind = question.get("type")
    if not isinstance(kind, str) or kind not in _QUESTION_MEMBERS:
        raise InvalidRequest(f"{where}.type must be one of {list(_QUESTION_MEMBERS)}")
    name = question.get("name")
    if name is not None and not isinstance(name, str):
        raise InvalidRequest(f"{where}.name must be a string, got {kind_of(name)}")
    allowed = ("type", "name", "instructions", *_QUESTION_MEMBERS[kind])
    unknown = sorted(member for member in question if member not in allowed)
    if unknown:
        raise InvalidRequest(f"{where} has unknown members {shown(unknown)}; a {kind} takes {list(allowed)}")
    instructions = _read_instructions(question.get("instructions"), f"{where}.instructions")
    if kind == "choice":
        return _read_choice(question.get("choices"), name, instructions, where)
    if kind == "score":
        return _read_score(question.get("levels"), name, instructions, where)
    return _Asked(kind, name), {"type": "noul", "instructions": instructions}


def _read_instructions(value: Any, where: str) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise InvalidRequest(f"{where} must be a string or a list of parts, got {kind_of(value)}")
    texts, images = _read_parts(value, where)
    if images:
        raise InvalidRequest(f"{where}: images are read in the input only")
    return "\n".join(texts)


def _read_choice(choices: Any, name: str | None, instructions: str, where: str) -> tuple[_Asked, dict[str, Any]]:
    options = _read_options(choices, "value", f"{where}.choices")
    values = [value for value, _ in options]
    if not all(isinstance(value, str | bool) for value in values):
        raise InvalidRequest(f"{where}.choices: a value must be a string or a boolean")
    keys = [value if isinstance(value, str) else json.dumps(value) for value in values]
    if len(set(keys)) < len(keys):  # a string and a boolean of the same text are distinct
        keys = [json.dumps(value, ensure_ascii=False) for value in values]
    if len(set(keys)) < len(keys):
        raise InvalidRequest(f"{where}.choices: each choice must be unique")
    criteria = {key: description for key, (_, description) in zip(keys, options, strict=True)}
    return _Asked("choice", name, tuple(values)), {
        "type": "choice",
        "instructions": instructions,
        "criteria": criteria,
    }


def _read_score(levels: Any, name: str | None, instructions: str, where: str) -> tuple[_Asked, dict[str, Any]]:
    options = _read_options(levels, "label", f"{where}.levels")
    labels = [label for label, _ in options]
    if not all(isinstance(label, str) for label in labels):
        raise InvalidRequest(f"{where}.levels: a label must be a string")
    texts = [label if description is None else f"{label}: {description}" for label, description in options]
    return _Asked("score", name, tuple(labels)), {"type": "score", "instructions": instructions, "criteria": texts}


def _read_options(options: Any, key: str, where: str) -> list[tuple[Any, str | None]]:
    if not isinstance(options, list):
        raise InvalidRequest(f"{where} must be a list of {{{key}, description}}, got {kind_of(options)}")
    found: list[tuple[Any, str | None]] = []
    for option in options:
        if not isinstance(option, dict) or key not in option or set(option) - {key, "description"}:
            raise InvalidRequest(f"{where}: each must be an object with {key} and, if wanted, description")
        description = option.get("description")
        if description is not None and not isinstance(description, str):
            raise InvalidRequest(f"{where}: a description must be a string, got {kind_of(description)}")
        found.append((option[key], description))
    return found


def _read_input(value: Any) -> tuple[Any, list[str]]:
    """The state and its images: a text, or the items in order, their parts as text."""
    if isinstance(value, str):
        return value, []
    if not isinstance(value, list) or not value:
        raise InvalidRequest(f"input must be a string or a list of at least one item, got {kind_of(value)}")
    images: list[str] = []
    items = [_read_item(item, f"input[{index}]", images) for index, item in enumerate(value)]
    if len(items) == 1 and set(items[0]) == {"role", "content"} and items[0]["role"] == "user":
        return items[0]["content"], images
    return items, images


def _read_item(item: Any, where: str, images: list[str]) -> dict[str, Any]:
    """A message as its role and text, a call or its output as it is; parts become text, images go to `images`."""
    if not isinstance(item, dict):
        raise InvalidRequest(f"{where} must be an object, got {kind_of(item)}")
    kind = item.get("type", "message")
    member = _CONTENT.get(kind) if isinstance(kind, str) else None
    if member is None:
        raise InvalidRequest(f"{where}.type must be one of {list(_CONTENT)}")
    if member not in item:
        raise InvalidRequest(f"{where}.{member} is required")
    content = item[member]
    if not isinstance(content, str):
        if not isinstance(content, list):
            raise InvalidRequest(f"{where}.{member} must be a string or a list of parts, got {kind_of(content)}")
        texts, found = _read_parts(content, f"{where}.{member}")
        images += found
        content = "\n".join(texts)
    if kind == "message":
        if item.get("role") not in _ROLES:
            raise InvalidRequest(f"{where}.role must be one of {list(_ROLES)}")
        return {"role": item["role"], "content": content}
    kept = {name: item[name] for name in ("type", "name", "call_id") if name in item}
    return {**kept, member: content}


_CONTENT: Final[Mapping[str, str]] = {
    "message": "content",
    "function_call": "arguments",
    "function_call_output": "output",
    "custom_tool_call": "input",
    "custom_tool_call_output": "output",
}
_ROLES: Final = ("user", "developer", "system", "assistant")
_TEXT_PARTS: Final[Mapping[str, str]] = {"input_text": "text", "output_text": "text", "refusal": "refusal"}


def _read_parts(parts: Sequence[Any], where: str) -> tuple[list[str], list[str]]:
    """Texts of the parts in order, JSON as its canonical text, and the data URLs of images."""
    texts: list[str] = []
    images: list[str] = []
    for index, part in enumerate(parts):
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "input_json" and isinstance(part.get("data"), dict | list):
            texts.append(canonical_json(part["data"]))
        elif kind == "input_image" and isinstance(part.get("image_url"), str):
            images.append(part["image_url"])
        elif isinstance(kind, str) and isinstance(part.get(_TEXT_PARTS.get(kind, "")), str):
            texts.append(part[_TEXT_PARTS[kind]])
        else:
            raise InvalidRequest(f"{where}[{index}] must be a part of text, JSON or an image with its content")
    return texts, images


def _answer(asked: _Asked, answer: Mapping[str, Any]) -> dict[str, Any]:
    if "error" in answer:
        return {"type": "refusal", "name": asked.name}
    if asked.kind == "predicate":
        return {"type": "predicate", "name": asked.name, "probability": answer["noul"]}
    probabilities = list(answer["probabilities"].values())
    if asked.kind == "choice":
        place = list(answer["probabilities"]).index(answer["choice"])
        return {
            "type": "choice",
            "name": asked.name,
            "choice": asked.values[place],
            "confidence": answer["confidence"],
            "probabilities": [
                {"value": value, "probability": probability}
                for value, probability in zip(asked.values, probabilities, strict=True)
            ],
        }
    return {
        "type": "score",
        "name": asked.name,
        "score": answer["score"],
        "confidence": answer["confidence"],
        "probabilities": [
            {"label": label, "value": index, "probability": probability}
            for index, (label, probability) in enumerate(zip(asked.values, probabilities, strict=True))
        ],
    }
