"""The loop of `chat`: lines in, turns and commands out, until there are no more lines."""

from __future__ import annotations

import anyio

from anaphora.cli.chat_commands import After, Commands
from anaphora.cli.chat_input import LineSource, StopPressed
from anaphora.cli.chat_talk import Talk
from anaphora.domain.messages import Role
from anaphora.errors import AnaphoraError

#: earlier messages that the arrow keys bring back
HISTORY = 200
#: earlier messages that are shown when a session goes on
SHOWN = 2


class ChatLoop:
    """Talks until the lines end.

    Args:
        talk: the turns.
        source: gives the lines.
        commands: what a line with a slash does.

    """

    def __init__(self, talk: Talk, source: LineSource, commands: Commands) -> None:
        self._talk = talk
        self._source = source
        self._commands = commands

    async def run(self) -> None:
        """Talk; the session is ended whichever way this ends."""
        room = self._talk.room
        try:
            await room.remembered.begin()
            await self._bring_back()
            await self._converse()
        finally:
            with anyio.CancelScope(shield=True):
                await room.session.end()

    async def _bring_back(self) -> None:
        """Show the last words of a session that goes on, and fill the history of the prompt."""
        earlier = await self._talk.room.session.messages(limit=HISTORY)
        self._talk.view.earlier(earlier[-SHOWN:])
        self._source.recall([message.content for message in earlier if message.role is Role.USER])

    async def _converse(self) -> After:
        """Talk in the present room until it is left."""
        stopped = False
        while True:
            try:
                entry = await self._read()
            except EOFError:
                return After.END
            except StopPressed:
                if stopped:
                    return After.END
                stopped = True
                self._talk.view.hint("Ctrl-C again, Ctrl-D or /end to leave")
                continue
            stopped = False
            after = await self._handle(entry)
            if after is After.TEMPORARY:
                after = await self._temporary()
            if after is not After.GO_ON:
                return after

    async def _temporary(self) -> After:
        """Talk in a room that leaves no trace, until it is left; the room of before is as it was."""
        before = self._talk.room
        async with self._commands.open_temporary() as room:
            self._talk.room = room
            self._talk.view.told(
                "Temporary: this reads nothing of the database and writes nothing to it. /temp leaves and forgets."
            )
            self._source.recall(())
            try:
                after = await self._converse()
            finally:
                self._talk.room = before
        if after is After.LEAVE_ROOM:
            self._talk.view.told(
                f"The temporary conversation is forgotten; session {before.session.key.session} goes on."
            )
            await self._bring_back()
            return After.GO_ON
        return after

    async def _read(self) -> str:
        """The next entry; a long silence ends the session, and the prompt stays."""
        room = self._talk.room
        while True:
            with anyio.move_on_after(None if room.ended else self._talk.manner.idle_seconds):
                return await self._source.read("temp › " if room.temporary else "you › ")
            await room.session.end()
            room.ended = True
            self._talk.view.hint("nothing was said for a while: the session is ended; write, and it goes on")

    async def _handle(self, entry: str) -> After:
        text = entry.strip()
        if not text:
            return After.GO_ON
        try:
            if text.startswith("/") and not text.startswith("//"):
                return await self._commands.run(text)
            await self._talk.say(text.removeprefix("/") if text.startswith("//") else entry)
        except AnaphoraError as error:
            self._talk.view.error(str(error))
        return After.GO_ON
