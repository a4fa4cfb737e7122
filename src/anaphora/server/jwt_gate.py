"""Lets in by JWTs of one issuer (OpenID Connect): fixed algorithms, all of issuer, audience and times required."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
import httpx2
import jwt

from anaphora.domain.principals import OF_PERSONS, Principal, permissions_of
from anaphora.errors import ConfigError, InvalidInput
from anaphora.server.guards import LOOPBACK
from anaphora.settings.sections import OidcSettings

#: only those with a public key: who can check a token cannot make one
_ALGORITHMS: Final = ("RS256", "ES256", "EdDSA")
_REQUIRED: Final = ("iss", "aud", "exp", "iat", "sub")
#: seconds by which clocks may differ; after which keys are fetched again; before they are for an unknown one
_LEEWAY: Final = 10
_FRESH: Final = 600.0
_AGAIN: Final = 30.0
_TIMEOUT: Final = 5.0
_MOST_CHARS: Final = 16_384


@dataclass(slots=True, kw_only=True)
class _Keys:
    """The issuer's public keys, as they were fetched last."""

    by_id: Mapping[str, jwt.PyJWK] = field(default_factory=dict)
    fetched: float = -_FRESH


class JwtGate:
    """`gate.Gate` over the JWTs of an issuer.

    Raises:
        ConfigError: the issuer's keys would be fetched over an open network without TLS.

    """

    def __init__(self, oidc: OidcSettings, *, tenant: str, now: Callable[[], float] = time.monotonic) -> None:
        if oidc.issuer is None:
            raise ConfigError("server.oidc.issuer is not set")
        self._oidc = oidc
        self._tenant = tenant
        self._now = now
        self._url = oidc.jwks_url or f"{oidc.issuer.rstrip('/')}/.well-known/jwks.json"
        where = urlsplit(self._url)
        if where.scheme != "https" and not (where.scheme == "http" and where.hostname in LOOPBACK):
            raise ConfigError("server.oidc: the issuer's keys are fetched over https")
        self._keys = _Keys()
        self._fetching = anyio.Lock()

    async def principal(self, token: str | None) -> Principal | None:
        """Whose JWT this is; None: nobody's."""
        if token is None or len(token) > _MOST_CHARS or token.count(".") != 2:
            return None
        try:
            kid = jwt.get_unverified_header(token).get("kid")
            key = await self._key(kid) if isinstance(kid, str) else None
            if key is None:
                return None
            claims = jwt.decode(
                token,
                key,
                algorithms=_ALGORITHMS,
                audience=self._oidc.audience,
                issuer=self._oidc.issuer,
                leeway=_LEEWAY,
                options={"require": [*_REQUIRED]},
            )
            return self._principal(claims)
        except (jwt.PyJWTError, InvalidInput, UnicodeError):
            return None

    async def again(self, tenant: str, by: str) -> Principal | None:
        """Nobody: a JWT is sent with each request."""
        del tenant, by
        return None

    def _principal(self, claims: Mapping[str, Any]) -> Principal | None:
        user = claims.get(self._oidc.user_claim)
        tenant = self._tenant if self._oidc.tenant_claim is None else claims.get(self._oidc.tenant_claim)
        if not isinstance(user, str) or not isinstance(tenant, str):
            return None
        given = claims.get(self._oidc.scope_claim, "")
        listed = given.split() if isinstance(given, str) else given if isinstance(given, list) else ()
        named = [name for name in listed if isinstance(name, str)]
        ours = [name for name in named if name == "all" or name in OF_PERSONS]
        return Principal(tenant=tenant, user=user, permissions=permissions_of(ours or self._oidc.scopes), by="jwt")

    async def _key(self, kid: str) -> jwt.PyJWK | None:
        """The key of that id; an unknown one is looked for at the issuer, but not each time."""
        known = self._keys.by_id.get(kid)
        if known is not None and self._now() - self._keys.fetched < _FRESH:
            return known
        async with self._fetching:
            age = self._now() - self._keys.fetched
            if age >= _FRESH or (kid not in self._keys.by_id and age >= _AGAIN):
                self._keys = await self._fetched()
        return self._keys.by_id.get(kid)

    async def _fetched(self) -> _Keys:
        try:
            async with httpx2.AsyncClient(follow_redirects=False, timeout=_TIMEOUT) as client:
                answer = await client.get(self._url)
                answer.raise_for_status()
                found = jwt.PyJWKSet(answer.json()["keys"]).keys
        except (httpx2.HTTPError, jwt.PyJWTError, ValueError, TypeError, LookupError, AttributeError):
            # what was fetched before goes on; who comes next tries again after a while
            return _Keys(by_id=self._keys.by_id, fetched=self._now() - _FRESH + _AGAIN)
        return _Keys(by_id={key.key_id: key for key in found if key.key_id}, fetched=self._now())
