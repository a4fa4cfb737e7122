"""How the command line shows notepads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anaphora.cli.output import cell, plural, say, table
from anaphora.domain.notepad import Page, PageAction
from anaphora.settings import Settings


def page_json(page: Page) -> dict[str, Any]:
    """A page, with what it was made of."""
    return {
        "user": page.user,
        "agent": page.agent,
        "version": page.version,
        "action": page.action,
        "text": page.text,
        "tokens": page.tokens,
        "session": page.session.session if page.session is not None else None,
        "range": page.range,
        "method": page.method,
        "model": page.model,
        "prompt_version": page.prompt_version,
        "trust": page.trust,
        "restores": page.restores,
        "created_at": page.created_at,
    }


def origin(page: Page) -> str:
    """Where a page is from, in a few words."""
    match page.action:
        case PageAction.EDITED:
            return "written by the user"
        case PageAction.REVERTED:
            return f"version {page.restores} again"
        case _ if page.session is not None and page.range is not None:
            read = f"messages {page.range.start} to {page.range.stop - 1} of session {page.session.session}"
            return f"from {read}, by {page.model}"
        case _:
            return str(page.action)


def why_empty(settings: Settings) -> str:
    """Why a notepad may be empty."""
    if settings.notepad.enabled == "none":
        return "Nothing is noted: the setting notepad.enabled is none."
    if settings.memory_model_for(settings.agent, task="reflect").model is None:
        return "Nothing is noted: no page is written without a language model, and none is configured."
    if settings.notepad.enabled == "topics":
        return "Nothing is noted yet: a page is written when a session ends that the strategy topics serves."
    return "Nothing is noted yet: a page is written when a session ends."


def show_page(page: Page | None, *, empty: str) -> None:
    """What a notepad says."""
    if page is None:
        say(empty)
        return
    say(page.text or "(Everything was taken out.)")
    say()
    what = f"version {page.version} of {cell(page.created_at)}, {plural(page.tokens, 'token')}"
    say(f"{what}, {origin(page)}, trust {page.trust}")


def show_pages(pages: Sequence[Page], *, empty: str) -> None:
    """A line for each page."""
    table(
        ("version", "at", "what", "tokens", "trust", "text"),
        ((page.version, page.created_at, origin(page), page.tokens, page.trust, page.text) for page in pages),
        empty=empty,
    )
