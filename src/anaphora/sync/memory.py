"""The blocking twins of `anaphora.memory`: one line a method."""

from __future__ import annotations

from anaphora.domain.changes import Change
from anaphora.memory import AuditView as AsyncAuditView
from anaphora.memory import FactsView as AsyncFactsView
from anaphora.memory import JobsView as AsyncJobsView
from anaphora.memory import KeysView as AsyncKeysView
from anaphora.memory import KnowledgeView as AsyncKnowledgeView
from anaphora.memory import Memory as AsyncMemory
from anaphora.memory import NotepadView as AsyncNotepadView
from anaphora.memory import RetentionView as AsyncRetentionView
from anaphora.memory import Session as AsyncSession
from anaphora.memory import SubjectsView as AsyncSubjectsView
from anaphora.memory import TopicsView as AsyncTopicsView
from anaphora.sync.forward import Facade, Opening, blocking, making, plain, streaming
from anaphora.sync.host import Host


class JobsView(Facade[AsyncJobsView]):
    """Background work of a memory."""

    list = blocking(AsyncJobsView.list)
    retry = blocking(AsyncJobsView.retry)
    live = blocking(AsyncJobsView.live)


class FactsView(Facade[AsyncFactsView]):
    """What is known of a memory's users."""

    list = blocking(AsyncFactsView.list)
    get = blocking(AsyncFactsView.get)
    history = blocking(AsyncFactsView.history)
    review = blocking(AsyncFactsView.review)
    counts = blocking(AsyncFactsView.counts)
    add = blocking(AsyncFactsView.add)
    edit = blocking(AsyncFactsView.edit)
    pin = blocking(AsyncFactsView.pin)
    unpin = blocking(AsyncFactsView.unpin)
    confirm = blocking(AsyncFactsView.confirm)
    take_up = blocking(AsyncFactsView.take_up)
    share = blocking(AsyncFactsView.share)
    unshare = blocking(AsyncFactsView.unshare)
    delete = blocking(AsyncFactsView.delete)
    undo = blocking(AsyncFactsView.undo)


class SubjectsView(Facade[AsyncSubjectsView]):
    """Whom or what facts are about, and with whom they may be shared."""

    create = blocking(AsyncSubjectsView.create)
    rename = blocking(AsyncSubjectsView.rename)
    list = blocking(AsyncSubjectsView.list)
    members = blocking(AsyncSubjectsView.members)
    add_member = blocking(AsyncSubjectsView.add_member)
    remove_member = blocking(AsyncSubjectsView.remove_member)


class TopicsView(Facade[AsyncTopicsView]):
    """What sessions of the strategy `topics` are cut into."""

    list = blocking(AsyncTopicsView.list)
    show = blocking(AsyncTopicsView.show)


class KnowledgeView(Facade[AsyncKnowledgeView]):
    """Documents beside the log of a memory."""

    add = blocking(AsyncKnowledgeView.add)
    search = blocking(AsyncKnowledgeView.search)
    list = blocking(AsyncKnowledgeView.list)
    get = blocking(AsyncKnowledgeView.get)
    update = blocking(AsyncKnowledgeView.update)
    delete = blocking(AsyncKnowledgeView.delete)


class NotepadView(Facade[AsyncNotepadView]):
    """What agents note of their sessions with users."""

    show = blocking(AsyncNotepadView.show)
    history = blocking(AsyncNotepadView.history)
    edit = blocking(AsyncNotepadView.edit)
    revert = blocking(AsyncNotepadView.revert)


class RetentionView(Facade[AsyncRetentionView]):
    """How long sessions are kept that nobody uses."""

    policy = plain(AsyncRetentionView.policy)
    expired = blocking(AsyncRetentionView.expired)
    keep = blocking(AsyncRetentionView.keep)
    restore = blocking(AsyncRetentionView.restore)
    run = blocking(AsyncRetentionView.run)


class KeysView(Facade[AsyncKeysView]):
    """Keys with which a service lets people in."""

    create = blocking(AsyncKeysView.create)
    list = blocking(AsyncKeysView.list)
    revoke = blocking(AsyncKeysView.revoke)
    rotate = blocking(AsyncKeysView.rotate)
    any = blocking(AsyncKeysView.any)
    verify = blocking(AsyncKeysView.verify)
    again = blocking(AsyncKeysView.again)
    signing = plain(AsyncKeysView.signing)


