"""The commands: their names, where they are, and what the list of commands says of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import typer

import anaphora
from anaphora.cli.agent_commands import Agents
from anaphora.cli.fact_commands import Facts, Subjects
from anaphora.cli.kb_commands import KnowledgeBase
from anaphora.cli.key_commands import KeyCommands
from anaphora.cli.lazy import Entry, LazyGroup
from anaphora.cli.logs import logging_to_stderr
from anaphora.cli.notepad_commands import Notepad
from anaphora.cli.options import Verbose
from anaphora.cli.retention_commands import RetentionCommands
from anaphora.cli.topic_commands import Topics


class Root(LazyGroup):
    """The commands of `anaphora`."""

    table: ClassVar[Mapping[str, Entry]] = {
        "demo": Entry(
            module="demo",
            function="demo",
            help="Show a long conversation with and without memory, step by step.",
            example="anaphora demo",
        ),
        "chat": Entry(
            module="chat",
            function="chat",
            help="Talk to an agent that remembers.",
            example="anaphora chat alice",
        ),
        "serve": Entry(
            module="serving",
            function="serve",
            help="Serve the memory over HTTP, with a page to review it.",
            example="anaphora serve --db anaphora.db --port 8765",
        ),
        "import": Entry(
            module="importing",
            function="import_file",
            help="Import conversations (OpenAI-style, ShareGPT, LoCoMo), or an export.",
            example="anaphora import chats.jsonl --user alice",
        ),
        "export": Entry(
            module="exporting",
            function="export",
            help="Write everything that is remembered to a file of JSON lines.",
            example="anaphora export alice.jsonl --user alice",
        ),
        "copy": Entry(
            module="copying",
            function="copy",
            help="Copy everything into another database, a file or a server.",
            example="anaphora copy anaphora.db postgresql://ann@localhost/memory",
        ),
        "context": Entry(
            module="reading",
            function="context",
            help="Show the prompt that a model would get, and what it leaves out.",
            example='anaphora context --user alice --session 1 --query "What can I cook tonight?" --explain',
        ),
        "history": Entry(
            module="reading",
            function="history",
            help="Show the newest messages of a session.",
            example="anaphora history --user alice --session 1 --limit 20",
        ),
        "edit": Entry(
            module="changing",
            function="edit",
            help="Correct a message; what it said before is kept.",
            example='anaphora edit 4 "I meant Tuesday." --user alice --session 1',
        ),
        "delete": Entry(
            module="changing",
            function="delete",
            help="Delete a message: no prompt shows it, no search finds it.",
            example="anaphora delete 4 --user alice --session 1",
        ),
        "search": Entry(
            module="reading",
            function="search",
            help="Find messages by their words and by what they mean.",
            example='anaphora search "what am I allergic to?" --user alice --explain',
        ),
        "reset": Entry(
            module="managing",
            function="reset",
            help="Delete a session's messages and everything made of them.",
            example="anaphora reset --user alice --session 1",
        ),
        "erase": Entry(
            module="erasing",
            function="erase",
            help="Erase a user, a session, a message, a fact or a source for good.",
            example="anaphora erase --user alice --dry-run",
        ),
        "erasures": Entry(
            module="erasing",
            function="erasures",
            help="Show the account of what was erased.",
            example="anaphora erasures",
        ),
        "pause": Entry(
            module="pausing",
            function="pause",
            help="Let the memory of a user rest: nothing is learned meanwhile.",
            example="anaphora pause --user alice",
        ),
        "resume": Entry(
            module="pausing",
            function="resume",
            help="Let the memory of a user go on.",
            example="anaphora resume --user alice",
        ),
        "verify-erasure": Entry(
            module="verifying",
            function="verify",
            help="Look for erased texts in every table, index and byte.",
            example='anaphora verify-erasure --canary "allergic to peanuts"',
        ),
        "restore": Entry(
            module="retention",
            function="restore",
            help="Bring an expired session back; an export: `import`.",
            example="anaphora restore --user alice --session 1",
        ),
        "rebuild": Entry(
            module="managing",
            function="rebuild",
            help="Make the summaries of a session anew from its messages.",
            example="anaphora rebuild 1 --user alice --wait",
        ),
        "worker": Entry(
            module="working",
            function="worker",
            help="Work on queued jobs until told to stop.",
            example="anaphora worker --drain",
        ),
        "reindex": Entry(
            module="reindexing",
            function="reindex",
            help="Give every message the vectors by which it is found by meaning.",
            example="anaphora reindex",
        ),
        "migrate": Entry(
            module="operating",
            function="migrate",
            help="Bring a database to the newest schema.",
            example="anaphora migrate --db anaphora.db",
        ),
        "doctor": Entry(
            module="operating",
            function="doctor",
            help="Check a database against the promises of Anaphora.",
            example="anaphora doctor --json",
        ),
        "bench": Entry(
            module="bench",
            function="bench",
            help="Measure how fast this version is on this machine.",
            example="anaphora bench append context",
        ),
    }


class Summaries(LazyGroup):
    """The commands of `anaphora summaries`."""

    table: ClassVar[Mapping[str, Entry]] = {
        "list": Entry(
            module="summaries",
            function="list_summaries",
            help="List versions and the work on the next ones.",
            example="anaphora summaries list --user alice --session 1 --chain",
        ),
        "show": Entry(
            module="summaries",
            function="show",
            help="Show one version, point by point.",
            example="anaphora summaries show 3 --user alice --session 1",
        ),
        "diff": Entry(
            module="summaries",
            function="diff",
            help="Show what changed between two versions.",
            example="anaphora summaries diff 2 3 --user alice --session 1",
        ),
        "stats": Entry(
            module="summaries",
            function="stats",
            help="Show how many summaries were made, how, and how long they took.",
            example="anaphora summaries stats",
        ),
    }


class Jobs(LazyGroup):
    """The commands of `anaphora jobs`."""

    table: ClassVar[Mapping[str, Entry]] = {
        "list": Entry(
            module="managing",
            function="list_jobs",
            help="List background work, newest first.",
            example="anaphora jobs list --stuck 5m",
        ),
        "retry": Entry(
            module="managing",
            function="retry",
            help="Queue failed jobs again: one by its id, or all.",
            example="anaphora jobs retry",
        ),
    }


class Evals(LazyGroup):
    """The commands of `anaphora eval`."""

    table: ClassVar[Mapping[str, Entry]] = {
        "locomo": Entry(
            module="evaluating",
            function="locomo",
            help="Measure what is found again on LoCoMo's conversations.",
            example="anaphora eval locomo locomo10.json --json",
        ),
        "recall": Entry(
            module="evaluating",
            function="recall",
            help="Measure what is found again on conversations of your own.",
            example="anaphora eval recall questions.json --json",
        ),
        "gate": Entry(
            module="evaluating",
            function="gate",
            help="Measure how well facts are told from junk, on labelled candidates.",
            example="anaphora eval gate tests/data/gate/dev.jsonl --json",
        ),
        "segmentation": Entry(
            module="evaluating",
            function="segmentation",
            help="Measure how well topic shifts are found, on dialogues with marked topics.",
            example="anaphora eval segmentation dialogues.json --json",
        ),
        "compactions": Entry(
            module="evaluating_compactions",
            function="compactions",
            help="Measure what each compaction costs and keeps, on the same conversations.",
            example="anaphora eval compactions --scripted",
        ),
        "sessions": Entry(
            module="evaluating_sessions",
            function="sessions",
            help="Play test sessions end to end, and check what must hold.",
            example="anaphora eval sessions",
        ),
    }


class Sessions(LazyGroup):
    """The commands of `anaphora sessions`."""

    table: ClassVar[Mapping[str, Entry]] = {
        "list": Entry(
            module="managing",
            function="list_sessions",
            help="List sessions, the last used first.",
            example="anaphora sessions list --user alice",
        ),
    }


class Models(LazyGroup):
    """The commands of `anaphora models`."""

    table: ClassVar[Mapping[str, Entry]] = {
        "list": Entry(
            module="models",
            function="list_models",
            help="Show which models are configured and which files are here.",
            example="anaphora models list",
        ),
        "pull": Entry(
            module="models",
            function="pull",
            help="Fetch the files of the local embedder (35 MB, once).",
            example="anaphora models pull",
        ),
    }


app = typer.Typer(
    name="anaphora",
    cls=Root,
    help="Memory for conversational agents: it keeps every message, keeps the prompt small, and brings back what "
    "matters.",
    epilog="Settings: flags over ANAPHORA_* variables over anaphora.toml (or the file that ANAPHORA_CONFIG names).",
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback()
def root(
    ctx: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
    verbose: Verbose = 0,
) -> None:
    """Print the version, or help where no command is given."""
    ctx.with_resource(logging_to_stderr(verbose))
    if version:
        typer.echo(f"anaphora {anaphora.__version__}")
    elif ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def _group(name: str, cls: type[LazyGroup], summary: str) -> None:
    group = typer.Typer(cls=cls, help=summary, rich_markup_mode=None, invoke_without_command=True)

    @group.callback()
    def show_help(ctx: typer.Context) -> None:
        if ctx.invoked_subcommand is None:
            typer.echo(ctx.get_help())

    app.add_typer(group, name=name, help=summary)


_group("summaries", Summaries, "Look into summaries: versions, points, differences, figures.")
_group("facts", Facts, "See, add, correct, share and delete what is known of users.")
_group("subjects", Subjects, "Say whom facts are about, and with whom they are shared.")
_group("topics", Topics, "See what sessions of the strategy `topics` are cut into.")
_group("kb", KnowledgeBase, "Keep, find and delete documents: the knowledge base.")
_group("notepad", Notepad, "See and rewrite what an agent noted of its sessions with a user.")
_group("retention", RetentionCommands, "Say how long sessions are kept, and bring expired ones back.")
_group("agents", Agents, "Talk to agents from configuration files, and check these.")
_group("keys", KeyCommands, "Say who may use the service.")
_group("sessions", Sessions, "List sessions.")
_group("jobs", Jobs, "Look after background work.")
_group("models", Models, "See and fetch models.")
_group("eval", Evals, "Measure how much of what was said is found again, and whether sessions go as they must.")
