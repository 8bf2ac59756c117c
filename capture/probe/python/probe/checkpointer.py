"""The checkpointer that a case asks for, opened where the orchestrator says, and one around it that tells what is put."""

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

_PORT = "5432"
"""Where PostgreSQL listens if nobody says otherwise."""

_SECONDS = 10
"""How long a database may take to be reached; the step's own limit would say that of the subject."""

_CONNECTED: dict[str, Any] = {"connect_timeout": _SECONDS, "autocommit": True, "prepare_threshold": 0}
"""How langgraph's saver for PostgreSQL wants its connection."""

_DRIVERS = frozenset({"aiosqlite", "psycopg", "sqlite3"})


def is_there(kind: str) -> bool:
    """Tell whether the environment has the checkpointer of this kind."""
    return kind not in _PACKAGES or find_spec(_PACKAGES[kind]) is not None


def is_of_a_driver(error: BaseException) -> bool:
    """Tell whether an error is the database's own: it was not reached, or full, or locked, or of another form."""
    return type(error).__module__.partition(".")[0] in _DRIVERS


def addresses(place: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the hosts and ports that an address of a database names, none for a socket or a file: the driver looks them up."""
    if "scope" not in place:
        return []
    from psycopg.conninfo import conninfo_to_dict

    try:
        found = conninfo_to_dict(place["place"])
    except Exception:  # an address that is none: connecting to it says so
        return []
    hosts, ports = (str(found.get(key) or "").split(",") for key in ("host", "port"))
    named = ports if len(ports) > 1 else ports * len(hosts)
    return [(host, port or _PORT) for host, port in zip(hosts, named, strict=False)]


class Checkpointer:
    """What keeps a thread: a saver, how coroutines that use it are run, and how it is left.

    An asynchronous saver belongs to the loop in which it was made, so one that is kept open has a loop of its own.
    """

    def __init__(self, kind: str, place: Mapping[str, str], *, is_async: bool) -> None:
        """Open the saver of a kind; `place` has the path or the address, and a scope of its own in a shared database."""
        self._loop = _Loop() if is_async and kind in _PACKAGES else None
        self._connection: Any = None
        self.saver: Any = InMemorySaver() if kind == "memory" else None
        if kind in _PACKAGES:
            try:
                self._open(kind, place)
            except BaseException:
                self.close()
                raise

    def _open(self, kind: str, place: Mapping[str, str]) -> None:
        connect, keep = _KINDS[kind, self._loop is not None]
        self._connection = self._had(connect(place))
        self.saver = self._had(keep(self._connection, place))

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine that uses the saver, and return its result."""
        return self._loop.run(coroutine) if self._loop else asyncio.run(coroutine)

    def close(self) -> None:
        """Close the connection."""
        try:
            if self._connection is not None:
                self._had(self._connection.close())
        finally:
            if self._loop:
                self._loop.end()

    def _had(self, value: Any) -> Any:
        """Return what an asynchronous driver promises, or what another one has at once."""
        return self._loop.run(value) if self._loop else value


class _Loop:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)


def _sqlite(place: Mapping[str, str]) -> Any:
    return sqlite3.connect(place["place"], check_same_thread=False)


def _kept_in_sqlite(connection: Any, _: Mapping[str, str]) -> Any:
    from langgraph.checkpoint.sqlite import SqliteSaver

    saver = SqliteSaver(connection)
    saver.setup()
    return saver


async def _sqlite_async(place: Mapping[str, str]) -> Any:
    import aiosqlite

    return await aiosqlite.connect(place["place"])


async def _kept_in_sqlite_async(connection: Any, _: Mapping[str, str]) -> Any:
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    saver = AsyncSqliteSaver(connection)
    await saver.setup()
    return saver


def _postgres(place: Mapping[str, str]) -> Any:
    import psycopg
    from psycopg.rows import dict_row

    return psycopg.connect(place["place"], **_CONNECTED, row_factory=dict_row)


def _kept_in_postgres(connection: Any, place: Mapping[str, str]) -> Any:
    from langgraph.checkpoint.postgres import PostgresSaver

    for statement in _own_scope(place):
        connection.execute(statement)
    saver = PostgresSaver(connection)
    saver.setup()
    return saver


async def _postgres_async(place: Mapping[str, str]) -> Any:
    import psycopg
    from psycopg.rows import dict_row

    return await psycopg.AsyncConnection.connect(place["place"], **_CONNECTED, row_factory=dict_row)


async def _kept_in_postgres_async(connection: Any, place: Mapping[str, str]) -> Any:
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

    for statement in _own_scope(place):
        await connection.execute(statement)
    saver = AsyncPostgresSaver(connection)
    await saver.setup()
    return saver


_KINDS: dict[tuple[str, bool], tuple[Callable[..., Any], Callable[..., Any]]] = {
    ("sqlite", False): (_sqlite, _kept_in_sqlite),
    ("sqlite", True): (_sqlite_async, _kept_in_sqlite_async),
    ("postgres", False): (_postgres, _kept_in_postgres),
    ("postgres", True): (_postgres_async, _kept_in_postgres_async),
}
"""How each kind is connected to, and how a thread is kept through the connection; of each, whether it is asynchronous."""


def forget(place: Mapping[str, str]) -> None:
    """Delete what was kept in a database that is shared with others, whoever kept it."""
    import psycopg

    with psycopg.connect(place["place"], connect_timeout=_SECONDS, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {place['scope']} CASCADE")


def _own_scope(place: Mapping[str, str]) -> list[str]:
    return [f"CREATE SCHEMA IF NOT EXISTS {place['scope']}", f"SET search_path TO {place['scope']}"]


def delegating(saver: Any, told: Callable[[str, str], None]) -> Any:
    """Return a saver that delegates to another one, and tells `before` and `after` each `checkpoint` and set of `writes` is put."""
    return _Delegating(saver, told)


class _Delegating(BaseCheckpointSaver):
    def __init__(self, saver: Any, told: Callable[[str, str], None]) -> None:
        super().__init__(serde=saver.serde)
        self._saver, self._told = saver, told

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
        self._told("before", "checkpoint")
        done = self._saver.put(*args)
        self._told("after", "checkpoint")
        return done

    async def aput(self, *args: Any) -> Any:
        self._told("before", "checkpoint")
        done = await self._saver.aput(*args)
        self._told("after", "checkpoint")
        return done

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self._told("before", "writes")
        self._saver.put_writes(config, writes, task_id, task_path)
        self._told("after", "writes")

    async def aput_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self._told("before", "writes")
        await self._saver.aput_writes(config, writes, task_id, task_path)
        self._told("after", "writes")
