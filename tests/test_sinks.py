"""The sinks: what really arrives is written down before it is answered, and nobody else is heard."""

import http.client
import json
import smtplib
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import pytest

from capture import document, library
from capture.sinks import LARGEST, Sinks

sys.path.insert(0, str(library.probe_folder()))
from probe import wire

ARGS = {"recipient": "engineering@example.invalid", "document": "plän.md"}


@pytest.fixture
def seen() -> list[Mapping[str, Any]]:
    """Return what the sinks saw."""
    return []


@pytest.fixture
def sinks(seen: list[Mapping[str, Any]]) -> Iterator[Sinks]:
    """Give sinks that end with the test."""
    made = Sinks(seen.append)
    yield made
    made.end()


def post(address: Mapping[str, Any], path: str, body: bytes = b"{}", **headers: str) -> int:
    """Send a request and return the status."""
    connection = http.client.HTTPConnection(address["host"], address["port"], timeout=10)
    try:
        connection.request("POST", path, body, headers)
        return connection.getresponse().status
    finally:
        connection.close()


def test_http_is_received_as_it_was_sent(sinks: Sinks, seen: list[Mapping[str, Any]]) -> None:
    """A request leaves its path, its body, its key, and nothing that the client or the machine put there."""
    wire.send(dict(sinks.address("http")), "http", "send_document", ARGS, "call-a")
    headers = {"content-type": "application/json", "idempotency-key": "call-a"}
    assert seen == [{"protocol": "http", "method": "POST", "path": "/send_document", "headers": headers, "body": ARGS}]


def test_a_message_is_received_as_it_was_sent(sinks: Sinks, seen: list[Mapping[str, Any]]) -> None:
    """A message leaves its envelope, its subject, its key and its text."""
    wire.send(dict(sinks.address("smtp")), "smtp", "send_document", ARGS, "call-a")
    (found,) = seen
    assert (found["protocol"], found["from"], found["to"]) == (
        "smtp",
        "dispatch-audit@example.invalid",
        ["engineering@example.invalid"],
    )
    assert found["headers"]["subject"] == "send_document"
    assert found["headers"]["message-id"] == "<call-a@example.invalid>"
    assert json.loads(found["body"]) == ARGS


@pytest.mark.parametrize("recipient", ["two@x@example.invalid", "a\r\nBcc: b@example.invalid", "nobody", ""])
def test_no_argument_becomes_a_header(recipient: str, sinks: Sinks, seen: list[Mapping[str, Any]]) -> None:
    """An argument that is no plain address is no recipient; it stands in the text alone."""
    wire.send(dict(sinks.address("smtp")), "smtp", "send_document", {"recipient": recipient}, None)
    assert seen[0]["to"] == ["everybody@example.invalid"]
    assert json.loads(seen[0]["body"]) == {"recipient": recipient}
    assert "bcc" not in seen[0]["headers"]


def test_who_does_not_know_the_token_is_not_heard(sinks: Sinks, seen: list[Mapping[str, Any]]) -> None:
    """Another program of the machine gets an error and leaves no evidence."""
    assert post(sinks.address("http"), "/send_document") == 404
    assert post(sinks.address("http"), "/") == 404
    mail = sinks.address("smtp")
    with (
        smtplib.SMTP(mail["host"], mail["port"], local_hostname="somebody", timeout=10) as connection,
        pytest.raises(smtplib.SMTPSenderRefused),
    ):
        connection.sendmail("a@example.invalid", ["b@example.invalid"], "Subject: x\r\n\r\ny")
    assert seen == []


def test_what_is_too_large_is_refused_and_seen(sinks: Sinks, seen: list[Mapping[str, Any]]) -> None:
    """A body over the limit is not read, and that it came is written down; a message over it is refused by the protocol."""
    http_address, mail = sinks.address("http"), sinks.address("smtp")
    connection = http.client.HTTPConnection(http_address["host"], http_address["port"], timeout=10)
    connection.putrequest("POST", f"/{http_address['token']}/send_document")
    connection.putheader("Content-Length", str(LARGEST + 1))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()
    assert [entry.get("refused") for entry in seen] == ["too large, or of no length"]
    with (
        smtplib.SMTP(mail["host"], mail["port"], local_hostname=mail["token"], timeout=10) as session,
        pytest.raises(smtplib.SMTPException),
    ):
        session.sendmail("a@example.invalid", ["b@example.invalid"], "Subject: x\r\n\r\n" + "y\r\n" * LARGEST)
    assert len(seen) == 1


def test_what_cannot_be_written_down_is_not_received() -> None:
    """If a line cannot be written, the sender is told that it was not received, and the owner is told why."""

    def refuse(_: Mapping[str, Any]) -> None:
        raise OSError("no space")

    sinks = Sinks(refuse)
    with pytest.raises(wire.NotReceived):
        wire.send(dict(sinks.address("http")), "http", "send_document", ARGS, None)
    with pytest.raises(OSError, match="no space"):
        sinks.end()
    sinks.end()


def test_garbage_and_silence_do_no_harm(sinks: Sinks, seen: list[Mapping[str, Any]]) -> None:
    """Whoever says nothing, or nonsense, or goes away, keeps nobody from being heard."""
    address, mail = sinks.address("http"), sinks.address("smtp")
    silent = [socket.create_connection((known["host"], known["port"])) for known in (address, mail) for _ in range(20)]
    with socket.create_connection((address["host"], address["port"])) as noise:
        noise.sendall(b"\x00\xff garbage\r\n\r\n")
    wire.send(dict(address), "http", "send_document", ARGS, None)
    wire.send(dict(mail), "smtp", "send_document", ARGS, None)
    assert [entry["protocol"] for entry in seen] == ["http", "smtp"]
    for connection in silent:
        connection.close()


