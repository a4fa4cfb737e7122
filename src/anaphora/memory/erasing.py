"""What a caller of the public API wants erased."""

from __future__ import annotations

from uuid import UUID

from anaphora.domain.erasure import ErasureKind, Target
from anaphora.errors import InvalidInput

#: a message by its number in the session that is named, or by its id; as text, too
Which = int | UUID | str


def target_of(
    *,
    user: str | None,
    agent: str,
    session: str | None,
    message: Which | None,
    fact: UUID | str | None,
    source: str | None,
) -> Target:
    """What these names mean together.

    Raises:
        InvalidInput: they name nothing, or more than one thing.

    """
    if sum(given is not None for given in (message, fact, source)) > 1:
        raise InvalidInput("name one thing to erase: a message, a fact, or a source")
    if fact is not None:
        if session is not None:
            raise InvalidInput("a fact belongs to no session: name it alone")
        return Target(kind=ErasureKind.FACT, user=user, id=_uuid(fact, "a fact"))
    if source is not None:
        if session is not None:
            raise InvalidInput("a source is erased from every session: name a user with it, or nothing")
        return Target(kind=ErasureKind.SOURCE, user=user, source=source)
    if message is not None:
        return _message(user, agent, session, message)
    if session is not None:
        if user is None:
            raise InvalidInput(f"whose session {session!r} is to be erased? name its user")
        return Target(kind=ErasureKind.SESSION, user=user, agent=agent, session=session)
    if user is None:
        raise InvalidInput("name what is to be erased: a user, a session, a message, a fact or a source")
    return Target(kind=ErasureKind.USER, user=user)


def _message(user: str | None, agent: str, session: str | None, message: Which) -> Target:
    """A number is one of a session; anything else is an id, which needs no session."""
    number = message if isinstance(message, int) else None
    if isinstance(message, str) and message.isascii() and message.isdigit() and len(message) < 10:
        number = int(message)
    if number is None or isinstance(message, bool):
        if session is not None:
            raise InvalidInput(f"in a session a message is named by its number, not {message!r}")
        return Target(kind=ErasureKind.MESSAGE, user=user, id=_uuid(message, "a message"))
    if user is None or session is None:
        raise InvalidInput(f"message {number} of which session? name user and session, or give the message's id")
    if number < 0:
        raise InvalidInput(f"messages are numbered from 0, not {number}")
    return Target(kind=ErasureKind.MESSAGE, user=user, agent=agent, session=session, seq=number)


def _uuid(given: Which, what: str) -> UUID:
    if isinstance(given, UUID):
        return given
    try:
        return UUID(str(given))
    except ValueError:
        raise InvalidInput(f"{str(given)!r} is no id of {what}") from None
