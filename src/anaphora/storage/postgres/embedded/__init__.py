"""PostgreSQL without a server of one's own: the programs inside a wheel, run for one folder, without a port.

Several processes, and several places in one process, may open the same folder: the first starts the server, the
others use it, and the last to leave stops it. Two locks in the folder make it so: whoever uses the server shares
`users.lock`; whoever looks, starts or stops holds `turn.lock` alone. The system drops both when a process dies, so
the server of a killed owner has no user: the next one finds it running and takes it over.

Who may connect: the socket lies in a folder that only the server's user can enter, and there is no TCP. Therefore,
and only therefore, the server asks for no password (`trust`); over TCP it would refuse everybody.

PostgreSQL refuses to run as root. Started by root, the server runs as the owner of the folder; where root owns it,
the folder is given to `nobody`, and whatever else runs as `nobody` can reach the data. The folder and the wheel's
programs must lie where that user may go: nothing is copied or opened up, one line names the folder that is closed.

The log of the server, `log` in the folder, holds neither statements nor values: they are what people said.
"""

from __future__ import annotations

from anaphora.storage.postgres.embedded.postmaster import StopMode
from anaphora.storage.postgres.embedded.programs import find as find_programs
from anaphora.storage.postgres.embedded.server import Server, embedded

__all__ = ["Server", "StopMode", "embedded", "find_programs"]
