"""The mutants of a module: each is the module with one small thing changed, so that some test should fail.

What only says something to people is left alone: sentences, docstrings, annotations, the arguments of decorators. So are the
bodies of classes outside their methods, which cannot be changed in a class that is in use.
"""

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Mutant", "mutants", "places"]


@dataclass(frozen=True)
class Mutant:
    """One change: its name, which stays the same as lines move; the function or constant in which it is; and how to make it."""

    name: str
    module: str
    where: str
    tree: ast.Module
    change: Callable[[], None]


def mutants(path: Path, module: str) -> list[Mutant]:
    """Return every mutant of a module, in the order of its text."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names: Counter[str] = Counter()
    found = []
    for where, node in places(tree):
        for old, new, change in _changes(node):
            name = f"{module}:{where}: {_text(old)} -> {_text(new)}"
            names[name] += 1
            count = f" #{names[name]}" if names[name] > 1 else ""
            found.append(Mutant(name + count, module, where, tree, change))
    return found


def places(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Yield each function with its qualified name, and each constant of the module with its own."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{part.name}", part) for part in node.body if isinstance(part, ast.FunctionDef))
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and target.id != "__all__":
                yield target.id, node


Change = tuple[ast.AST, ast.AST, Callable[[], None]]


def _changes(top: ast.AST) -> Iterator[Change]:
    for parent, field, index, node in _nodes(top):
        for new in _variants(node):
            yield node, new, _setter(parent, field, index, new)


def _setter(parent: ast.AST, field: str, index: int | None, new: ast.AST) -> Callable[[], None]:
    def change() -> None:
        if index is None:
            setattr(parent, field, new)
        else:
            getattr(parent, field)[index] = new
        ast.fix_missing_locations(parent)

    return change


_SILENT = {"annotation", "returns", "decorator_list", "type_params", "ctx", "target", "targets"}


def _nodes(parent: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Yield each node below another, with the place where it stands."""
    for field, value in ast.iter_fields(parent):
        if field in _SILENT:
            continue
        parts = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
        for index, node in parts:
            if isinstance(node, ast.AST) and not _is_docstring(node):
                yield parent, field, index, node
                yield from _nodes(node)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _variants(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what may stand in the place of a node."""
    for kind, vary in _OPERATORS.items():
        if isinstance(node, kind):
            yield from vary(node)


_NEGATED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
}


def _compare(node: ast.Compare) -> Iterator[ast.AST]:
    for place, known in enumerate(node.ops):
        for other in _NEGATED[type(known)]:
            yield ast.Compare(
                node.left, [other() if number == place else op for number, op in enumerate(node.ops)], node.comparators
            )


def _bool(node: ast.BoolOp) -> Iterator[ast.AST]:
    yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    for place in range(len(node.values)):
        rest = [value for number, value in enumerate(node.values) if number != place]
        yield rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)


def _unary(node: ast.UnaryOp) -> Iterator[ast.AST]:
    if isinstance(node.op, ast.Not):
        yield node.operand


def _tested(node: ast.If | ast.IfExp | ast.While) -> Iterator[ast.AST]:
    """Yield the same with the test the other way round, where no other operator does that."""
    if isinstance(node.test, ast.Compare | ast.BoolOp | ast.UnaryOp):
        return
    negated = ast.UnaryOp(ast.Not(), node.test)
    if isinstance(node, ast.IfExp):
        yield ast.IfExp(negated, node.body, node.orelse)
    else:
        yield type(node)(negated, node.body, node.orelse)


def _comprehension(node: ast.comprehension) -> Iterator[ast.AST]:
    for place in range(len(node.ifs)):
        rest = [test for number, test in enumerate(node.ifs) if number != place]
        yield ast.comprehension(node.target, node.iter, rest, node.is_async)


def _constant(node: ast.Constant) -> Iterator[ast.AST]:
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield ast.Constant(value + 1)
    elif isinstance(value, str) and " " not in value:
        yield ast.Constant(f"{value}!")


def _return(node: ast.Return) -> Iterator[ast.AST]:
    if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
        yield ast.Return(ast.Constant(None))


def _statement(node: ast.Expr | ast.AugAssign | ast.Continue | ast.Break) -> Iterator[ast.AST]:
    """Yield nothing done in the place of a statement."""
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
        # A generator stays one: what it yields is lost, not its kind.
        silent = isinstance(node, ast.Expr) and isinstance(node.value, ast.Yield | ast.YieldFrom)
        yield ast.Expr(ast.YieldFrom(ast.Tuple([], ast.Load()))) if silent else ast.Pass()


_SWAPPED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


def _binary(node: ast.BinOp) -> Iterator[ast.AST]:
    other = _SWAPPED.get(type(node.op))
    if other is not None:
        yield ast.BinOp(node.left, other(), node.right)


_NAMES = {"any": "all", "all": "any", "min": "max", "max": "min"}


def _name(node: ast.Name) -> Iterator[ast.AST]:
    if node.id in _NAMES:
        yield ast.Name(_NAMES[node.id], ast.Load())


def _call(node: ast.Call) -> Iterator[ast.AST]:
    """Yield a call with one thing fewer that is given by name."""
    for place in range(len(node.keywords)):
        yield ast.Call(node.func, node.args, [word for number, word in enumerate(node.keywords) if number != place])


def _slice(_: ast.Slice) -> Iterator[ast.AST]:
    yield ast.Slice(None, None, None)


_OPERATORS: dict[Any, Callable[[Any], Iterator[ast.AST]]] = {
    ast.Compare: _compare,
    ast.BoolOp: _bool,
    ast.UnaryOp: _unary,
    (ast.If, ast.IfExp, ast.While): _tested,
    ast.comprehension: _comprehension,
    ast.Constant: _constant,
    ast.Return: _return,
    (ast.Expr, ast.AugAssign, ast.Continue, ast.Break): _statement,
    ast.BinOp: _binary,
    ast.Name: _name,
    ast.Call: _call,
    ast.Slice: _slice,
}


_LONGEST = 100


def _text(node: ast.AST) -> str:
    """Return the text of a node on one line; of one with a body, its first line."""
    if isinstance(node, ast.comprehension):
        node = ast.ListComp(ast.Name("…", ast.Load()), [node])
    text = ast.unparse(ast.fix_missing_locations(node)).splitlines()[0]
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
