"""Sinks on loopback that really listen, for tools that really send: what arrives is written down before it is answered.

Each has a free port of its own and a random token, without which nobody is heard: other programs of the machine may knock.
"""

import asyncio
import json
import re
import secrets
import socket
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

from capture import document

__all__ = ["Sinks"]

Seen = Callable[[Mapping[str, Any]], None]

HOST = "127.0.0.1"

LARGEST = 256 * 1024
"""How many bytes of a body are read; a larger one is refused, and that it came is written down."""

_SECONDS = 10.0
"""How long a sender may be silent."""

_VARIES = frozenset({"accept-encoding", "connection", "content-length", "date", "host", "received", "user-agent"})
"""Headers that a client or a machine puts there by itself."""


class Sinks:
    """The sinks of one case. Nothing listens before its address is asked for, and nothing after `end`."""

    def __init__(self, seen: Seen) -> None:
        """Call `seen` with what each sink gets, one after the other, before it is answered."""
        self._seen = seen
        self._token = secrets.token_hex(16)
        self._lock = Lock()
        self._open: dict[str, _Http | _Smtp] = {}
        self._failure: Exception | None = None

    def address(self, protocol: str) -> Mapping[str, Any]:
        """Return host, port and token of the sink of a protocol, `http` or `smtp`, which then listens."""
        if protocol not in self._open:
            kind: type[_Http | _Smtp] = _Http if protocol == "http" else _Smtp
            self._open[protocol] = kind(self._token, self._receive)
        return {"host": HOST, "port": self._open[protocol].port, "token": self._token}

    def end(self) -> None:
        """Listen no more; what kept something from being written down is raised."""
        while self._open:
            self._open.popitem()[1].end()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _receive(self, observation: Mapping[str, Any]) -> bool:
        """Write something down, and tell whether that was possible; if not, no sender may believe that it was received."""
        with self._lock:
            try:
                self._seen(_plain(observation))
            except Exception as error:  # noqa: BLE001 -- whatever it is, it is raised where the case ends, in the owner's thread
                self._failure = self._failure or error
                return False
        return True


def _plain(observation: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what can be written down: what is no plain JSON came from no tool of ours, and is said to be refused."""
    try:
        document.line(observation)
    except (TypeError, ValueError, RecursionError):
        return {"protocol": observation["protocol"], "refused": "not plain JSON"}
    return observation


Receive = Callable[[Mapping[str, Any]], bool]


class _Http:
    """An HTTP server in threads of its own."""

    def __init__(self, token: str, receive: Receive) -> None:
        self._server = _Server((HOST, 0), _handler(token, receive))
        self.port = int(self._server.server_address[1])
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.hang_up()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    """A server whose end is the end of every talk: nobody is heard after it."""

    daemon_threads = False

    def __init__(self, *arguments: Any) -> None:
        self._talks: set[socket.socket] = set()
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._talks.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._talks.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        for talk in list(self._talks):
            with suppress(OSError):
                talk.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: whoever hangs up in the middle is no fault of ours."""


def _handler(token: str, receive: Receive) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _SECONDS
        server_version, sys_version = "sink", ""

        def do_POST(self) -> None:
            self.close_connection = True
            mine, _, path = self.path.removeprefix("/").partition("/")
            if not secrets.compare_digest(mine.encode(), token.encode()):
                self._answer(404)
                return
            seen = {"protocol": "http", "method": "POST", "path": f"/{path}"}
            length = self.headers.get("content-length", "")
            if not _LENGTH.fullmatch(length) or int(length) > LARGEST:
                receive({**seen, "refused": "too large, or of no length"})
                self._answer(413)
                return
            body = self.rfile.read(int(length))
            if len(body) != int(length):
                receive({**seen, "refused": "cut short"})
                self._answer(400)
                return
            headers = _headers(self.headers.items())
            self._answer(200 if receive({**seen, "headers": headers, "body": _body(body, headers)}) else 500)

        def _answer(self, status: int) -> None:
            data = json.dumps({"status": status}).encode()
            self.send_response_only(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Print nothing: what counts is written down."""

    return Handler


_LENGTH = re.compile("[0-9]{1,9}")


def _headers(found: Iterable[tuple[str, Any]]) -> Mapping[str, str]:
    """Return headers by their names in lower case, without what varies; one that comes again is joined to the first."""
    kept: dict[str, str] = {}
    for name, value in found:
        if (key := name.lower()) not in _VARIES:
            kept[key] = f"{kept[key]}, {value}" if key in kept else str(value)
    return kept


def _body(data: bytes, headers: Mapping[str, str]) -> Any:
    text = data.decode("utf-8", "replace")
    if headers.get("content-type", "").partition(";")[0].strip() == "application/json":
        try:
            return json.loads(text, parse_float=_as_text, parse_constant=_as_text)
        except (ValueError, RecursionError):
            return text
    return text


def _as_text(number: str) -> str:
    return f"float {number}"


class _Smtp:
    """An SMTP server in an event loop of its own: aiosmtpd's own controller cannot be given a free port."""

    def __init__(self, token: str, receive: Receive) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(_Mailbox(token, receive)), self._loop).result()
        self.port = int(self._server.sockets[0].getsockname()[1])

    async def _listen(self, mailbox: "_Mailbox") -> asyncio.Server:
        from aiosmtpd.smtp import SMTP

        options: dict[str, Any] = {
            "hostname": HOST,
            "data_size_limit": LARGEST,
            "timeout": _SECONDS,
            "ident": "sink",
            "loop": self._loop,
        }
        return await self._loop.create_server(lambda: SMTP(mailbox, **options), HOST, 0)

    def end(self) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        self._server.close()
        mine = asyncio.current_task()
        talks = [task for task in asyncio.all_tasks() if task is not mine]
        for task in talks:
            task.cancel()
        await asyncio.gather(*talks, return_exceptions=True)


class _Mailbox:
    """What aiosmtpd asks as a message comes in; whoever does not say the token as its name is turned away."""

    def __init__(self, token: str, receive: Receive) -> None:
        self._token, self._receive = token, receive

    async def handle_EHLO(  # noqa: N802 -- aiosmtpd's name
        self, server: Any, session: Any, envelope: Any, hostname: str, responses: list[str]
    ) -> list[str]:
        session.host_name = hostname
        return responses

    async def handle_HELO(  # noqa: N802 -- aiosmtpd's name
        self, server: Any, session: Any, envelope: Any, hostname: str
    ) -> str:
        session.host_name = hostname
        return "250 sink"

    async def handle_MAIL(  # noqa: N802 -- aiosmtpd's name
        self, server: Any, session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        if not secrets.compare_digest(str(session.host_name).encode(), self._token.encode()):
            return "550 unknown sender"
        envelope.mail_from = address
        return "250 OK"

    async def handle_DATA(  # noqa: N802 -- aiosmtpd's name
        self, server: Any, session: Any, envelope: Any
    ) -> str:
        seen = {"protocol": "smtp", "from": envelope.mail_from, "to": list(envelope.rcpt_tos)}
        try:
            message = message_from_bytes(envelope.content, policy=policy.default)
            part = message.get_body(("plain", "html"))
            seen |= {"headers": _headers(message.items()), "body": part.get_content() if part is not None else ""}
        except (LookupError, ValueError):
            self._receive({**seen, "refused": "not to be read"})
            return "554 not to be read"
        return "250 OK" if self._receive(seen) else "451 not written down"
