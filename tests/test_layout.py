"""The rules of the rooms: tests stand where their module does, a class name means one thing, and what is private is
used by its own module alone."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests"
PRODUCT = ROOT / "src" / "belated"
FOLDERS = (PRODUCT, ROOT / "benchmarks", ROOT / "reproduction", ROOT / "examples", ROOT / "website", TESTS)

# Folders of tests that stand for no folder of modules, and tests of the repository as a whole.
BESIDE = {"laws", "contracts", "faults", "support", "examples", "browser", "doors"}
WHOLE = {"docs", "docstrings", "habits", "imports", "layout", "wheel"}
# Not private, though they begin with an underscore.
PUBLIC = {"_replace", "_asdict", "_fields", "_make", "_exit", "_repr_html_"}
# Packages that a user may do without. A test that needs one says so with pytest.importorskip.
OPTIONAL = {
    "psycopg",
    "matplotlib",
    "sklearn",
    "lifelines",
    "torch",
    "optuna",
    "optunahub",
    "botorch",
    "gpytorch",
    "pooch",
} | {
    "jinja2",
    "mabwiser",
    "openpyxl",
    "playwright",
    "pypdf",
    "griffe",
    "plotly",
    "nbclient",
    "nbformat",
    "ipykernel",
    "vowpalwabbit",
    "ray",
    "distributed",
    "fastapi",
    "uvicorn",
    "schemathesis",
    "pandas",
}


def modules(*folders: Path) -> dict[str, ast.Module]:
    """Every module in these folders, by its path in the repository."""
    paths = sorted(path for folder in folders for path in folder.rglob("*.py"))
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


@cache
def everything() -> dict[str, ast.Module]:
    return modules(*FOLDERS)


def ours() -> dict[str, ast.Module]:
    """The modules of the package."""
    return {name: tree for name, tree in everything().items() if name.startswith("src")}


# Tests stand where their module does ----------------------------------------------------------------------------------


def stands_for_a_module(test: Path) -> bool:
    """Whether tests/room/test_name.py or test_name_topic.py has a module or a package room/name; or the room itself."""
    room = test.parent.relative_to(TESTS)
    inside = ROOT if room.parts[:1] in (("benchmarks",), ("reproduction",), ("website",)) else PRODUCT
    words = test.stem.removeprefix("test_").split("_")
    names = ["_".join(words[:n]) for n in range(1, len(words) + 1)]
    if words[0] == room.name and (inside / room / "__init__.py").is_file():
        return True  # of the package itself
    places = [inside / room / f"{private}{name}" for name in names for private in ("", "_")]
    return any(place.with_suffix(".py").is_file() or (place / "__init__.py").is_file() for place in places)


def misplaced(room: Path) -> list[str]:
    tests = sorted(room.rglob("test_*.py"))
    return [
        f"{test.relative_to(ROOT)}: there is no module of this name" for test in tests if not stands_for_a_module(test)
    ]


ROOMS = sorted(folder.name for folder in TESTS.iterdir() if folder.is_dir() and not folder.name.startswith("_"))


@pytest.mark.parametrize("room", [room for room in ROOMS if room not in BESIDE])
def test_every_test_stands_where_its_module_does(room: str) -> None:
    wrong = misplaced(TESTS / room)
    assert not wrong, "\n".join(wrong)


def test_the_tests_at_the_top_stand_for_a_module_or_for_the_whole() -> None:
    tests = [path for path in TESTS.glob("*.py") if path.name != "conftest.py"]
    wrong = [
        test.name for test in tests if test.stem.removeprefix("test_") not in WHOLE and not stands_for_a_module(test)
    ]
    assert wrong == []


def test_a_test_that_stands_for_nothing_is_seen() -> None:
    assert stands_for_a_module(TESTS / "learner" / "gp" / "test_posterior.py")
    assert stands_for_a_module(TESTS / "test_study_bad_input.py")
    assert stands_for_a_module(TESTS / "record" / "test_ledger.py")
    assert stands_for_a_module(TESTS / "benchmarks" / "test_speed.py")
    assert not stands_for_a_module(TESTS / "learner" / "test_posterior.py")
    assert not stands_for_a_module(TESTS / "test_studies.py")
    assert not stands_for_a_module(TESTS / "benchmarks" / "test_study.py")


# One name, one thing --------------------------------------------------------------------------------------------------


def repeated(found: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The names that stand in more than one place, with the places."""
    places = defaultdict(list)
    for name, place in found:
        places[name].append(place)
    return {name: where for name, where in sorted(places.items()) if len(where) > 1}


def aliases(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """(name, meaning) of every type alias of a module, annotated as one or not."""
    for node in tree.body:
        match node:
            case ast.AnnAssign(
                target=ast.Name(id=name), annotation=ast.Name(id="TypeAlias"), value=ast.expr() as value
            ):
                yield name, ast.unparse(value)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript() | ast.BinOp() as value):
                if re.fullmatch(r"([A-Z][a-z]+)+", name):
                    yield name, ast.unparse(value)


def test_the_name_of_a_class_or_an_alias_is_unique() -> None:
    classes = [
        (node.name, path) for path, tree in ours().items() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    ]
    assert repeated([*classes, *((name, path) for path, tree in ours().items() for name, _ in aliases(tree))]) == {}


