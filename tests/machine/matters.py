"""What the machine of topics talks about, and what its model answers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from anaphora.domain.messages import NewMessage
from anaphora.domain.wire import PromptMessage
from anaphora.errors import ModelError, ModelRefused, ModelUnavailable
from anaphora.prompts import topic_segments, topic_summary
from anaphora.rules.admission import new_message
from anaphora.testing.scripted import Script, faithful

#: the telling words of each matter
MATTERS: Final[Mapping[str, str]] = {
    "pears": "pears orchards pruning",
    "boats": "boats sails harbour",
    "taxes": "taxes invoices refunds",
    "chess": "chess openings gambits",
}
#: what a failing model does: raises, or returns in place of an answer
_FAULTS: Final[Mapping[str, ModelError | str]] = {
    "timeout": ModelUnavailable("no answer in time"),
    "wrong_key": ModelRefused("401"),
    "empty": "",
    "nonsense": '{"topics": [{"first": -1, "name": "", "summary": ""}], "name": "", "summary": "  "}',
    "refusal": '{"name": "Sorry", "summary": "I cannot help with that."}',
    "bad_json": '{"summary": "half',
    "huge": json.dumps({"name": "n" * 5_000, "summary": "s " * 50_000}),
}
#: it answers, but is always, or never, of the opinion that it is the same matter
_OPINIONS: Final = {"same": True, "another": False}
MODES: Final = (*_FAULTS, *_OPINIONS)
#: the word that only this version of this message has
_WORD: Final = re.compile(r"w(\d+)v(\d+)x")


def text(matter: str, seq: int, version: int, *, back: bool = False) -> str:
    """What a message says: first the word that only this version of it has."""
    opening = "going back to" if back else "about"
    return f"W{seq}v{version}x {opening} {MATTERS[matter]}"


def message(role: str, content: str) -> NewMessage:
    """A message on its way to the log; `call` calls a tool, and has no text."""
    if role != "call":
        return new_message(role, content)
    name = content.split(maxsplit=1)[0]
    return new_message("assistant", "", parts=({"type": "tool_call", "id": name, "name": "look", "arguments": {}},))


def spoken_of(spoken: str) -> set[tuple[int, int]]:
    """The messages that a text quotes, and in which version."""
    return {(int(seq), int(version)) for seq, version in _WORD.findall(spoken.lower())}


@dataclass(slots=True)
class Matters:
    """What was really said: texts by their numbers, None where a message was deleted."""

    said: list[str | None] = field(default_factory=list)
    versions: list[int] = field(default_factory=list)
    ended: bool = False

    @property
    def live(self) -> list[int]:
        """The messages that are there."""
        return [seq for seq, said in enumerate(self.said) if said is not None]

    @property
    def deleted(self) -> set[int]:
        """Those that are not."""
        return {seq for seq, said in enumerate(self.said) if said is None}

    def add(self, texts: Sequence[str]) -> None:
        """Something more is said, and the session goes on."""
        self.said += texts
        self.versions += [1] * len(texts)
        self.ended = False

    def edit(self, seq: int, matter: str) -> str:
        """What the message says from now on."""
        self.versions[seq] += 1
        changed = text(matter, seq, self.versions[seq])
        self.said[seq] = changed
        return changed

    def outdated(self, spoken: str) -> set[int]:
        """The messages of which a text says what is not so any more."""
        return {
            seq
            for seq, version in spoken_of(spoken)
            if seq >= len(self.said) or self.said[seq] is None or version != self.versions[seq]
        }


def script_of(mode: str) -> Script:
    """What a model in this mode answers: honest ("ok"), of one opinion, or one of the faults."""
    fault = _FAULTS.get(mode)

    def script(messages: Sequence[PromptMessage], schema: Mapping[str, Any] | None) -> str:
        if isinstance(fault, ModelError):
            raise fault
        if fault is not None:
            return fault
        title = schema.get("title") if schema is not None else None
        if title == topic_segments.TITLE and mode in _OPINIONS:
            return _divided(messages[-1].content, same=_OPINIONS[mode])
        answer = faithful(messages, schema)
        if title == topic_segments.TITLE and len(messages[-1].content) % 2:
            firsts = [topic["first"] for topic in json.loads(answer)["topics"]]
            # where nothing is said of them, each is described by itself
            return json.dumps({"topics": [{"first": first, "name": "", "summary": ""} for first in firsts]})
        if title == topic_summary.TITLE:
            said = json.loads(answer)
            # what calls a tool has no words
            return json.dumps({"name": said["name"] or "Tools", "summary": said["summary"] or "Tools were called."})
        return answer

    return script


def _divided(prompt: str, *, same: bool) -> str:
    """Every message that may begin a topic does, and nothing is said of them; or none but those that must."""
    records = [json.loads(line) for line in prompt.splitlines() if line.startswith("{")]
    first, texts = records[0]["n"], {record["n"]: record["text"] for record in records}
    begins, may = ([int(seq) for seq in re.findall(r"\d+", line)] for line in prompt.splitlines()[:2])
    firsts = sorted({first, *begins, *(() if same else may)})
    topics = []
    for seq, stop in zip(firsts, [*firsts[1:], None], strict=True):
        said = " ".join(text for n, text in texts.items() if n >= seq and (stop is None or n < stop))
        told = {"name": said[:20].strip() or "Tools", "summary": said or "Tools were called."}
        topics.append({"first": seq, **(told if same else {"name": "", "summary": ""})})
    return json.dumps({"topics": topics})
