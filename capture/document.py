"""The bytes of what is published, and the reading of what others wrote: schema first, one clear sentence on refusal.

Canonical form: JSON with sorted keys, two spaces of indentation, UTF-8 unescaped, no floats, one newline at the end.
"""

import hashlib
import json
import os
import re
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from capture.errors import InputRefused, StorageFailed

__all__ = ["Document", "canonical", "check", "digest", "escaped", "line", "parse_json", "read", "read_toml", "schema", "write"]

Document = Mapping[str, Any]
"""A JSON object that fits a schema of the package."""

_SCHEMAS = Path(__file__).parent / "schemas"

_SHOWN = 80

_DEEPEST = 100


def canonical(value: object) -> bytes:
    """Return the published bytes of a JSON value; a float is a `TypeError`, since its text is not the same everywhere."""
    _refuse_floats(value)
    import orjson

    plain = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS
    form = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    try:
        return orjson.dumps(value, option=form | plain)
    except TypeError:
        # A lone surrogate, a very large integer, or what is no plain value: json writes what it can, and refuses the rest.
        return _encode(json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False))


def line(value: object) -> bytes:
    """Return a JSON value as one line with sorted keys: the form of journals and histories."""
    _refuse_floats(value)
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return _encode(text)


def escaped(data: bytes) -> str:
    """Return canonical bytes as the text of the same JSON in ASCII, which no terminal takes for anything but text."""
    return json.dumps(json.loads(data), sort_keys=True, indent=2) + "\n"


def digest(data: bytes) -> str:
    """Return the SHA-256 of bytes in hexadecimal, as `sha256sum` prints it."""
    return hashlib.sha256(data).hexdigest()


def read(path: Path) -> bytes:
    """Return the bytes of a file; a missing one is refused, an unreadable one is a storage failure."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, ValueError):
        # A ValueError is a NUL in the name, which no file has.
        raise InputRefused(f"{path}: there is no such file.", "Check the name, or put the file there.") from None
    except OSError as error:
        raise StorageFailed(f"{path}: cannot be read ({error.strerror}).", "Check its permissions and the disk.") from None


def parse_json(data: bytes, where: str) -> Any:
    """Return the value of JSON bytes; `where` names them in the refusal. A key given twice and a float are refused."""
    try:
        value = json.loads(
            data.decode("utf-8"), object_pairs_hook=_unique, parse_float=_refuse_number, parse_constant=_refuse_number
        )
        _refuse_depth(value)
    except (ValueError, RecursionError) as error:
        raise InputRefused(f"{where}: not JSON: {_said(error)}.", "Restore the file from where you got it.") from None
    return value


def read_toml(path: Path) -> dict[str, Any]:
    """Return the table of a TOML file."""
    try:
        value = tomllib.loads(read(path).decode("utf-8"))
        _refuse_depth(value)
    except (ValueError, RecursionError) as error:
        raise InputRefused(f"{path}: not TOML: {_said(error)}.", "Correct the file, or restore it from where you got it.") from None
    return value


@cache
def schema(name: str) -> dict[str, Any]:
    """Return a schema of the package by its short name, such as `case`."""
    value: dict[str, Any] = json.loads((_SCHEMAS / f"{name}.schema.json").read_bytes())
    return value


def check(value: object, name: str, where: str, part: str | None = None) -> None:
    """Refuse a value that does not fit the schema `name`, with the key that is wrong.

    A `part` names one of the schema's own definitions, for a value that is known to be of that kind.
    """
    known = part if isinstance(part, str) and part in schema(name).get("$defs", {}) else None
    if _fits(value, name, known):
        return
    import jsonschema

    error = jsonschema.exceptions.best_match(_validator(name, known).iter_errors(value))
    if error is not None:
        raise InputRefused(
            f"{where}: {_complaint(error)}.", f"The schema capture/schemas/{name}.schema.json says what may stand there."
        )


def write(path: Path, data: bytes) -> None:
    """Put bytes at a path at once: a reader sees the old file or the new one, never half of it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(name).chmod(0o644)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise StorageFailed(f"{path}: cannot be written ({error.strerror}).", "Check its permissions and the free space.") from None


def _encode(text: str) -> bytes:
    # A lone surrogate has no UTF-8; its JSON escape is what backslashreplace writes, so it survives a round trip.
    return (text + "\n").encode("utf-8", "backslashreplace")


