"""What `chat` shows: every word that it prints is chosen here, nothing is decided here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

from anaphora.cli.facts_view import marks_of
from anaphora.cli.ids import short_ids
from anaphora.cli.notepad_view import origin
from anaphora.cli.output import clean, plural
from anaphora.domain.context import Context
from anaphora.domain.facts import Fact, FactState
from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Message
from anaphora.domain.notepad import Page
from anaphora.domain.search import Hit
from anaphora.domain.summaries import Summary
from anaphora.domain.topics import Segment
from anaphora.services.settings import TOPICS

NOTHING_YET = "I have nothing about that yet."
#: a quote is cut after so many characters
_QUOTE = 300
#: more ranges than these are counted, not listed
_RANGES = 3
#: more facts than these are counted, not listed
_FACTS = 100


class ChatView:
    """Prints to a console. Text of users and models is shown, never obeyed."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._column = 0

    # -- the conversation ------------------------------------------------------------------------------------------

    def welcome(self, *, user: str, session: str, messages: int, model: str | None, db: str) -> None:
        """Who talks with what."""
        so_far = f", {plural(messages, 'message')} so far" if messages else ""
        self._say(f"{user}, session {session}{so_far} · {model or 'no model'} · {db}", "bold")
        if model is None:
            self._say(
                "No language model is configured: I keep what you say and answer with what I remember of it. "
                "Plug one in with --model ollama:llama3.2, or ANAPHORA_MODEL=openai:gpt-4.1-mini.",
                "yellow",
            )
        self._say("/help lists the commands, Ctrl-D ends the session.", "dim")

    def keeps_strategy(self, *, session: str, strategy: str, wanted: str) -> None:
        """What was asked for is not how the session is summarised."""
        self._say(
            f"Session {session} keeps its strategy, {strategy}: --strategy {wanted} is for new sessions.", "yellow"
        )

    def farewell(self, *, session: str, messages: int, jobs: int) -> None:
        """The end of the session."""
        if jobs:
            self._say(f"{plural(jobs, 'job')} queued: `anaphora worker --drain` does {'it' if jobs == 1 else 'them'}.")
        self._say(f"Session {session} is ended, {plural(messages, 'message')} kept. --continue goes on with it.", "dim")

    def earlier(self, messages: Sequence[Message]) -> None:
        """The last words of a session that goes on."""
        for message in messages:
            self._say(f"{message.role.value}: {_short(message.content)}", "dim")

    def begin_answer(self, name: str) -> None:
        """The name before an answer."""
        self._console.print(Text(f"{clean(name)} › ", style="bold green"), end="")
        self._column = 1

    def piece(self, text: str) -> None:
        """More of an answer, as it comes."""
        shown = clean(text.replace("\r\n", "\n"))
        self._console.file.write(shown)
        self._console.file.flush()
        if shown:
            self._column = 0 if shown.endswith("\n") else 1

    def end_answer(self) -> None:
        """The end of the last line of an answer."""
        if self._column:
            self._console.file.write("\n")
            self._console.file.flush()
        self._column = 0

    def interrupted(self, *, kept: bool) -> None:
        """Ctrl-C stopped an answer."""
        kept_text = "interrupted: kept as far as it came" if kept else "interrupted before the first word"
        self._say(f"({kept_text}; /retry answers again)", "yellow")

    def failed(self, error: str) -> None:
        """The model did not answer."""
        self.error(f"{error.rstrip('.')}; your message is kept: /retry answers it again")

    def recalled(self, name: str, hits: Sequence[Hit]) -> None:
        """What is remembered, in place of an answer."""
        self.begin_answer(name)
        self.piece(NOTHING_YET if not hits else "I remember:")
        self.end_answer()
        for hit in hits:
            self.hit(hit)

    def hit(self, hit: Hit) -> None:
        """A message that was found, with its date."""
        message = hit.message
        who = message.name or message.role.value
        where = f"{message.created_at.astimezone():%d %B %Y}, session {hit.key.session}, {who}"
        self._say(f"  {where}: “{_short(message.content)}”")

    def after_turn(self, context: Context) -> None:
        """What the memory did, on one dim line."""
        self._say("  " + account_line(context), "dim")

    def remembered(self, facts: Sequence[Fact]) -> None:
        """What was learned, a dim line each."""
        for fact in facts:
            doubtful = ", to be confirmed" if fact.state is FactState.REVIEW else ""
            self._say(f"  remembered{doubtful}: {_short(fact.content)} (/undo)", "dim")

    # -- commands --------------------------------------------------------------------------------------------------

    def prompt(self, context: Context, *, sent: bool) -> None:
        """The exact prompt, section by section, with the account."""
        self._say(
            "The prompt of the last answer, as it was sent:"
            if sent
            else "The prompt as it stands now, before your next message:",
            "bold",
        )
        for message in context.messages:
            seq = "" if message.seq is None else f" {message.seq}"
            name = f" ({message.name})" if message.name else ""
            cut = ", shortened" if message.shortened else ""
            self._say(
                f"── {message.section.value}{seq} · {message.role.value}{name} · {message.tokens} tokens{cut}", "cyan"
            )
            self._say(message.content)
        counts = context.coverage.counts()
        self._say(f"── {account_line(context)}", "cyan")
        self._say(
            f"   budget {context.budget:,} tokens · {', '.join(f'{n} {name}' for name, n in counts.items())}", "dim"
        )

    def summaries(self, chain: Sequence[Summary]) -> None:
        """The chain, newest first, and the points of the newest."""
        if not chain:
            self._say("There is no summary yet: everything stands word by word.")
            return
        numbers = {summary.id: summary.version for summary in chain}
        for summary in chain:
            base = numbers.get(summary.base_id) if summary.base_id else None
            after = f" ← v{base}" if base else ""
            by = summary.model or summary.method.value
            self._say(
                f"v{summary.version}{after}  messages {span(summary.range)} · {summary.tokens} tokens · {by} · "
                f"{summary.generation_ms} ms · {summary.status.value}"
            )
        self._say(f"v{chain[0].version} says:", "bold")
        for point in chain[0].points:
            self._say(f"  ({span(point.range)}) {point.text}")

    def topics(self, segments: Sequence[Segment], *, strategy: str) -> None:
        """The topics of the session, newest first."""
        if not segments and strategy == TOPICS:
            self._say("There are no topics yet: nothing was said.")
        elif not segments:
            self._say(
                f"This session keeps no topics: its strategy is {strategy}. New ones do with `chat --strategy topics`."
            )
        for segment in segments:
            topic = segment.topic
            again = "" if segment.goes_on_from is None else f" · continues {segment.goes_on_from}"
            name = (topic.name if topic else None) or ("what is talked about now" if topic is None else "no name yet")
            self._say(f"messages {span(segment.range)} · {segment.state}{again} · {name}", "bold")
            if topic is not None and topic.summary is not None:
                self._say(f"  {topic.summary}")

    def compacted(self, made: Sequence[Summary], topics: Sequence[Segment], waiting: str | None) -> None:
        """What `/compact` brought."""
        for segment in topics:
            self._say(f"closed the topic of messages {span(segment.range)}")
        for summary in made:
            self._say(f"summarised {span(summary.range)} as v{summary.version} in {summary.generation_ms} ms")
        if waiting is not None:
            self._say(f"not done yet: {waiting}", "yellow")
        elif not made and not topics:
            self._say("nothing due")

    def found(self, words: str, hits: Sequence[Hit]) -> None:
        """What `/search` brought."""
        if not hits:
            self._say(f"nothing found for {words!r}")
        for hit in hits:
            self.hit(hit)

    def known(self, facts: Sequence[Fact], *, user: str) -> None:
        """What `/memory` brought."""
        if not facts:
            self._say(f"Nothing is known of {user} yet.")
            return
        ids = short_ids(fact.id for fact in facts)
        for fact in facts[:_FACTS]:
            whose = (f"by {fact.owner}" if fact.owner != user else "", f"about {fact.subject}" if fact.subject else "")
            marks = ", ".join(filter(None, (fact.category, marks_of(fact), *whose)))
            self._say(f"  {ids[fact.id]}  {_short(fact.content)} ({marks})")
        more = f"{len(facts) - _FACTS} more; " if len(facts) > _FACTS else ""
        self._say(f"  {more}`anaphora facts` corrects, shares and deletes them", "dim")

    def noted(self, page: Page | None, *, empty: str) -> None:
        """What `/notepad` brought."""
        if page is None:
            self._say(empty)
            return
        self._say(page.text or "(Everything was taken out.)")
        self._say(f"  version {page.version}, {origin(page)}; `anaphora notepad` rewrites it and goes back", "dim")

    def taken_back(self, fact: Fact, left: Fact | None) -> None:
        """What `/undo` did."""
        if left is None:
            self._say(f"forgotten: {_short(fact.content)}; it is not learned again")
        else:
            self._say(f"its last change is taken back: {_short(left.content)} ({left.category}, {left.state.value})")

    def commands(self, commands: Mapping[str, str]) -> None:
        """What can be typed."""
        width = max(map(len, commands))
        for name, help_text in commands.items():
            self._say(f"  {name:<{width}}  {help_text}")
        self._say("  Alt-Enter begins a new line; Ctrl-C stops an answer; // says a text that begins with /", "dim")

    def told(self, text: str) -> None:
        """A plain remark."""
        self._say(text)

    def hint(self, text: str) -> None:
        """A remark that may be overlooked."""
        self._say(f"({text})", "dim")

    def error(self, text: str) -> None:
        """What went wrong, on one line."""
        self._say(" ".join(text.split()), "red")

    def _say(self, text: str, style: str = "") -> None:
        self.end_answer()
        self._console.print(Text(clean(text), style=style), soft_wrap=not self._console.is_terminal)


