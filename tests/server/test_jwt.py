"""T3: a JWT lets in whom its issuer means, and nobody else, whatever is written in it."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import RSAAlgorithm
from tests.memory.harness import opened
from tests.server.harness import HERE, Known, person
from tests.server.jwks import EC, ED, RSA, STRANGER, Issuer, b64, issuer, keys, public

from anaphora.domain.principals import OF_PERSONS, Permission
from anaphora.errors import ConfigError
from anaphora.server import create_app
from anaphora.server.gate import Either
from anaphora.server.jwt_gate import JwtGate
from anaphora.settings.sections import OidcSettings

pytestmark = pytest.mark.anyio


@pytest.fixture
def here() -> Iterator[Issuer]:
    with issuer() as open_issuer:
        yield open_issuer


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def gate_of(here: Issuer, clock: Clock | None = None, **changes: Any) -> JwtGate:
    settings = OidcSettings(**{"issuer": here.url, **changes})
    return JwtGate(settings, tenant="t", now=clock or Clock())


@pytest.mark.parametrize(("key", "algorithm", "kid"), [(RSA, "RS256", "rsa"), (EC, "ES256", "ec"), (ED, "EdDSA", "ed")])
async def test_who_has_a_token_of_the_issuer_is_its_subject(here: Issuer, key: Any, algorithm: str, kid: str) -> None:
    token = here.token(key=key, algorithm=algorithm, headers={"kid": kid})
    found = await gate_of(here).principal(token)
    assert found is not None
    assert (found.tenant, found.user, found.by) == ("t", "ann", "jwt")
    assert found.permissions == {Permission.READ, Permission.WRITE}
    assert here.asked == ["/.well-known/jwks.json"]


async def test_tenant_user_and_scopes_come_from_the_claims_that_are_configured(here: Issuer) -> None:
    gate = gate_of(here, user_claim="email", tenant_claim="org", scope_claim="perms", scopes=("read",))
    found = await gate.principal(here.token(email="ann@example.org", org="acme", perms=["all", "other"]))
    assert found is not None
    assert (found.tenant, found.user, found.permissions) == ("acme", "ann@example.org", OF_PERSONS)
    without = await gate.principal(here.token(email="ann@example.org", org="acme", perms="openid operate"))
    assert without is not None
    assert without.permissions == {Permission.READ}
    for odd in (7, {"all": True}, [["all"]], None):
        weak = await gate.principal(here.token(email="ann", org="acme", perms=odd))
        assert weak is not None
        assert weak.permissions == {Permission.READ}
    refused: tuple[dict[str, Any], ...] = (
        {"org": None},
        {"org": 7},
        {"org": ""},
        {"org": ["acme"]},
        {"org": "a\x00b"},
        {"email": None},
    )
    for claims in refused:
        assert await gate.principal(here.token(**{"email": "ann", "org": "acme", **claims})) is None, claims


def signed(header: Mapping[str, Any], claims: Mapping[str, Any], secret: bytes | None) -> str:
    """A token by hand: libraries refuse to make these."""
    text = f"{b64(json.dumps(header).encode())}.{b64(json.dumps(claims).encode())}"
    signature = b"" if secret is None else hmac.new(secret, text.encode(), hashlib.sha256).digest()
    return f"{text}.{b64(signature)}"


def tampered(token: str, **changes: Any) -> str:
    head, body, signature = token.split(".")
    claims = {**jwt.decode(token, options={"verify_signature": False}), **changes}
    assert body
    return f"{head}.{b64(json.dumps(claims).encode())}.{signature}"


def pem() -> bytes:
    return RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


NOW = int(time.time())
FORGED: Mapping[str, Callable[[Issuer], str]] = {
    "no algorithm": lambda here: signed({"alg": "none", "kid": "rsa"}, here.claims(), None),
    "no algorithm, spelled otherwise": lambda here: signed({"alg": "nOnE", "kid": "rsa"}, here.claims(), None),
    "the public key as a secret": lambda here: signed({"alg": "HS256", "kid": "rsa"}, here.claims(), pem()),
    "an empty secret": lambda here: signed({"alg": "HS256", "kid": "rsa"}, here.claims(), b""),
    "the key of somebody else": lambda here: here.token(key=STRANGER),
    "another algorithm of the same key": lambda here: here.token(algorithm="PS256"),
    "the algorithm of another key": lambda here: here.token(key=EC, algorithm="ES256"),
    "a longer hash": lambda here: here.token(algorithm="RS512"),
    "its own key in its head": lambda here: here.token(
        key=STRANGER, headers={"jwk": dict(public(RSAAlgorithm, STRANGER, "rsa"))}
    ),
    "another place for keys in its head": lambda here: here.token(
        key=STRANGER, headers={"jku": f"{here.url}/mine.json"}
    ),
    "a critical extension": lambda here: here.token(headers={"crit": ["x"], "x": 1}),
    "a changed user": lambda here: tampered(here.token(), sub="bob"),
    "no signature": lambda here: here.token().rpartition(".")[0] + ".",
    "half a token": lambda here: here.token()[:50],
    "no token": lambda _: "..",
    "a head that is no JSON": lambda _: f"{b64(b'no')}.{b64(b'{}')}.{b64(b'x')}",
    "a head that is a list": lambda _: f"{b64(b'[]')}.{b64(b'{}')}.{b64(b'x')}",
    "letters beyond ASCII": lambda here: here.token() + "é",
    "more than anybody needs": lambda here: here.token(more="x" * 20_000),
    "no id of a key": lambda here: jwt.encode(here.claims(), RSA, algorithm="RS256"),
    "an id that is a number": lambda here: signed({"alg": "RS256", "kid": 7}, here.claims(), b"x"),
    "an id that is a path": lambda here: here.token(key=STRANGER, headers={"kid": "../../etc/passwd"}),
    "an id that is a place": lambda here: here.token(key=STRANGER, headers={"kid": f"{here.url}/mine.json"}),
    "another issuer": lambda here: here.token(iss="https://evil.example"),
    "the issuer with a slash more": lambda here: here.token(iss=f"{here.url}/"),
    "no issuer": lambda here: here.token(iss=None),
    "another audience": lambda here: here.token(aud="another"),
    "no audience": lambda here: here.token(aud=None),
    "expired": lambda here: here.token(exp=NOW - 3600),
    "without an end": lambda here: here.token(exp=None),
    "an end that is a word": lambda here: signed({"alg": "RS256", "kid": "rsa"}, here.claims(exp="never"), b"x"),
    "not yet": lambda here: here.token(nbf=NOW + 3600),
    "made later": lambda here: here.token(iat=NOW + 3600),
    "of nobody": lambda here: here.token(sub=None),
    "of a number": lambda here: tampered(here.token(), sub=7),
    "of an empty name": lambda here: here.token(sub=""),
    "of a name that no store takes": lambda here: here.token(sub="a\x00b"),
}


@pytest.mark.parametrize("name", FORGED)
async def test_a_forged_token_lets_nobody_in(here: Issuer, name: str) -> None:
    gate = gate_of(here)
    assert await gate.principal(FORGED[name](here)) is None
    assert {*here.asked} <= {"/.well-known/jwks.json"}
    # the gate itself lets people in
    assert await gate.principal(here.token()) is not None


async def test_keys_are_fetched_once_and_again_for_an_unknown_one_but_not_each_time(here: Issuer) -> None:
    clock = Clock()
    gate = gate_of(here, clock)
    for _ in range(5):
        assert await gate.principal(here.token()) is not None
    assert len(here.asked) == 1
    here.says(*keys(), public(RSAAlgorithm, STRANGER, "new"))
    renewed = here.token(key=STRANGER, headers={"kid": "new"})
    for _ in range(5):
        assert await gate.principal(renewed) is None
    assert len(here.asked) == 1
    clock.now += 31
    assert await gate.principal(renewed) is not None
    for number in range(50):
        assert await gate.principal(here.token(key=STRANGER, headers={"kid": f"made up {number}"})) is None
    assert len(here.asked) == 2
    # a key that the issuer has taken back counts for no longer than the keys are believed
    here.says(*keys())
    clock.now += 601
    assert await gate.principal(renewed) is None


async def test_while_the_issuer_is_away_its_known_keys_go_on(here: Issuer) -> None:
    clock = Clock()
    gate = gate_of(here, clock)
    assert await gate.principal(here.token()) is not None
    for status, body in ((500, b""), (200, b"no JSON"), (200, b"[]"), (200, b'{"keys": 7}'), (200, b'{"keys": []}')):
        here.status, here.body = status, body
        clock.now += 601
        assert await gate.principal(here.token()) is not None, (status, body)


async def test_a_redirect_is_not_followed_to_other_keys(here: Issuer) -> None:
    with issuer() as evil:
        evil.says(public(RSAAlgorithm, STRANGER, "rsa"))
        here.status, here.headers = 302, {"Location": f"{evil.url}/.well-known/jwks.json"}
        assert await gate_of(here).principal(here.token(key=STRANGER)) is None
        assert evil.asked == []


@pytest.mark.parametrize("url", ["http://issuer.example", "ftp://issuer.example", "file:///etc/keys.json", "issuer"])
async def test_keys_come_over_tls_or_from_this_machine(url: str) -> None:
    with pytest.raises(ConfigError, match="https"):
        JwtGate(OidcSettings(issuer=url), tenant="t")


async def test_one_service_takes_keys_and_tokens_each_in_its_own_name(tmp_path: Path, here: Issuer) -> None:
    async with opened(tmp_path) as memory:
        app = create_app(memory, Either(Known({"key": person("bob")}), gate_of(here)))
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=HERE) as client:

            async def says(token: str, method: str, path: str, **more: Any) -> httpx2.Response:
                return await client.request(method, path, headers={"Authorization": f"Bearer {token}"}, **more)

            said = {"role": "user", "content": "Mine."}
            token = here.token()
            assert (await says(token, "POST", "/v1/sessions/s/messages", json=said)).status_code == 201
            assert len((await says(token, "GET", "/v1/sessions")).json()) == 1
            assert (await says("key", "GET", "/v1/sessions")).json() == []
            reads = here.token(scope="read")
            assert (await says(reads, "POST", "/v1/sessions/s/messages", json=said)).status_code == 403
            assert (await says(here.token(aud="x"), "GET", "/v1/sessions")).status_code == 401
