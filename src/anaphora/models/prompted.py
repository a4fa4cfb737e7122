"""Asking for JSON in words, for models that take no schema, and finding it in what they answer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_REQUEST = """\
Answer with one JSON object and nothing else: no explanation, no code fence. It conforms to this JSON schema:
{schema}"""
#: how an object starts: with a key, or empty; `{name}` in prose is none
_START = re.compile(r'\{\s*["}]')
#: what matters when braces are counted: the braces, and where text begins
_MARK = re.compile(r'[{}"]')
#: the rest of a JSON text, its closing quote included
_REST_OF_TEXT = re.compile(r'(?:[^"\\]|\\.)*+"', re.DOTALL)


def request(schema: Mapping[str, Any]) -> str:
    """What to tell a model so that it answers with JSON of this schema."""
    return _REQUEST.format(schema=json.dumps(schema, ensure_ascii=False))


def with_schema(messages: Sequence[Mapping[str, Any]], schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The OpenAI-shaped messages with the request in the system text: the last of the leading ones, or a new one."""
    out = [dict(message) for message in messages]
    leading = 0
    while leading < len(out) and out[leading]["role"] == "system":
        leading += 1
    if leading:
        last = out[leading - 1]
        last["content"] = f"{last['content']}\n\n{request(schema)}"
    else:
        out.insert(0, {"role": "system", "content": request(schema)})
    return out


def json_text(answer: str) -> str:
    """The first balanced JSON object in an answer, without what stands around it (code fences, pleasantries).

    Without one, the answer from its first brace on, or the whole answer: whoever parses it says what is wrong.
    Takes time linear in the length of the answer; does not check that the JSON is valid.
    """
    text = answer.strip()
    start = _START.search(text)
    if start is None:
        return text
    begin = at = start.start()
    depth = 0
    while mark := _MARK.search(text, at):
        at = mark.end()
        if mark[0] == "{":
            depth += 1
        elif mark[0] == "}":
            depth -= 1
            if depth == 0:
                return text[begin:at]
        else:
            rest = _REST_OF_TEXT.match(text, at)
            if rest is None:
                break
            at = rest.end()
    return text[begin:]
