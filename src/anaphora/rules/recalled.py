"""What is remembered beside the conversation, as blocks of a prompt: notes, facts, topics, threads, quotes. Pure.

Each block is data between marks in a message of role `user`, has a share of the room, and says of each of its entries
why it stands there or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anaphora.domain.context import Line
from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Role
from anaphora.domain.wire import PromptMessage, SectionName
from anaphora.rules.conversations import ConversationBlock, choose_conversations, source_of
from anaphora.rules.facts.shown import FactBlock, choose_facts
from anaphora.rules.material import Material
from anaphora.rules.memory_block import MEMORY_NAME
from anaphora.rules.notepad import NotepadBlock, choose_notes
from anaphora.rules.relevant import Relevant, choose
from anaphora.rules.tokens import Count
from anaphora.rules.topics.shown import TopicBlock, choose_past, choose_threads

#: the shares of the room that the notepad, facts, topics of other sessions, threads of this one, and archived
#: conversations may take at most
_NOTEPAD_SHARE = 8
_FACTS_SHARE = 4
_PAST_SHARE = 6
_THREADS_SHARE = 4
_TOLD_SHARE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """The blocks that do not depend on which messages of the conversation have room."""

    notes: NotepadBlock
    facts: FactBlock
    past: TopicBlock
    threads: TopicBlock
    told: ConversationBlock

    @property
    def tokens(self) -> int:
        """What they cost together."""
        return self.notes.tokens + self.facts.tokens + self.past.tokens + self.threads.tokens + self.told.tokens

    def messages(self, relevant: Relevant) -> tuple[PromptMessage, ...]:
        """The blocks in their order, with what was found behind them; empty ones are left out."""
        return (
            *_block(SectionName.NOTEPAD, self.notes),
            *_block(SectionName.FACTS, self.facts),
            *_block(SectionName.TOPICS, self.past),
            *_block(SectionName.THREADS, self.threads),
            *_block(SectionName.CONVERSATIONS, self.told),
            *_block(SectionName.RELEVANT, relevant),
        )

    def lines(self, relevant: Relevant) -> tuple[Line, ...]:
        """An entry of `Context.explain()` for all that could stand in the blocks."""
        return (
            *_note_lines(self.notes),
            *_fact_lines(self.facts),
            *_topic_lines(SectionName.TOPICS, self.past),
            *_topic_lines(SectionName.THREADS, self.threads),
            *_told_lines(self.told),
            *_quotes(relevant),
        )


def recall(material: Material, left: int, wanted: int, count: Count) -> Recalled:
    """The blocks, each within its share of what the blocks before it have left.

    Args:
        material: what may stand in the prompt.
        left: tokens that are left for them and for the conversation.
        wanted: tokens of the conversation that stand or fall with the budget.
        count: the token counter.

    """
    notes = _notes(material, left, count)
    left -= notes.tokens
    facts = _facts(material, left, count)
    left -= facts.tokens
    told = _told(material, left, count)
    left -= told.tokens
    return Recalled(
        notes=notes,
        facts=facts,
        past=_past(material, left, count),
        threads=_threads(material, left, wanted, count),
        told=told,
    )


def _told(material: Material, left: int, count: Count) -> ConversationBlock:
    """What earlier conversations said, within its own share."""
    return choose_conversations(
        material.told, material.told_wanted, room=left // _TOLD_SHARE, mark=material.told_mark, count=count
    )


def _past(material: Material, left: int, count: Count) -> TopicBlock:
    return choose_past(material.past, room=left // _PAST_SHARE, mark=material.topics_mark, count=count)


def _threads(material: Material, left: int, wanted: int, count: Count) -> TopicBlock:
    """Whole topics of the session, where the open one leaves room; else in a quarter of it."""
    room = min(left // 2, max(left // _THREADS_SHARE, left - wanted))
    hidden = {message.seq for message in material.messages}
    return choose_threads(material.threads, room=room, hidden=hidden, mark=material.topics_mark, count=count)


def quote(material: Material, shown: Sequence[SeqRange], left: int, count: Count) -> Relevant:
    """What was found and has room, but for messages that stand in the prompt already."""
    return choose(
        material.hits,
        room=min(left, material.hits_tokens),
        shown={seq for span in shown for seq in span},
        session_id=material.session_id,
        mark=material.hits_mark,
        count=count,
        thresholds=material.thresholds,
    )


def _facts(material: Material, left: int, count: Count) -> FactBlock:
    """What is known, within its own share: a small prompt is not filled with it."""
    if not material.known:
        return FactBlock()
    room = min(material.facts_tokens, left // _FACTS_SHARE)
    return choose_facts(material.known, user=material.user, room=room, mark=material.facts_mark, count=count)


def _notes(material: Material, left: int, count: Count) -> NotepadBlock:
    """What the notepad says, within its own share."""
    room = min(material.page_tokens, left // _NOTEPAD_SHARE)
    return choose_notes(material.page, room=room, mark=material.page_mark, count=count)


def _block(
    section: SectionName, block: NotepadBlock | FactBlock | Relevant | TopicBlock | ConversationBlock
) -> tuple[PromptMessage, ...]:
    if not block.text:
        return ()
    return (PromptMessage(section=section, role=Role.USER, name=MEMORY_NAME, content=block.text, tokens=block.tokens),)


def _note_lines(notes: NotepadBlock) -> tuple[Line, ...]:
    if notes.page is None:
        return ()
    return (
        Line(
            section=SectionName.NOTEPAD if notes.text else None,
            source=f"notepad, version {notes.page.version}",
            range=None,
            tokens=notes.tokens,
            included=bool(notes.text),
            why=notes.why,
        ),
    )


def _fact_lines(facts: FactBlock) -> tuple[Line, ...]:
    return tuple(
        Line(
            section=SectionName.FACTS if shown.included else None,
            source=f"fact {shown.known.fact.id}",
            range=None,
            tokens=shown.tokens,
            included=shown.included,
            why=shown.why,
            id=shown.known.fact.id,
        )
        for shown in facts.facts
    )


def _topic_lines(section: SectionName, block: TopicBlock) -> tuple[Line, ...]:
    return tuple(
        Line(
            section=section if shown.included else None,
            source=shown.source,
            range=shown.topic.range if section is SectionName.THREADS else None,
            tokens=shown.tokens,
            included=shown.included,
            why=shown.why,
        )
        for shown in block.topics
    )


def _told_lines(told: ConversationBlock) -> tuple[Line, ...]:
    return tuple(
        Line(
            section=SectionName.CONVERSATIONS if entry.included else None,
            source=source_of(entry.hit),
            range=None,
            tokens=entry.tokens,
            included=entry.included,
            why=entry.why,
            scores=entry.hit.to_dict(),
            id=entry.hit.document.id,
        )
        for entry in told.entries
    )


def _quotes(relevant: Relevant) -> tuple[Line, ...]:
    return tuple(
        Line(
            section=SectionName.RELEVANT if quote.included else None,
            source=f"message {quote.hit.message.seq} of {quote.hit.key.session}",
            range=None,
            tokens=quote.tokens,
            included=quote.included,
            why=quote.why,
            message=(quote.hit.key, quote.hit.message.seq),
            whole=quote.whole,
            scores=quote.hit.to_dict(),
        )
        for quote in relevant.quotes
    )
