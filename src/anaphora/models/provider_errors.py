"""What a provider raises, as errors of ours that show neither a key nor what was sent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pydantic_ai import exceptions as failures

from anaphora.errors import ModelError, ModelRefused, ModelUnavailable

_TRY_AGAIN_STATUSES = frozenset({408, 409, 425, 429})
_TRY_AGAIN = (
    failures.ModelRateLimitError,
    failures.ModelUnavailableError,
    failures.ModelServerError,
    failures.ModelConnectionError,
    failures.ModelRequestTimeout,
)
_REFUSED = (failures.ModelRequestRejectedError, failures.ModelQuotaExceededError)
#: what may be shown of a provider's error: a code, never its prose, which may repeat the key or the prompt
_CODE = re.compile(r"[A-Za-z]{1,24}(?:[_.-][A-Za-z]{1,24}){0,6}|\d{3,5}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderErrors:
    """Turns what a provider or a time-out raises into ours.

    Args:
        who: whose errors they are, such as `model openai:gpt-4.1-mini`; each line begins so.
        timeout: the seconds that were allowed.
        key: the API key, so that no error shows it.
        too_long: what to do when more was sent than the model takes.

    """

    who: str
    timeout: float
    key: str | None = field(default=None, repr=False)
    too_long: str = "the prompt is longer than it takes, use a smaller budget"

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Raise ours; `from None`, since theirs may show key and prompt.

        Raises:
            ModelUnavailable: a time-out, no connection, a rate limit, a fault of the server.
            ModelRefused: a wrong key or name, a rejected request.

        """
        try:
            yield
        except TimeoutError:
            raise ModelUnavailable(
                f"{self.who} did not answer within {self.timeout:g} s: try later or allow more time"
            ) from None
        except failures.ModelHTTPError as error:
            raise self._of_status(error) from None
        except _REFUSED as error:
            raise ModelRefused(f"{self.who} rejected the request{self._codes(error)}") from None
        except failures.ModelAPIError as error:
            what = "failed" if isinstance(error, _TRY_AGAIN) else "gave no answer that can be read"
            if isinstance(error, failures.ModelConnectionError):
                what = "cannot be reached or broke off"
            raise ModelUnavailable(
                f"{self.who} {what}{self._codes(error)}: try later, or check the network and the base URL",
                retry_after=error.retry_after,
            ) from None
        except failures.UnexpectedModelBehavior:
            raise ModelUnavailable(
                f"{self.who} gave no answer that can be read: try later, or check the base URL"
            ) from None
        except failures.UserError:
            raise ModelRefused(f"{self.who} cannot take this request: choose another model") from None

    def _of_status(self, error: failures.ModelHTTPError) -> ModelError:
        status = f"{error.status_code}{self._codes(error)}"
        if error.status_code in _TRY_AGAIN_STATUSES or error.status_code >= 500:
            what = "is asked too often" if error.status_code == 429 else "failed on its server"
            return ModelUnavailable(f"{self.who} {what} ({status}): try later", retry_after=_wait(error))
        if error.status_code in {401, 403}:
            advice = "check the API key and what it may use"
        elif error.status_code == 402:
            advice = "check the account's credit"
        elif error.status_code in {404, 405}:
            advice = "check the model's name and the base URL (most end in /v1)"
        elif isinstance(error, failures.ModelContextWindowExceededError):
            advice = self.too_long
        else:
            advice = "check the model's name and its settings"
        return ModelRefused(f"{self.who} rejected the request ({status}): {advice}")

    def _codes(self, error: failures.ModelAPIError) -> str:
        """The provider's machine-readable words for what was wrong, with a blank before each."""
        body = error.body if isinstance(error.body, dict) else {}
        words = (error.provider_error_code, error.provider_error_type, body.get("param"))
        shown = [w for w in words if isinstance(w, str) and _CODE.fullmatch(w) and not self._shows_key(w)]
        return "".join(f" {word}" for word in dict.fromkeys(shown))

    def _shows_key(self, word: str) -> bool:
        return self.key is not None and (word in self.key or self.key in word)


def _wait(error: failures.ModelHTTPError) -> float | None:
    """Seconds that the server asked us to wait; pydantic-ai reads whole seconds and dates, some servers send 0.5."""
    if error.retry_after is not None:
        return error.retry_after
    sent = (error.headers or {}).get("retry-after", "")
    return float(sent) if re.fullmatch(r"\d{1,9}\.\d{1,9}", sent) else None
