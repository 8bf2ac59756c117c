"""The wire: how a tool whose case says so really sends, to a sink that the orchestrator names."""

import http.client
import json
import re
import smtplib
from email.message import EmailMessage
from typing import Any

_SENDER = "dispatch-audit@example.invalid"

_SECONDS = 20.0

_ADDRESS = re.compile(r"[A-Za-z0-9._+-]+@[A-Za-z0-9.-]+")


class NotReceived(Exception):
    """The sink did not take what was sent."""


def send(sink: dict[str, Any], protocol: str, tool: str, args: dict[str, Any], key: str | None) -> None:
    """Send what a tool was called with; with a `key`, a sink can tell that something comes again."""
    {"http": _post, "smtp": _mail}[protocol](sink, tool, args, key)


def _post(sink: dict[str, Any], tool: str, args: dict[str, Any], key: str | None) -> None:
    headers = {"Content-Type": "application/json", **({"Idempotency-Key": key} if key else {})}
    connection = http.client.HTTPConnection(sink["host"], sink["port"], timeout=_SECONDS)
    try:
        connection.request("POST", f"/{sink['token']}/{tool}", _text(args).encode(), headers)
        if connection.getresponse().status != http.client.OK:
            raise NotReceived
    finally:
        connection.close()


def _mail(sink: dict[str, Any], tool: str, args: dict[str, Any], key: str | None) -> None:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = _SENDER, _recipient(args), tool
    if key:
        message["Message-ID"] = f"<{key}@example.invalid>"
    message.set_content(_text(args))
    with smtplib.SMTP(sink["host"], sink["port"], local_hostname=sink["token"], timeout=_SECONDS) as connection:
        connection.send_message(message)


def _recipient(args: dict[str, Any]) -> str:
    wanted = args.get("recipient")
    return wanted if isinstance(wanted, str) and _ADDRESS.fullmatch(wanted) else "everybody@example.invalid"


def _text(args: dict[str, Any]) -> str:
    return json.dumps(args, sort_keys=True)
