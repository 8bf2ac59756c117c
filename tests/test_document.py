"""The published bytes: canonical, stable, read back as they were written, and never half-written."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture import document, results
from capture.errors import InputRefused, StorageFailed
from tests.comparisons import case, claim, pin

KEYS = st.text(max_size=5)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_what_is_written_is_read_back(value: Any) -> None:
    """Any JSON value without floats is the same after writing and reading, in both forms."""
    assert document.parse_json(document.canonical(value), "value") == value
    assert document.parse_json(document.line(value), "value") == value


@given(VALUES)
def test_writing_again_gives_the_same_bytes(value: Any) -> None:
    """Canonical bytes, read and written again, are the same bytes, end with one newline, and a line is one line."""
    data = document.canonical(value)
    assert document.canonical(document.parse_json(data, "value")) == data
    assert (data[-1:], data[-2:-1] == b"\n") == (b"\n", False)
    assert document.line(value).count(b"\n") == 1


@given(VALUES | st.text(st.characters(), max_size=20).map(lambda text: {text: [text, "\ud800", 2**70]}))
def test_the_quick_writer_writes_what_json_writes(value: Any) -> None:
    """Canonical bytes are those of the standard library, for whatever value."""
    text = json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
    assert document.canonical(value) == (text + "\n").encode("utf-8", "backslashreplace")


@given(st.dictionaries(KEYS, st.integers(), min_size=2))
def test_the_order_of_keys_does_not_matter(value: dict[str, int]) -> None:
    """Two objects with the same members have the same bytes."""
    turned = dict(reversed(value.items()))
    assert document.canonical(value) == document.canonical(turned)


def test_text_is_written_unescaped_and_a_lone_surrogate_survives() -> None:
    """Text is UTF-8 as it is; a lone surrogate, which UTF-8 does not have, is written as its JSON escape and read back."""
    assert "“é”".encode() in document.canonical({"text": "“é”"})
    assert document.parse_json(document.line("\ud800"), "value") == "\ud800"


@pytest.mark.parametrize("value", [1.5, [1.0], {"a": {"b": float("nan")}}])
def test_a_float_is_never_written(value: object) -> None:
    """A float anywhere in a value is a mistake of ours, not a number to publish."""
    with pytest.raises(TypeError):
        document.canonical(value)


@pytest.mark.parametrize("data", [b"{", b'{"a":1,"a":2}', b"[NaN]", b"\xff", b"[" * 100_000, b"", b"1 2"])
def test_what_is_no_json_is_refused(data: bytes) -> None:
    """Bytes that are not JSON, or not clearly, are refused with the name of what they were to be."""
    with pytest.raises(InputRefused, match="file x: not JSON"):
        document.parse_json(data, "file x")


@pytest.mark.parametrize("key", ["pin", "case", "claim"])
def test_a_name_that_ends_in_a_line_break_is_refused(key: str) -> None:
    """For Python's `re` a `$` also stands before the last line break; for a JSON schema it does not."""
    for name, fits in ((NAMES[key], True), (f"{NAMES[key]}\n", False)):
        found = results.build([pin(name if key == "pin" else "p-1", _case(key, name))])
        data = document.canonical(found)
        if fits:
            assert results.read(data, "results.json") == found
        else:
            with pytest.raises(InputRefused, match="must match"):
                results.read(data, "results.json")


NAMES = {"pin": "p-2", "case": "x/z", "claim": "core/two@1"}


def _case(key: str, name: str) -> dict[str, Any]:
    return case(name if key == "case" else "x/y", claim(name if key == "claim" else "core/one@1"))


def test_a_file_is_replaced_at_once(tmp_path: Path) -> None:
    """A write that cannot end leaves the old file as it was, and nothing beside it."""
    path = tmp_path / "results.json"
    document.write(path, b"old")
    with pytest.raises(TypeError):
        document.write(path, "not bytes")  # type: ignore[arg-type]
    assert (path.read_bytes(), [found.name for found in tmp_path.iterdir()]) == (b"old", ["results.json"])
    document.write(path, b"new")
    assert path.read_bytes() == b"new"


def test_a_file_that_cannot_be_written_is_a_storage_failure(tmp_path: Path) -> None:
    """A parent that is a file, not a folder, is said in one sentence."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFailed, match="cannot be written"):
        document.write(tmp_path / "file" / "results.json", b"")