def account_line(context: Context) -> str:
    """Tokens, saving and coverage of a context: where each message is, and that none is missing."""
    coverage = context.coverage
    parts = [f"context {context.tokens:,} of {context.tokens_full_history:,} tokens"]
    if context.tokens < context.tokens_full_history:
        parts[0] += f" ({1 - context.tokens / context.tokens_full_history:.0%} saved)"
    for name, ranges in (("summarised", coverage.summarised), ("elided", coverage.elided)):
        if ranges:
            parts.append(f"{name} {_spans(ranges)}")
    parts.append(f"all {plural(coverage.head, 'message')} accounted for")
    if context.degraded:
        parts.append(f"degraded: {', '.join(context.degraded)}")
    return " · ".join(parts)


def span(messages: SeqRange) -> str:
    """First and last message of a range."""
    return f"{messages.start}-{messages.stop - 1}" if len(messages) > 1 else f"{messages.start}"


def _spans(ranges: Sequence[SeqRange]) -> str:
    """The ranges, or, if they are many, how many messages of which stretch."""
    if len(ranges) <= _RANGES:
        return ", ".join(map(span, ranges))
    return f"{sum(map(len, ranges))} of {ranges[0].start}-{ranges[-1].stop - 1}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _QUOTE else line[: _QUOTE - 1] + "…"