def test_nothing_listens_before_it_is_asked_for_or_after_the_end() -> None:
    """No thread and no port is there without need, and none is left."""
    before = set(threading.enumerate())
    sinks = Sinks(lambda _: None)
    assert set(threading.enumerate()) == before
    addresses = [sinks.address(name) for name in ("http", "smtp")]
    sinks.end()
    assert {thread for thread in threading.enumerate() if thread.is_alive()} - before == set()
    for address in addresses:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((address["host"], address["port"]), timeout=5)


def spoken(address: Mapping[str, Any], *parts: bytes) -> bytes:
    """Say something to the HTTP sink, hang up on that side, and return the first line of the answer."""
    with socket.create_connection((address["host"], address["port"]), timeout=10) as connection:
        connection.sendall(b"".join(parts))
        connection.shutdown(socket.SHUT_WR)
        return connection.makefile("rb").readline()


@pytest.mark.parametrize(
    ("length", "body", "status", "said"),
    [
        (b"500", b'{"a":1}', b"400", {"refused": "cut short"}),
        (b"9" * 5000, b"", b"413", {"refused": "too large, or of no length"}),
        (b"-1", b"", b"413", {"refused": "too large, or of no length"}),
        (b"20000", b"[" * 20000, b"200", {"body": "[" * 20000}),
        (b"3", b"1.5", b"200", {"body": "float 1.5"}),
        (b"3", b"NaN", b"200", {"body": "float NaN"}),
    ],
)
def test_a_strange_request_is_answered_and_seen(
    length: bytes, body: bytes, status: bytes, said: Mapping[str, str], sinks: Sinks, seen: list[Mapping[str, Any]]
) -> None:
    """A body that is cut short is not one that was received; nothing that a sender writes ends the sink."""
    address = sinks.address("http")
    head = f"POST /{address['token']}/x HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: ".encode()
    assert spoken(address, head, length, b"\r\n\r\n", body).split()[1] == status
    (found,) = seen
    assert said.items() <= found.items()


def test_half_of_a_character_is_written_down_as_it_came(sinks: Sinks, seen: list[Mapping[str, Any]]) -> None:
    """What has no UTF-8 of its own can be a line of the journal all the same."""
    address = sinks.address("http")
    assert post(address, f"/{address['token']}/x", b'"\\ud800"', **{"Content-Type": "application/json"}) == 200
    assert document.parse_json(document.line(seen[0]), "journal") == seen[0]


def test_a_message_that_cannot_be_read_is_refused_and_seen(sinks: Sinks, seen: list[Mapping[str, Any]]) -> None:
    """A charset that nobody knows is no message of a tool of ours; that it came is written down."""
    mail = sinks.address("smtp")
    with (
        smtplib.SMTP(mail["host"], mail["port"], local_hostname=mail["token"], timeout=10) as session,
        pytest.raises(smtplib.SMTPDataError),
    ):
        session.sendmail("a@example.invalid", ["b@example.invalid"], "Content-Type: text/plain; charset=none\r\n\r\ny")
    assert [entry["refused"] for entry in seen] == ["not to be read"]


def test_a_header_that_comes_again_is_not_lost(sinks: Sinks, seen: list[Mapping[str, Any]]) -> None:
    """Two keys in one request are two keys in the evidence."""
    address = sinks.address("http")
    head = f"POST /{address['token']}/x HTTP/1.1\r\nIdempotency-Key: a\r\nIdempotency-Key: b\r\nContent-Length: 0\r\n\r\n"
    assert spoken(address, head.encode()).split()[1] == b"200"
    assert seen[0]["headers"] == {"idempotency-key": "a, b"}


def test_nobody_is_heard_after_the_end(seen: list[Mapping[str, Any]]) -> None:
    """A sender in the middle of its body is cut off by the end, and nothing is written down any more."""
    sinks = Sinks(seen.append)
    address = sinks.address("http")
    with socket.create_connection((address["host"], address["port"]), timeout=10) as slow:
        slow.sendall(f"POST /{address['token']}/x HTTP/1.1\r\nContent-Length: 5\r\n\r\nab".encode())
        time.sleep(0.2)
        before = len(seen)
        sinks.end()
        after = len(seen)
        with suppress(OSError):
            slow.sendall(b"cde")
        time.sleep(0.2)
        assert len(seen) == after
    assert [entry.get("refused") for entry in seen[before:]] in ([], ["cut short"])


def test_only_the_sinks_can_be_reached(sinks: Sinks) -> None:
    """In a process of its own, with the network blocked, exactly the allowed address answers, and only as long as it is allowed."""
    program = (
        "import sys, http.client; sys.path.insert(0, sys.argv[1]); from probe import network, wire; network.block()\n"
        "sink = {'host': sys.argv[2], 'port': int(sys.argv[3]), 'token': sys.argv[4]}\n"
        "def tried(port):\n"
        "    try: wire.send({**sink, 'port': port}, 'http', 'x', {}, None); return 'sent'\n"
        "    except PermissionError: return 'refused'\n"
        "said = [tried(sink['port'])]; network.allow([(sink['host'], sink['port'])])\n"
        "said += [tried(sink['port']), tried(sink['port'] - 1)]; network.allow([]); print(*said, tried(sink['port']))\n"
    )
    address = sinks.address("http")
    arguments = [str(library.probe_folder()), address["host"], str(address["port"]), address["token"]]
    done = subprocess.run([sys.executable, "-I", "-c", program, *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["refused", "sent", "refused", "refused"]
