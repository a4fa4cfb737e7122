"""The blocking twin of `anaphora.client`. Needs the packages of the extra `client`."""

from __future__ import annotations

from anaphora.client import Client as AsyncClient
from anaphora.sync.forward import Opening
from anaphora.sync.memory import Remembering


class Client(Remembering):
    """Everything that a service remembers. Open it with `Client.open`; may be used from several threads at once."""

    open = Opening(AsyncClient.open)
