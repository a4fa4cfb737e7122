"""Blocking methods made of async ones: the same signature, the same docstring, no logic of their own."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from functools import partial, wraps
from types import GenericAlias
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from anaphora.sync.host import Host, hosted

P = ParamSpec("P")
T = TypeVar("T")
A = TypeVar("A")
F = TypeVar("F")
C = TypeVar("C", bound=Callable[..., Any])


class Facade(Generic[A]):
    """Stands in other threads for an object that lives in an event loop."""

    def __init__(self, host: Host, inner: A) -> None:
        self._host = host
        self._inner = inner


def blocking(method: Callable[Concatenate[A, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[Facade[A], P], T]:
    """The coroutine method `method`, waited for."""

    @wraps(method)
    def call(self: Facade[A], /, *args: P.args, **kwargs: P.kwargs) -> T:
        there: Callable[[], Coroutine[Any, Any, T]] = partial(_of(self._inner, method), *args, **kwargs)
        return self._host.call(there)

    return call


def plain(method: Callable[Concatenate[A, P], T]) -> Callable[Concatenate[Facade[A], P], T]:
    """The ordinary method `method`, called where the object lives."""

    @wraps(method)
    def call(self: Facade[A], /, *args: P.args, **kwargs: P.kwargs) -> T:
        async def there() -> T:
            made: T = _of(self._inner, method)(*args, **kwargs)
            return made

        return self._host.call(there)

    return call


def streaming(
    piece: type[T], method: Callable[Concatenate[A, P], AsyncGenerator[T]]
) -> Callable[Concatenate[Facade[A], P], Generator[T, None, None]]:
    """The async generator method `method`, as a generator of such pieces; closing this early closes that."""

    @wraps(method)
    def call(self: Facade[A], /, *args: P.args, **kwargs: P.kwargs) -> Generator[T, None, None]:
        return self._host.iterate(_of(self._inner, method)(*args, **kwargs))

    return _returning(GenericAlias(Generator, (piece, None, None)), call)


def making(
    facade: Callable[[Host, A], F], method: Callable[Concatenate[Facade[Any], P], A]
) -> Callable[Concatenate[Facade[Any], P], F]:
    """The blocking method `method`; what it gives lives in the event loop too, and gets a facade."""

    @wraps(method)
    def call(self: Facade[Any], /, *args: P.args, **kwargs: P.kwargs) -> F:
        return facade(self._host, method(self, *args, **kwargs))

    return _returning(facade, call)


class Opening(Generic[P, A]):
    """The class method that opens an async memory, as one that opens its facade in a thread with an event loop."""

    def __init__(self, opened: Callable[P, AbstractAsyncContextManager[A]]) -> None:
        self._opened = opened

    def __get__(self, _: object, facade: Callable[[Host, A], F]) -> Callable[P, AbstractContextManager[F]]:
        @wraps(self._opened)
        @contextmanager
        def call(*args: P.args, **kwargs: P.kwargs) -> Iterator[F]:
            with hosted(self._opened(*args, **kwargs)) as (host, inner):
                yield facade(host, inner)

        return _returning(GenericAlias(AbstractContextManager, (facade,)), call)


def _of(inner: object, method: Callable[..., Any]) -> Callable[..., Any]:
    """The method of what is behind the facade, which may be a kind of what the method was written for."""
    found: Callable[..., Any] = getattr(inner, method.__name__)
    return found


def _returning(returns: object, call: C) -> C:
    """Shown with another result than in the async world."""
    call.__annotations__ = {**call.__annotations__, "return": returns}
    vars(call)["__signature__"] = inspect.signature(call).replace(return_annotation=returns)
    return call
