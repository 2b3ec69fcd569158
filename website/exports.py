"""What a module says is public, read from its text: a module that needs another library is not imported."""

import ast
from pathlib import Path
from typing import TypeAlias

import belated

SOURCES = Path(belated.__file__).parents[1]
Exported: TypeAlias = ast.ClassDef | ast.FunctionDef


def read_exports(module: str) -> dict[str, Exported]:
    """The classes and functions of its `__all__`, by name, wherever they are written."""
    tree = read_tree(module)
    imported = {
        name.name: statement.module
        for statement in ast.walk(tree)
        if isinstance(statement, ast.ImportFrom) and statement.module is not None
        for name in statement.names
    }
    exported: dict[str, Exported] = {}
    for name in list_all(tree):
        place = read_tree(imported[name]) if name in imported else tree
        found = [one for one in place.body if isinstance(one, Exported) and one.name == name]
        exported[name] = found[0]
    return exported


def find_bare(exported: Exported) -> list[str]:
    """Its name, and those of its public methods, where there is no docstring."""
    bare = [] if ast.get_docstring(exported) else [exported.name]
    methods = [one for one in exported.body if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")]
    within = methods if isinstance(exported, ast.ClassDef) else []
    return bare + [f"{exported.name}.{one.name}" for one in within if not ast.get_docstring(one)]


def list_all(tree: ast.Module) -> list[str]:
    """The names in `__all__`."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            return [str(name) for name in ast.literal_eval(statement.value)]
    return []


def read_tree(module: str) -> ast.Module:
    path = SOURCES.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))
