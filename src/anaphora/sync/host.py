"""One event loop in a thread of its own, and how other threads wait for what happens in it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, contextmanager, suppress
from enum import Enum, auto
from functools import partial
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal

from anaphora.errors import StoreClosed
from anaphora.memory import GRACE

T = TypeVar("T")
A = TypeVar("A")


class Order(Enum):
    """What is asked of a stream under way."""

    NEXT = auto()
    LEAVE = auto()


class Running(Generic[T]):
    """Something that runs in the loop's thread while this one waits for it."""

    def __init__(self, portal: BlockingPortal, function: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._over = threading.Event()
        self._exit: KeyboardInterrupt | SystemExit | None = None
        self._future: Future[T] = portal.start_task_soon(self._run, function)

    async def _run(self, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        try:
            return await function()
        except (KeyboardInterrupt, SystemExit) as error:  # meant for the program: here it would end the loop
            self._exit = error
            raise CancelledError from None
        finally:
            self._over.set()

    def result(self) -> T:
        """Wait for what it gives, or raise what it raises. Whatever interrupts the waiting, such as Ctrl-C, stops it.

        Raises:
            StoreClosed: the memory was closed, and did not wait for this any longer.

        """
        try:
            return self._future.result()
        except CancelledError:
            if self._exit is not None:
                raise self._exit from None
            raise StoreClosed("the memory was closed before this call ended: open it again") from None
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Cancel it, if it still runs, and wait until it has cleaned up."""
        if self._future.cancel():
            self._over.wait()


class Host:
    """Takes calls from any thread into the event loop that it was made in."""

    def __init__(self, portal: BlockingPortal) -> None:
        self._portal = portal
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._closing = False
        #: orders to the streams under way; touched in the loop's thread only
        self._streams: set[asyncio.Queue[Order]] = set()

    def call(self, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Call in the loop's thread and wait for the result.

        Raises:
            StoreClosed: the memory is closed.
            RuntimeError: called in the loop's own thread, which would wait for itself.

        """
        return self._start(function).result()

    def iterate(self, pieces: AsyncGenerator[T]) -> Generator[T, None, None]:
        """What an async generator yields, each piece made when it is asked for; closing this closes that.

        Raises:
            StoreClosed: the memory is closed.

        """
        answers: SimpleQueue[tuple[T, ...]] = SimpleQueue()
        orders: asyncio.Queue[Order] = asyncio.Queue()
        pump = self._start(partial(self._pump, pieces, orders, answers.put))
        try:
            while piece := answers.get():
                yield piece[0]
                self._tell(orders, Order.NEXT)
            whole = pump.result()
        except GeneratorExit:
            self._tell(orders, Order.LEAVE)
            if threading.get_ident() != self._thread:  # where the garbage collector may close a forgotten stream
                pump.result()
            raise
        except BaseException:
            pump.stop()
            raise
        if not whole:
            raise _closed()

    def close(self) -> None:
        """Take no more calls, and let every stream that nobody waits for come to its end."""
        self._closing = True
        for orders in self._streams:
            orders.put_nowait(Order.LEAVE)

    def _start(self, function: Callable[[], Coroutine[Any, Any, T]]) -> Running[T]:
        try:
            return Running(self._portal, function)
        except RuntimeError as error:
            if self._closing:
                raise _closed() from error
            raise

    def _tell(self, orders: asyncio.Queue[Order], order: Order) -> None:
        with suppress(RuntimeError):  # the loop is closed: so is the stream
            self._loop.call_soon_threadsafe(orders.put_nowait, order)

    async def _pump(
        self, pieces: AsyncGenerator[T], orders: asyncio.Queue[Order], give: Callable[[tuple[T, ...]], None]
    ) -> bool:
        """Give piece after piece, and nothing at the end; whether that was all there is.

        One task from the first piece to the last: the locks and cancel scopes that the generator holds are its task's.
        """
        self._streams.add(orders)
        try:
            async with aclosing(pieces):
                async for piece in pieces:
                    give((piece,))
                    if await orders.get() is Order.LEAVE:
                        return False
            return True
        finally:
            self._streams.discard(orders)
            give(())


@contextmanager
def hosted(manager: AbstractAsyncContextManager[A]) -> Iterator[tuple[Host, A]]:
    """What `manager` gives, entered and left in a new event loop in a new thread; at the end there is neither.

    Calls that other threads still wait for at the end have a grace period, then they are cancelled.
    """
    with start_blocking_portal(name="anaphora-sync") as thread:
        inside = thread.wrap_async_context_manager(_hosted(manager))
        host, inner = inside.__enter__()
        try:
            yield host, inner
        finally:
            # what went wrong outside is no business of the tasks inside, which would give it back in a group
            inside.__exit__(None, None, None)


@asynccontextmanager
async def _hosted(manager: AbstractAsyncContextManager[A]) -> AsyncIterator[tuple[Host, A]]:
    async with manager as inner:
        with anyio.CancelScope() as calls:
            async with BlockingPortal() as portal:
                host = Host(portal)
                yield host, inner
                host.close()
                calls.deadline = anyio.current_time() + GRACE


def _closed() -> StoreClosed:
    return StoreClosed("the memory is closed: open it again")
