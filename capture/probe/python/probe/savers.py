"""Savers: the checkpointer that a case asks for, opened where the orchestrator says, and one around it that dies on purpose."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Coroutine, Mapping
from importlib.util import find_spec
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

Run = Callable[[Coroutine[Any, Any, Any]], Any]
"""Runs a coroutine to its end and returns its result."""

_PACKAGES = {"sqlite": "langgraph.checkpoint.sqlite", "postgres": "langgraph.checkpoint.postgres"}

_DRIVERS = frozenset({"aiosqlite", "psycopg", "sqlite3"})


def is_there(kind: str) -> bool:
    """Tell whether the environment has the checkpointer of this kind."""
    return kind not in _PACKAGES or find_spec(_PACKAGES[kind]) is not None


def is_of_a_driver(error: BaseException) -> bool:
    """Tell whether an error is the database's own: it was not reached, or full, or locked, or of another form."""
    return type(error).__module__.partition(".")[0] in _DRIVERS


class Store:
    """Where a thread is kept: a saver, how coroutines that use it are run, and how it is left.

    An asynchronous saver belongs to the loop in which it was made, so one that is kept open has a loop of its own.
    """

    def __init__(self, kind: str, place: Mapping[str, str], *, is_async: bool) -> None:
        """Open the saver of a kind; `place` has the path or the address, and a scope of its own in a shared database."""
        self._place = place
        self._loop = _Loop() if is_async and kind in _PACKAGES else None
        self.run: Run = self._loop.run if self._loop else asyncio.run
        self._connection: Any = None
        self.saver: Any = None
        if kind == "memory":
            self.saver = InMemorySaver()
        elif kind in _PACKAGES:
            self._connection, self.saver = self._opened(kind)

    def _opened(self, kind: str) -> Any:
        return self.run(_ASYNC[kind](self._place)) if self._loop else _SYNC[kind](self._place)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            closed = self._connection.close()
            if self._loop:
                self.run(closed)
        if self._loop:
            self._loop.end()


class _Loop:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)


def _sqlite(place: Mapping[str, str]) -> tuple[Any, Any]:
    from langgraph.checkpoint.sqlite import SqliteSaver

    connection = sqlite3.connect(place["place"], check_same_thread=False)
    saver = SqliteSaver(connection)
    saver.setup()
    return connection, saver


async def _sqlite_async(place: Mapping[str, str]) -> tuple[Any, Any]:
    import aiosqlite
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    connection = await aiosqlite.connect(place["place"])
    saver = AsyncSqliteSaver(connection)
    await saver.setup()
    return connection, saver


def _postgres(place: Mapping[str, str]) -> tuple[Any, Any]:
    import psycopg
    from langgraph.checkpoint.postgres import PostgresSaver
    from psycopg.rows import dict_row

    connection = psycopg.connect(place["place"], autocommit=True, prepare_threshold=0, row_factory=dict_row)
    for statement in _own_schema(place):
        connection.execute(statement)
    saver = PostgresSaver(connection)
    saver.setup()
    return connection, saver


async def _postgres_async(place: Mapping[str, str]) -> tuple[Any, Any]:
    import psycopg
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
    from psycopg.rows import dict_row

    connection = await psycopg.AsyncConnection.connect(place["place"], autocommit=True, prepare_threshold=0, row_factory=dict_row)
    for statement in _own_schema(place):
        await connection.execute(statement)
    saver = AsyncPostgresSaver(connection)
    await saver.setup()
    return connection, saver


def forget(place: Mapping[str, str]) -> None:
    """Delete what was kept in a database that is shared with others, whoever kept it."""
    import psycopg

    with psycopg.connect(place["place"], autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {place['scope']} CASCADE")


def _own_schema(place: Mapping[str, str]) -> list[str]:
    return [f"CREATE SCHEMA IF NOT EXISTS {place['scope']}", f"SET search_path TO {place['scope']}"]


_SYNC = {"sqlite": _sqlite, "postgres": _postgres}
_ASYNC = {"sqlite": _sqlite_async, "postgres": _postgres_async}


def watched(saver: Any, about: Callable[[str, str], None]) -> Any:
    """Return a saver that hands everything on to another one, and calls `about` around each thing that is put.

    It is told `before` or `after`, and `checkpoint` or `writes`.
    """
    return _Watched(saver, about)


class _Watched(BaseCheckpointSaver):
    def __init__(self, saver: Any, about: Callable[[str, str], None]) -> None:
        super().__init__(serde=saver.serde)
        self._saver, self._about = saver, about

    @property
    def config_specs(self) -> Any:
        return self._saver.config_specs

    def get_next_version(self, *args: Any) -> Any:
        return self._saver.get_next_version(*args)

    def get_tuple(self, config: Any) -> Any:
        return self._saver.get_tuple(config)

    async def aget_tuple(self, config: Any) -> Any:
        return await self._saver.aget_tuple(config)

    def list(self, config: Any, **options: Any) -> Any:
        return self._saver.list(config, **options)

    def alist(self, config: Any, **options: Any) -> Any:
        return self._saver.alist(config, **options)

    def put(self, *args: Any) -> Any:
        self._about("before", "checkpoint")
        done = self._saver.put(*args)
        self._about("after", "checkpoint")
        return done

    async def aput(self, *args: Any) -> Any:
        self._about("before", "checkpoint")
        done = await self._saver.aput(*args)
        self._about("after", "checkpoint")
        return done

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self._about("before", "writes")
        self._saver.put_writes(config, writes, task_id, task_path)
        self._about("after", "writes")

    async def aput_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self._about("before", "writes")
        await self._saver.aput_writes(config, writes, task_id, task_path)
        self._about("after", "writes")
