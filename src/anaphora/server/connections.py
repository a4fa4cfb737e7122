"""A connection of HTTP: the head of a request is bounded, which httptools leaves to whoever uses it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

#: bytes of a request line and its headers; browsers send a few thousand
MOST_HEAD: Final = 64 << 10
_SAID: Final = f"a request line and its headers have at most {MOST_HEAD:,} bytes here".encode()
_ANSWER: Final = (
    b"HTTP/1.1 %d Request Header Fields Too Large\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"content-length: %d\r\nconnection: close\r\n\r\n%s"
) % (HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, len(_SAID), _SAID)


class Connection(HttpToolsProtocol):
    """uvicorn's, which would keep headers for as long as they come."""

    #: bytes that came since the last head was whole, but for bodies
    _head = 0
    _in_body = False

    def data_received(self, data: bytes) -> None:
        """Read on, unless a head has become too long."""
        self._head += 0 if self._in_body else len(data)
        super().data_received(data)
        if self._head > MOST_HEAD and not self.transport.is_closing():
            self.transport.write(_ANSWER)
            self.transport.close()

    def on_headers_complete(self) -> None:
        """A head is whole."""
        self._head, self._in_body = 0, True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """A body is whole; the next head may follow."""
        self._in_body = False
        super().on_message_complete()
