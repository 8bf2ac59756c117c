"""The receivers: what really arrives is written down before it is answered, and nobody else is heard."""

import http.client
import json
import smtplib
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from capture import library
from capture.sinks import LARGEST, Sinks

sys.path.insert(0, str(library.probe_folder()))
from probe import wire

ARGS = {"recipient": "engineering@example.invalid", "document": "plän.md"}


@pytest.fixture
def seen() -> list[Mapping[str, Any]]:
    """Return what the receivers saw."""
    return []


@pytest.fixture
def sinks(seen: list[Mapping[str, Any]]) -> Iterator[Sinks]:
    """Give receivers that end with the test."""
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
