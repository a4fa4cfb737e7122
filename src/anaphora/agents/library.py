"""What an agent may look up: the scope is fixed when it is made."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from anaphora.agents.tools import ALL, CONVERSATIONS, DOCUMENTS, checked_kind, checked_limit, checked_query, shortened
from anaphora.domain.context import Context
from anaphora.domain.documents import ARCHIVE, CONVERSATION, Document, Namespace, conversations_of, user_namespace
from anaphora.domain.filters import Equals, Field, Filter, Or
from anaphora.domain.keys import SessionKey
from anaphora.domain.messages import Role
from anaphora.domain.search import DocumentHit, Hit
from anaphora.errors import UnknownName
from anaphora.memory import Memory
from anaphora.rules.rerank import RERANK, AnyHit
from anaphora.services.retrieve import MAX_LIMIT

#: documents of which the types are looked at, to name those that there are
_LOOKED_AT: Final = 200
#: what is looked at for each that is wanted, since some are left out
_BESIDE: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """Conversations of one user, and the documents that the user and the agent may read.

    Args:
        memory: gives the open memory.
        key: whose conversations, with whom, and which one is going on.
        namespaces: documents that every user of the agent may read, besides their own.
        agents: with which agents the conversations were; None: with any.
        prompt: what the model that asks was shown: what stands there word by word is not found; None: no model asks.

    """

    memory: Callable[[], Awaitable[Memory]]
    key: SessionKey
    namespaces: tuple[Namespace, ...] = ()
    agents: tuple[str, ...] | None = ()
    prompt: Context | None = None

    async def search(self, query: str, search_type: str = CONVERSATIONS, limit: int = 5) -> list[dict[str, Any]]:
        """What was said before, and documents that answer the query, best first.

        Raises:
            InvalidInput: no query, another place than there are, or a limit out of range.
            StoreError: the database cannot be read.

        """
        words, kind, most = checked_query(query), checked_kind(search_type), checked_limit(limit)
        memory = await self.memory()
        found: list[list[dict[str, Any]]] = []
        if kind != DOCUMENTS:
            found.append(await self._archived(memory, words, most))
            found += await self._messages(memory, words, most)
        if kind != CONVERSATIONS:
            found += await self._documents(memory, words, most)
        return shortened(_merged(found)[:most])

    async def documents(self, doc_type: str = ALL, limit: int = 10) -> list[dict[str, Any]]:
        """The documents, newest first.

        Raises:
            InvalidInput: a type of which there is none, or a limit out of range.
            StoreError: the database cannot be read.

        """
        most = checked_limit(limit)
        memory = await self.memory()
        kind = checked_kind(doc_type, others=True)
        wanted: list[Document] = []
        if kind in {CONVERSATIONS, ALL}:
            wanted += await self._listed_archive(memory, most)
        if kind != CONVERSATIONS:
            wanted += await self._listed_documents(memory, None if kind in {DOCUMENTS, ALL} else kind, most)
        if not wanted and kind not in {CONVERSATIONS, DOCUMENTS, ALL}:
            there = {each.doc_type for each in await self._listed_documents(memory, None, _LOOKED_AT)}
            raise UnknownName("doc_type", kind, {CONVERSATIONS, DOCUMENTS, ALL, *there})
        newest = sorted(wanted, key=lambda each: each.id, reverse=True)
        return shortened([_of_document(each) for each in newest[:most]])

    async def _archived(self, memory: Memory, words: str, most: int) -> list[dict[str, Any]]:
        """Archived conversations."""
        hits = await memory.knowledge.search(
            words,
            namespace=conversations_of(self.key.user),
            doc_type=CONVERSATION,
            where=self._with_these_agents(),
            limit=min(MAX_LIMIT, _BESIDE * most),
            tenant=self.key.tenant,
        )
        return _best([hit for hit in hits if hit.document.source == ARCHIVE])[:most]

    async def _messages(self, memory: Memory, words: str, most: int) -> list[list[dict[str, Any]]]:
        """Messages of conversations, word for word."""
        found: list[list[dict[str, Any]]] = []
        for agent in (None,) if self.agents is None else self.agents:
            wanted = min(MAX_LIMIT, _BESIDE * most + self._shown())
            hits = await memory.search(words, user=self.key.user, agent=agent, tenant=self.key.tenant, limit=wanted)
            found.append([_of_message(hit) for hit in _in_order(hits) if self._is_told(hit)][:most])
        return found

    def _shown(self) -> int:
        """How many messages of the conversation the prompt has word by word."""
        return sum(len(span) for span in self.prompt.coverage.verbatim) if self.prompt else 0

    def _is_told(self, hit: Hit) -> bool:
        """Whether somebody said it, and the model does not see it anyway."""
        if hit.message.role is Role.TOOL:
            return False
        if self.prompt is None or hit.key != self.key:
            return True
        seen, seq = self.prompt.coverage, hit.message.seq
        return seq < seen.head and not any(seq in span for span in seen.verbatim)

    async def _documents(self, memory: Memory, words: str, most: int) -> list[list[dict[str, Any]]]:
        """Documents of the user, and those of the agent."""
        found: list[list[dict[str, Any]]] = []
        for namespace in self._places():
            hits = await memory.knowledge.search(words, namespace=namespace, limit=most, tenant=self.key.tenant)
            found.append(_best(hits))
        return found

    async def _listed_archive(self, memory: Memory, most: int) -> Sequence[Document]:
        """What compressions archived; a document that somebody put beside it by hand tells of no conversation."""
        found: list[Document] = []
        page: Sequence[Document] = ()
        while len(found) < most:
            page = await memory.knowledge.list(
                namespace=conversations_of(self.key.user),
                doc_type=CONVERSATION,
                where=self._with_these_agents(),
                limit=_LOOKED_AT,
                before=page[-1].id if page else None,
                tenant=self.key.tenant,
            )
            found += [each for each in page if each.source == ARCHIVE]
            if len(page) < _LOOKED_AT:
                break
        return found[:most]

    async def _listed_documents(self, memory: Memory, doc_type: str | None, most: int) -> list[Document]:
        found: list[Document] = []
        for namespace in self._places():
            found += await memory.knowledge.list(
                namespace=namespace, doc_type=doc_type, limit=most, tenant=self.key.tenant
            )
        return found

    def _places(self) -> tuple[Namespace, ...]:
        return tuple(dict.fromkeys((user_namespace(self.key.user), *self.namespaces)))

    def _with_these_agents(self) -> Filter | None:
        if self.agents is None:
            return None
        return Or(tuple(Equals(Field.of("agent_id"), agent) for agent in self.agents))


def _in_order(hits: Sequence[AnyHit]) -> Sequence[AnyHit]:
    """As somebody judged them; if nobody did, the most relevant first."""
    if any(RERANK in hit.scores for hit in hits):
        return hits
    return sorted(hits, key=lambda each: -each.relevance)


def _merged(found: Sequence[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Of lists one, the order of each being kept: whichever begins with what is most relevant goes on."""
    left = [deque(each) for each in found if each]
    merged: list[dict[str, Any]] = []
    while left:
        best = max(left, key=lambda each: each[0]["relevance"])
        merged.append(best.popleft())
        left = [each for each in left if each]
    return merged


def _best(hits: Sequence[DocumentHit]) -> list[dict[str, Any]]:
    """Each document once, by its best chunk."""
    seen: dict[Any, dict[str, Any]] = {}
    for hit in _in_order(hits):
        found = {**_of_document(hit.document), "text": hit.chunk.text, "relevance": round(hit.relevance, 3)}
        seen.setdefault(hit.document.id, found)
    return list(seen.values())


def _of_document(document: Document) -> dict[str, Any]:
    metadata = dict(document.metadata)
    return {
        "type": document.doc_type,
        "id": str(document.id),
        "title": document.title,
        "session": metadata.pop("session_id", None),
        "date": document.created_at.isoformat(),
        "metadata": metadata,
    }


def _of_message(hit: Hit) -> dict[str, Any]:
    return {
        "type": "message",
        "session": hit.key.session,
        "said_by": hit.message.name or hit.message.role.value,
        "date": hit.message.created_at.isoformat(),
        "text": hit.passage,
        "relevance": round(hit.relevance, 3),
    }
