"""What can be checked after a turn: the answer, the prompt that was sent, and what is stored.

Words are looked for whatever their case; `"a|b"` is either of the two. Each check says what is wrong, or None.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from anaphora.domain.facts import Fact, FactState
from anaphora.domain.messages import Role
from anaphora.domain.topics import Segment
from anaphora.domain.wire import PromptMessage, SectionName
from anaphora.evals.sessions.scenarios import Check, Seen

#: what is read of a list at once: more than any scenario has
_ALL: Final = 1000
#: characters of an answer that are shown where it is wrong
_SHOWN: Final = 100
#: an importance from which on the seed keeps a fact
IMPORTANT: Final = 7
_ASIDE: Final = (FactState.ACTIVE, FactState.ASIDE)


def says(*words: str) -> Check:
    """The answer has each of the words."""

    async def check(seen: Seen) -> str | None:
        return _lacks(f"the answer {_short(seen.answer)!r}", seen.answer, words)

    return check


def says_not(*words: str) -> Check:
    """There is an answer, and it has none of the words."""

    async def check(seen: Seen) -> str | None:
        return _has(f"the answer {_short(seen.answer)!r}", seen.answer, words) if seen.answer else "there is no answer"

    return check


def shown(*words: str, section: SectionName | None = None) -> Check:
    """The prompt has each of the words, beside what was just asked; with a section, in that part of it."""

    async def check(seen: Seen) -> str | None:
        return _lacks(_part(section), _prompt(seen, section), words)

    return check


def hidden(*words: str, section: SectionName | None = None) -> Check:
    """The prompt has none of the words, beside what was just asked."""

    async def check(seen: Seen) -> str | None:
        return _has(_part(section), _prompt(seen, section), words)

    return check


def system_text(exactly: str) -> Check:
    """The system text of the prompt is what the application gave, and nothing else."""

    async def check(seen: Seen) -> str | None:
        system = [each for each in _messages(seen) if each.role is Role.SYSTEM]
        others = [each for each in system if each.section is not SectionName.INSTRUCTIONS]
        wire = [] if seen.context is None else seen.context.to_openai()
        texts = [str(message["content"]) for message in wire if message["role"] == "system"]
        return None if texts == [exactly] and not others else f"the system text is {texts!r}"

    return check


def within_budget(*, head: int) -> Check:
    """The prompt costs no more than it may, and each of so many messages is in one part of its account."""

    async def check(seen: Seen) -> str | None:
        context = seen.context
        if context is None:
            return "there is no prompt"
        if sum(message.tokens for message in context.messages) > context.budget or context.tokens > context.budget:
            return f"the prompt has {context.tokens} tokens, more than {context.budget}"
        counted = sum(context.coverage.counts().values())
        return None if counted == head else f"{counted} messages are accounted for, not {head}"

    return check


def knows(*words: str, least: int = 1) -> Check:
    """One fact that is believed has all the words, and is so important at least."""

    async def check(seen: Seen) -> str | None:
        fact = next((each for each in await _facts(seen) if _lacks("", each.content, words) is None), None)
        if fact is None:
            return f"no fact says {', '.join(words)}"
        return None if fact.importance >= least else f"{fact.content!r} has importance {fact.importance}"

    return check


def knows_not(*words: str) -> Check:
    """No fact that is believed has any of the words."""

    async def check(seen: Seen) -> str | None:
        return _has("a fact", "\n".join(each.content for each in await _facts(seen)), words)

    return check


def knew(*words: str) -> Check:
    """A fact that has all the words is kept as one that is no longer true."""

    async def check(seen: Seen) -> str | None:
        closed = await _facts(seen, (FactState.CLOSED,))
        return None if any(_lacks("", each.content, words) is None for each in closed) else f"none: {', '.join(words)}"

    return check


def knows_many(least: int, *words: str) -> Check:
    """So many facts with the words at least were learned, believed or set aside."""

    async def check(seen: Seen) -> str | None:
        found = sum(_lacks("", each.content, words) is None for each in await _facts(seen, _ASIDE))
        return None if found >= least else f"{found} such facts, not {least}"

    return check


def once(*words: str) -> Check:
    """Exactly one fact that is believed has all the words."""

    async def check(seen: Seen) -> str | None:
        found = [each.content for each in await _facts(seen) if _lacks("", each.content, words) is None]
        return None if len(found) == 1 else f"{len(found)} facts say {', '.join(words)}"

    return check


def finds(query: str, *words: str) -> Check:
    """A search finds, among messages and facts, each of the words."""

    async def check(seen: Seen) -> str | None:
        return _lacks(f"what is found for {query!r}", await _found(seen, query), words)

    return check


def finds_not(query: str, *words: str) -> Check:
    """A search finds none of the words."""

    async def check(seen: Seen) -> str | None:
        return _has(f"what is found for {query!r}", await _found(seen, query), words)

    return check


def topic(*words: str, session: str | None = None) -> Check:
    """A closed topic of the session (None: of this one) was described, and name and summary have all the words."""

    async def check(seen: Seen) -> str | None:
        closed = [each.topic for each in await _topics(seen, session) if each.topic is not None]
        texts = [f"{each.name}: {each.summary}" for each in closed if each.summary]
        if any(_lacks("", text, words) is None for text in texts):
            return None
        return (
            f"no closed topic says {', '.join(words)}: {' | '.join(_short(text) for text in texts) or 'none is there'}"
        )

    return check


def topics_without(*words: str) -> Check:
    """There are described topics of this session, and none has any of the words."""

    async def check(seen: Seen) -> str | None:
        closed = [each.topic for each in await _topics(seen, None) if each.topic is not None and each.topic.summary]
        if not closed:
            return "no topic was described"
        return _has("a topic", "\n".join(f"{each.name}: {each.summary}" for each in closed), words)

    return check


def closed_topics(count: int) -> Check:
    """So many topics of this session are closed."""

    async def check(seen: Seen) -> str | None:
        closed = [each for each in await _topics(seen, None) if each.topic is not None]
        return None if len(closed) == count else f"{len(closed)} topics are closed, not {count}"

    return check


def open_topic(*words: str, without: Sequence[str] = ()) -> Check:
    """The messages of the open topic have each of the words, and none of the others."""

    async def check(seen: Seen) -> str | None:
        opened = next((each for each in await _topics(seen, None) if each.topic is None), None)
        if opened is None:
            return "no topic is open"
        agent, session = seen.sitting.agent, seen.sitting.session
        _, said = await seen.memory.topics.show(opened.range.start, session=session, agent=agent, **seen.who)
        text = "\n".join(message.content for message in said if message.role is Role.USER)
        return _lacks("the open topic", text, words) or _has("the open topic", text, without)

    return check


def notepad_without(*words: str) -> Check:
    """Something was noted, and none of the words stands in it."""

    async def check(seen: Seen) -> str | None:
        text = await _notepad(seen)
        return _has("the notepad", text, words) if text.strip() else "nothing was noted"

    return check


def noted() -> Check:
    """The notepad has a page, and it is not empty."""

    async def check(seen: Seen) -> str | None:
        return None if (await _notepad(seen)).strip() else "nothing was noted"

    return check


async def _notepad(seen: Seen) -> str:
    page = await seen.memory.notepad.show(agent=seen.sitting.agent, **seen.who)
    return "" if page is None else page.text


async def _facts(seen: Seen, states: Sequence[FactState] = (FactState.ACTIVE,)) -> Sequence[Fact]:
    return await seen.memory.facts.list(states=states, limit=_ALL, **seen.who)


async def _found(seen: Seen, query: str) -> str:
    kinds = ("messages", "facts", "chunks")
    result = await seen.memory.search(query, agent=seen.sitting.agent, limit=50, kinds=kinds, **seen.who)
    return "\n".join(
        [
            *(hit.message.content for hit in result),
            *(hit.fact.content for hit in result.facts),
            *(hit.chunk.text for hit in result.chunks),
        ]
    )


async def _topics(seen: Seen, session: str | None) -> Sequence[Segment]:
    name = session or seen.sitting.session
    return await seen.memory.topics.list(session=name, agent=seen.sitting.agent, limit=_ALL, **seen.who)


def _messages(seen: Seen) -> Sequence[PromptMessage]:
    """The prompt without what was just asked."""
    messages = () if seen.context is None else seen.context.messages
    return messages[:-1] if messages and messages[-1].content == seen.asked else messages


def _prompt(seen: Seen, section: SectionName | None) -> str:
    return "\n".join(each.content for each in _messages(seen) if section in {None, each.section})


def _part(section: SectionName | None) -> str:
    return "the prompt" if section is None else f"the part {section.value!r} of the prompt"


def _lacks(where: str, text: str, words: Iterable[str]) -> str | None:
    folded = text.casefold()
    missing = [word for word in words if not any(each.casefold() in folded for each in word.split("|"))]
    return f"{where} lacks {', '.join(missing)}" if missing else None


def _has(where: str, text: str, words: Iterable[str]) -> str | None:
    folded = text.casefold()
    there = [word for word in words if any(each.casefold() in folded for each in word.split("|"))]
    return f"{where} has {', '.join(there)}" if there else None


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
