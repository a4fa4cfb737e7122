"""What the JSON documents of the command line hold."""

from __future__ import annotations

from typing import Any

from anaphora.domain.context import Context
from anaphora.domain.jobs import SEED_WORDS, Job
from anaphora.domain.messages import Message
from anaphora.domain.search import ChunkHit, Hit
from anaphora.domain.summaries import Point, Summary
from anaphora.ports.rows import SessionRow


def message_json(message: Message) -> dict[str, Any]:
    """A message of the log."""
    return {
        "id": message.id,
        "seq": message.seq,
        "turn": message.turn,
        "role": message.role,
        "name": message.name,
        "content": message.content,
        "parts": [dict(part) for part in message.parts],
        "metadata": dict(message.metadata),
        "tokens": message.tokens,
        "created_at": message.created_at,
        "source": message.source,
        "trust": message.trust,
        "version": message.version,
        "changed_at": message.changed_at,
        "deleted": message.deleted,
    }


def hit_json(hit: Hit) -> dict[str, Any]:
    """A message that was found, with where it stands."""
    return {
        "user": hit.key.user,
        "agent": hit.key.agent,
        "session": hit.key.session,
        **hit.to_dict(),
        "passage": hit.passage,
        **message_json(hit.message),
    }


def chunk_json(hit: ChunkHit) -> dict[str, Any]:
    """A chunk that was found, with where it stands."""
    return {
        "user": hit.key.user,
        "agent": hit.key.agent,
        "session": hit.key.session,
        "range": [hit.chunk.range.start, hit.chunk.range.stop],
        "text": hit.chunk.text,
        "method": hit.chunk.method,
        "relevance": round(hit.relevance, 4),
        "found_by": found_by(hit.hit),
    }


def found_by(hit: Hit | None) -> dict[str, Any] | None:
    """The message by which something else was found, and why it was."""
    if hit is None:
        return None
    return {"agent": hit.key.agent, "session": hit.key.session, "seq": hit.message.seq, **hit.to_dict()}


def session_json(row: SessionRow) -> dict[str, Any]:
    """A session."""
    return {
        "id": row.id,
        "user": row.key.user,
        "agent": row.key.agent,
        "session": row.key.session,
        "strategy": row.strategy,
        "subject": row.subject,
        "messages": row.head,
        "turns": row.turns,
        "tokens": row.tokens,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "ended_at": row.ended_at,
        "keep_days": row.keep_days,
    }


def job_json(job: Job) -> dict[str, Any]:
    """A job; `status` is its state in the words of lists of summaries."""
    return {
        "id": job.id,
        "kind": job.kind,
        "state": job.state,
        "status": SEED_WORDS[job.state],
        "user": job.key.user,
        "agent": job.key.agent,
        "session": job.key.session,
        "range": job.range,
        "attempt": job.attempt,
        "max_attempts": job.max_attempts,
        "run_at": job.run_at,
        "lease_until": job.lease_until,
        "needs_model": job.needs_model,
        "from_seq": job.from_seq,
        "reason": job.reason,
        "created_at": job.created_at,
        "updated_at": job.updated_at,
    }


def point_json(point: Point) -> dict[str, Any]:
    """One point of a summary."""
    return {
        "text": point.text,
        "range": point.range,
        "elided": list(point.elided),
        "method": point.method,
        "tokens": point.tokens,
    }


def summary_json(summary: Summary) -> dict[str, Any]:
    """A version with its points."""
    return {
        "id": summary.id,
        "base_id": summary.base_id,
        "version": summary.version,
        "strategy": summary.strategy,
        "range": summary.range,
        "status": summary.status,
        "method": summary.method,
        "model": summary.model,
        "prompt_version": summary.prompt_version,
        "trust": summary.trust,
        "created_at": summary.created_at,
        "generation_ms": summary.generation_ms,
        "tokens": summary.tokens,
        "points": [point_json(point) for point in summary.points],
        "structure": summary.structure.to_dict(),
    }


def context_json(context: Context, *, wire: str, explain: bool) -> dict[str, Any]:
    """A prompt with its account; `wire` says in which shape its messages stand."""
    match wire:
        case "openai":
            shown: Any = {"messages": context.to_openai()}
        case "anthropic":
            shown = context.to_anthropic()
        case _:
            shown = {
                "messages": [
                    {
                        "section": message.section,
                        "role": message.role,
                        "name": message.name,
                        "content": message.content,
                        "parts": [dict(part) for part in message.parts],
                        "seq": message.seq,
                        "tokens": message.tokens,
                        "shortened": message.shortened,
                    }
                    for message in context.messages
                ]
            }
    document = {
        **shown,
        "budget": context.budget,
        "tokens": context.tokens,
        "tokens_full_history": context.tokens_full_history,
        "coverage": context.coverage.to_dict(),
        "degraded": list(context.degraded),
    }
    if explain:
        document["explain"] = [dict(line.to_dict()) for line in context.explain()]
    return document
