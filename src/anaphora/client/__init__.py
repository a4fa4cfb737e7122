"""A memory that a service keeps, with the API of the memory in a file.

    from anaphora.client import Client

    async with Client.open("http://127.0.0.1:8765", key="anaphora_...") as memory:
        chat = memory.session(user="alice", session="s1")
        await chat.add("user", "I'm allergic to peanuts.")
        context = await chat.context("What can I cook tonight?", budget=2000)

Needs the packages of the extra `client`.
"""

from __future__ import annotations

from importlib.util import find_spec

from anaphora.errors import MissingExtra

if find_spec("httpx2") is None:
    raise MissingExtra("the client of a service", "client")

from anaphora.client.doorman import Keyring
from anaphora.client.memory import Client
from anaphora.client.session import RemoteSession

__all__ = ["Client", "Keyring", "RemoteSession"]