def _refuse_floats(value: object) -> None:
    left = [value]
    while left:
        part = left.pop()
        if isinstance(part, float):
            raise TypeError("a float has no canonical form; write it as text")
        left += _parts(part)


def _parts(value: object) -> Iterable[object]:
    # By exact type first: asking an abstract class takes ten times as long, and there are millions of texts.
    kind = type(value)
    if kind is str or kind is int:
        return ()
    if kind is dict or isinstance(value, Mapping):
        found: Iterable[object] = value.values()  # type: ignore[attr-defined]  # a type that was compared is not narrowed
        return found
    return value if isinstance(value, list | tuple) else ()


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return found


def _refuse_number(text: str) -> None:
    raise ValueError(f"the number {text[:_SHOWN]} is not an integer")


def _refuse_depth(value: object) -> None:
    layer, depth = [value], 0
    while layer:
        layer, depth = [part for found in layer for part in _parts(found)], depth + 1
        if depth > _DEEPEST:
            raise RecursionError


def _said(error: ValueError | RecursionError) -> str:
    # Python's own sentence about depth speaks of its stack.
    return "nested too deeply" if isinstance(error, RecursionError) else str(error).rstrip(".")


def _fits(value: object, name: str, part: str | None) -> bool:
    """Tell quickly whether a value fits; False says nothing, since jsonschema has the last word and the better sentence."""
    try:
        return bool(_quick_validator(name, part).is_valid(value))
    except (ValueError, OverflowError):
        # It takes no lone surrogate, which a model or tool can produce.
        return False


@cache
def _quick_validator(name: str, part: str | None) -> Any:
    import jsonschema_rs

    return jsonschema_rs.Draft202012Validator(_root(name, part), retriever=_schema_of)


def _schema_of(uri: str) -> dict[str, Any]:
    """Return the schema that another one names; there are none but the package's."""
    return schema(uri.rpartition("/")[2].removesuffix(".schema.json"))


def _root(name: str, part: str | None) -> dict[str, Any]:
    return {"$ref": f"{name}.schema.json#/$defs/{part}"} if part else schema(name)


@cache
def _validator(name: str, part: str | None) -> Any:
    import jsonschema
    from referencing import Registry, Resource

    def retrieve(uri: str) -> Any:
        return Resource.from_contents(_schema_of(uri))

    kind: Any = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"pattern": _pattern})  # type: ignore[no-untyped-call]
    # referencing builds its classes with attrs, whose generated constructor the types do not show.
    return kind(_root(name, part), registry=Registry(retrieve=retrieve))  # type: ignore[call-arg]


def _pattern(validator: Any, pattern: str, value: object, _schema: object) -> Iterator[Any]:
    """Yield that a text does not match; for Python a `$` also stands before a last line break, for JSON Schema it does not."""
    from jsonschema.exceptions import ValidationError

    strict = f"{pattern[:-1]}\\Z" if pattern.endswith("$") else pattern
    if validator.is_type(value, "string") and not re.search(strict, str(value)):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _complaint(error: Any) -> str:
    key = ".".join(str(part) for part in error.absolute_path) or "top level"
    if error.validator == "additionalProperties":
        extra = sorted(set(error.instance) - set(error.schema.get("properties", {})))
        return f"key {key}: unknown key {_short(extra[0])}" if extra else f"key {key}: {_short(error.message)}"
    if error.validator == "required":
        missing = [name for name in error.validator_value if name not in error.instance]
        return f"key {key}: the key {missing[0]!r} is missing"
    if error.validator == "oneOf" and all(branch.keys() == {"required"} for branch in error.validator_value):
        keys = [" with ".join(branch["required"]) for branch in error.validator_value]
        return f"key {key}: exactly one of {', '.join(keys)} is needed, not {_short(error.instance)}"
    return f"key {key}: {_rule(error)}, not {_short(error.instance)}"


_RULES = {
    "type": "must be of type {}",
    "enum": "must be one of {}",
    "const": "must be {}",
    "pattern": "must match {}",
    "minItems": "must have at least {} items",
    "minLength": "must be at least {} characters long",
    "minProperties": "must have at least {} keys",
    "minimum": "must be at least {}",
    "uniqueItems": "must name everything once",
}


def _rule(error: Any) -> str:
    rule = _RULES.get(error.validator, f"must fit the schema's {error.validator}")
    return rule.format(error.validator_value)


def _short(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
