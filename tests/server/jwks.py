"""An issuer on this machine: keys that sign, and a real server that tells which ones they are."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

#: made once: RSA keys take long
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
STRANGER = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def public(algorithm: Any, key: Any, kid: str) -> Mapping[str, Any]:
    document: dict[str, Any] = json.loads(algorithm.to_jwk(key.public_key()))
    return {**document, "kid": kid}


def keys() -> list[Mapping[str, Any]]:
    return [
        public(RSAAlgorithm, RSA, "rsa"),
        public(ECAlgorithm, EC, "ec"),
        public(OKPAlgorithm, ED, "ed"),
    ]


@dataclass
class Issuer:
    """What the server says, and how often it was asked for what."""

    url: str = ""
    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def says(self, *found: Mapping[str, Any]) -> None:
        self.body = json.dumps({"keys": found}).encode()

    def claims(self, **changes: Any) -> dict[str, Any]:
        now = int(time.time())
        claims = {"iss": self.url, "aud": "anaphora", "sub": "ann", "iat": now, "exp": now + 300, "scope": "read write"}
        claims |= changes
        return {name: value for name, value in claims.items() if value is not None}

    def token(
        self, *, key: Any = RSA, algorithm: str = "RS256", headers: Mapping[str, Any] | None = None, **changes: Any
    ) -> str:
        return jwt.encode(self.claims(**changes), key, algorithm=algorithm, headers={"kid": "rsa", **(headers or {})})


@contextmanager
def issuer() -> Iterator[Issuer]:
    here = Issuer()
    here.says(*keys())

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            here.asked.append(self.path)
            self.send_response(here.status)
            for name, value in here.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(here.body)))
            self.end_headers()
            self.wfile.write(here.body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    here.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield here
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