@pytest.mark.parametrize(
    "line", ["Array: TypeAlias = NDArray[np.float64]", "Array = NDArray[np.float64]", "Wait = int | None"]
)
def test_an_alias_is_seen(line: str) -> None:
    assert list(aliases(ast.parse(line))) == [(line.split(":")[0].split(" =")[0], line.partition("= ")[2])]


def test_other_values_are_not_aliases() -> None:
    assert not list(aliases(ast.parse('LIMIT = 2 * 3\nSIZE: int = 4\nfirst = rows[0]\nItem = TypeVar("Item")')))


def test_arrays_masks_and_params_have_one_alias_each() -> None:
    found = [(name, meaning, path) for path, tree in ours().items() for name, meaning in aliases(tree)]
    assert sorted(name for name, *_ in found if name in ("Array", "Mask", "Params")) == ["Array", "Mask", "Params"]
    assert repeated((meaning, f"{path}: {name}") for name, meaning, path in found) == {}


# Private --------------------------------------------------------------------------------------------------------------


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__") and name not in PUBLIC and name.strip("_") != ""


def own_names(tree: ast.Module) -> set[str]:
    """What a module defines: functions, classes, variables, fields, and attributes of self."""
    names = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                names.add(name)
            case ast.Constant(value=str() as name) if name.isidentifier():
                names.add(name)  # in __slots__, or set by name
    return names


def private_uses(tree: ast.Module, package: str) -> Iterator[tuple[int, str]]:
    """(line, what) of every private name of another module that a module in this package uses."""
    own = own_names(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                pass
            case ast.Attribute(attr=name) if is_private(name) and name not in own:
                yield node.lineno, ast.unparse(node)
            case ast.ImportFrom(module=str() as module, names=imported):
                for path in (f"{module}.{alias.name}" for alias in imported):
                    inside, dot, _ = path.partition("._")
                    if dot and inside != package and is_private(path.removeprefix(inside + ".").split(".")[0]):
                        yield node.lineno, path
            case ast.Import(names=imported):
                yield from ((node.lineno, alias.name) for alias in imported if "._" in alias.name)


def package_of(path: str) -> str:
    return ".".join(Path(path.removeprefix("src/")).parent.parts)


def test_what_is_private_is_used_by_its_own_module_alone() -> None:
    wrong = [
        f"{path}, line {line}: {what}"
        for path, tree in everything().items()
        for line, what in private_uses(tree, package_of(path))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "line",
    [
        "study._ledger",
        "open_again(study)._state.rows",
        "study._choose = slow",
        "from belated.delays.advice import _stage",
        "from belated.cli._format import number",
        "from belated.cli import _common",
        "import belated.cli._format",
    ],
)
def test_a_private_use_is_seen(line: str) -> None:
    assert len(list(private_uses(ast.parse(line), "tests.cli"))) == 1


@pytest.mark.parametrize(
    "line",
    [
        "self._ledger",
        "trial._replace(number=1)",
        "os._exit(0)",
        "x.__dict__",
        "from belated.cli._format import number",
        "from belated.cli import _common",
        "_ = study.ask()",
        "class Row:\n    _news: int\n    def fork(self, other): return other._news",
    ],
)
def test_what_is_public_or_ones_own_may_be_used(line: str) -> None:
    assert not list(private_uses(ast.parse(line), "belated.cli"))


# Everything collects without the optional packages --------------------------------------------------------------------


def on_top(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when a module is imported."""
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                continue
            case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
                yield from on_top(node.orelse)
            case ast.If() | ast.Try() | ast.With():
                yield from on_top(child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt))
            case _:
                yield node


def imported_on_top(tree: ast.Module) -> Iterator[str]:
    for node in on_top(tree.body):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def path_of(module: str) -> str | None:
    """Where a module of ours stands; None for others."""
    for folder in ("src/", ""):
        for end in (".py", "/__init__.py"):
            path = f"{folder}{module.replace('.', '/')}{end}"
            if path in everything():
                return path
    return None


@cache
def imports_of(path: str) -> tuple[set[str], set[str]]:
    """The optional packages that a module imports, and the paths of the modules of ours."""
    names = {tuple(module.split(".")) for module in imported_on_top(everything()[path])}
    inner = {path_of(".".join(parts[:n])) for parts in names for n in range(1, len(parts) + 1)}
    return {parts[0] for parts in names} & OPTIONAL, {each for each in inner if each is not None}


def needs(path: str, seen: set[str]) -> set[str]:
    """The optional packages that a module cannot be imported without."""
    if path in seen:
        return set()
    seen.add(path)
    found, inner = imports_of(path)
    return found.union(*(needs(each, seen) for each in inner))


def declared(tree: ast.Module) -> set[str]:
    """The packages without which a test module is skipped."""
    calls = [node for statement in on_top(tree.body) for node in ast.walk(statement) if isinstance(node, ast.Call)]
    return {
        call.args[0].value.split(".")[0]
        for call in calls
        if ast.unparse(call.func) == "pytest.importorskip"
        and isinstance(call.args[0], ast.Constant)
        and isinstance(call.args[0].value, str)
    }


def test_everything_collects_without_the_optional_packages() -> None:
    wrong = {
        path: sorted(missing)
        for path, tree in everything().items()
        if path.startswith("tests/") and (missing := needs(path, set()) - declared(tree))
    }
    assert wrong == {}
