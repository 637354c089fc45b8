"""Holds recorded exchanges with model providers against the types of the providers' own libraries.

Requests: what hookwire sends. Replies: what the model server of the tests says, so that the tests
speak of something real. Usage: validate.py EXCHANGES.jsonl
"""

import functools
import json
import sys
from collections import Counter

import anthropic.types
import ollama
import pydantic
import typing_extensions
from anthropic.types import message_create_params
from google.genai import types as gemini
from openai.types import chat
from openai.types.chat import completion_create_params


def forbid_unknown(package):
    """Lets the dictionaries of a library's requests have no members but their own, at any depth."""
    for name, module in list(sys.modules.items()):
        if name.startswith(package):
            for kind in vars(module).values():
                if typing_extensions.is_typeddict(kind):
                    # Some take open files.
                    config = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=True)
                    kind.__pydantic_config__ = config


adapter = functools.cache(pydantic.TypeAdapter)


def check(annotation, value):
    exhaust(adapter(annotation).validate_python(value))


def exhaust(value):
    """What is validated as an iterable is validated only when somebody looks."""
    if isinstance(value, dict):
        value = value.values()
    if not isinstance(value, (str, bytes)) and hasattr(value, "__iter__"):
        for item in value:
            exhaust(item)


def members(model):
    fields = model.model_fields.items()
    return {name for name, _ in fields} | {field.alias for _, field in fields if field.alias}


def known_only(model, value):
    unknown = set(value) - members(model)
    assert not unknown, f"{model.__name__} has no {unknown}"


def openai_request(body, stream, path):
    assert path == "/v1/chat/completions", path
    kind = "CompletionCreateParamsStreaming" if stream else "CompletionCreateParamsNonStreaming"
    check(getattr(completion_create_params, kind), body)


def openai_reply(reply, stream):
    if stream:
        for chunk in reply:
            chat.ChatCompletionChunk.model_validate(chunk, strict=True)
    else:
        chat.ChatCompletion.model_validate(reply, strict=True)


def anthropic_request(body, stream, path):
    assert path == "/v1/messages", path
    kind = "MessageCreateParamsStreaming" if stream else "MessageCreateParamsNonStreaming"
    check(getattr(message_create_params, kind), body)


def anthropic_reply(reply, stream):
    if stream:
        for chunk in reply:
            adapter(anthropic.types.RawMessageStreamEvent).validate_python(chunk)
    else:
        anthropic.types.Message.model_validate(reply)


def gemini_request(body, stream, path):
    model, action = path.removeprefix("/v1beta/models/").split(":")
    assert model and action == ("streamGenerateContent?alt=sse" if stream else "generateContent"), path
    known = {"contents", "systemInstruction", "generationConfig", "tools"}
    assert set(body) <= known, set(body) - known
    # These refuse members that they don't have.
    for content in body["contents"]:
        gemini.Content.model_validate(content)
    gemini.Content.model_validate(body["systemInstruction"])
    gemini.GenerationConfig.model_validate(body["generationConfig"])
    for tool in body.get("tools", []):
        gemini.Tool.model_validate(tool)


def gemini_reply(reply, stream):
    for chunk in reply if stream else [reply]:
        gemini.GenerateContentResponse.model_validate(chunk)


# Newer than the library: the server cuts what doesn't fit unless it is told not to.
OLLAMA_NEWER = {"truncate", "shift"}


def ollama_request(body, stream, path):
    assert path == "/api/chat", path
    known_only(ollama._types.ChatRequest, set(body) - OLLAMA_NEWER)
    assert body["stream"] is stream
    ollama._types.ChatRequest.model_validate(body)
    for message in body["messages"]:
        known_only(ollama.Message, message)
    for tool in body.get("tools", []):
        known_only(ollama.Tool, tool)
    known_only(ollama.Options, body["options"])


def ollama_reply(reply, stream):
    for chunk in reply if stream else [reply]:
        ollama.ChatResponse.model_validate(chunk)


def main(path):
    forbid_unknown("openai.types")
    forbid_unknown("anthropic.types")
    counts, failures = Counter(), 0
    with open(path, encoding="utf-8") as exchanges:
        for number, line in enumerate(exchanges, 1):
            exchange = json.loads(line)
            provider, stream = exchange["provider"], exchange["stream"]
            try:
                globals()[f"{provider}_request"](exchange["request"], stream, exchange["path"])
                globals()[f"{provider}_reply"](exchange["reply"], stream)
            except (AssertionError, pydantic.ValidationError, ValueError) as error:
                failures += 1
                print(f"FAILED line {number}, {provider}, stream={stream}: {error}\n    {line[:400]}")
            tools = "tools" if exchange["request"].get("tools") else "schema"
            counts[f"{provider} {'streamed' if stream else 'plain'} {tools}"] += 1
    for what, count in sorted(counts.items()):
        print(f"ok {what}: {count} exchanges")
    # Each provider, plain and streamed, with tools and with a schema.
    missing = 16 - len(counts)
    if missing:
        print(f"FAILED {missing} kinds of exchanges were not recorded")
    print(f"{sum(counts.values()) - failures} passed, {failures + missing} failed")
    return failures + missing


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1]) else 0)
