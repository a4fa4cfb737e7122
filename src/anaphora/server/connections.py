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
    #: bytes of the head that is being read, as far as it was understood
    _read = 0
    _too_long = False

    def data_received(self, data: bytes) -> None:
        """Read on, unless a head has become too long."""
        self._head += 0 if self._in_body else len(data)
        super().data_received(data)
        if self._head > MOST_HEAD and not self.transport.is_closing():
            self._refuse()

    def on_message_begin(self) -> None:
        """A head begins."""
        self._read = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """A part of the request line."""
        self._read += len(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header; a colon, a space and a line's end belong to it."""
        self._read += len(name) + len(value) + 4
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """A head is whole.

        Raises:
            ValueError: it is too long, also where all of it came at once: nobody is asked.

        """
        self._head, self._in_body = 0, True
        if self._read > MOST_HEAD:
            self._too_long = True
            raise ValueError("too long")
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """What was sent is no request, or none that is read here."""
        if self._too_long:
            self._refuse()
        else:
            super().send_400_response(msg)

    def _refuse(self) -> None:
        self.transport.write(_ANSWER)
        self.transport.close()

    def on_message_complete(self) -> None:
        """A body is whole; the next head may follow."""
        self._in_body = False
        super().on_message_complete()