class AuditView(Facade[AsyncAuditView]):
    """The account of what was changed, and in whose name."""

    record = blocking(AsyncAuditView.record)
    list = blocking(AsyncAuditView.list)
    broken_at = blocking(AsyncAuditView.broken_at)


class Session(Facade[AsyncSession]):
    """One conversation. May be used from several threads at once."""

    def __init__(self, host: Host, inner: AsyncSession) -> None:
        super().__init__(host, inner)
        self.key = inner.key

    add = blocking(AsyncSession.add)
    add_turn = blocking(AsyncSession.add_turn)
    edit = blocking(AsyncSession.edit)
    delete = blocking(AsyncSession.delete)
    messages = blocking(AsyncSession.messages)
    versions = blocking(AsyncSession.versions)
    context = blocking(AsyncSession.context)
    send = blocking(AsyncSession.send)
    stream = streaming(str, AsyncSession.stream)
    recall = blocking(AsyncSession.recall)
    summaries = blocking(AsyncSession.summaries)
    summary = blocking(AsyncSession.summary)
    diff = blocking(AsyncSession.diff)
    topics = blocking(AsyncSession.topics)
    row = blocking(AsyncSession.row)
    rebuild = blocking(AsyncSession.rebuild)
    end = blocking(AsyncSession.end)
    reset = blocking(AsyncSession.reset)


class Remembering(Facade[AsyncMemory]):
    """What memories do, wherever they are."""

    def __init__(self, host: Host, inner: AsyncMemory) -> None:
        super().__init__(host, inner)
        #: background work: list it, try failed jobs again
        self.jobs = JobsView(host, inner.jobs)
        #: what is known of users: see, add, correct, share, delete it
        self.facts = FactsView(host, inner.facts)
        #: whom or what facts are about, and with whom they are shared
        self.subjects = SubjectsView(host, inner.subjects)
        #: what sessions of the strategy `topics` are cut into
        self.topics = TopicsView(host, inner.topics)
        #: documents beside the log: add, find, change, take out
        self.knowledge = KnowledgeView(host, inner.knowledge)
        #: what agents note of their sessions with users: see, rewrite, go back
        self.notepad = NotepadView(host, inner.notepad)
        #: how long sessions are kept that nobody uses
        self.retention = RetentionView(host, inner.retention)
        #: keys with which a service lets people in
        self.keys = KeysView(host, inner.keys)
        #: what was changed through a service, and in whose name
        self.audit = AuditView(host, inner.audit)

    close = blocking(AsyncMemory.close)
    session = making(Session, plain(AsyncMemory.session))
    # the type checker sees that `**options` could hold a second `self`
    new_session = making(Session, blocking(AsyncMemory.new_session))  # type: ignore[arg-type]
    sessions = blocking(AsyncMemory.sessions)
    search = blocking(AsyncMemory.search)
    receipt = blocking(AsyncMemory.receipt)
    export = streaming(str, AsyncMemory.export)
    restore = blocking(AsyncMemory.restore)
    erase = blocking(AsyncMemory.erase)
    erasures = blocking(AsyncMemory.erasures)
    pause = blocking(AsyncMemory.pause)
    resume = blocking(AsyncMemory.resume)
    paused = blocking(AsyncMemory.paused)
    talker = plain(AsyncMemory.talker)
    changes = streaming(Change, AsyncMemory.changes)
    mark = blocking(AsyncMemory.mark)
    stats = blocking(AsyncMemory.stats)
    figures = blocking(AsyncMemory.figures)
    idle = blocking(AsyncMemory.idle)
    work = blocking(AsyncMemory.work)


class Memory(Remembering):
    """Everything that one database remembers. Open it with `Memory.open`; may be used from several threads at once."""

    def __init__(self, host: Host, inner: AsyncMemory) -> None:
        super().__init__(host, inner)
        #: what it was opened with
        self.settings = inner.settings

    open = Opening(AsyncMemory.open)
