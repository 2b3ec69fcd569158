"""The pages of the reference, one for each group of public names: what is public is on one of them."""

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import belated
from website.exports import find_bare, read_exports

PACKAGE = Path(belated.__file__).parent
# Read, not imported: each needs a library of its own.
INTEGRATIONS = (
    *(f"belated.integrations.{path.parent.name}" for path in sorted(PACKAGE.glob("integrations/*/__init__.py"))),
    "belated.plotting.interactive",
)
SECTIONS = {
    "study": "Study",
    "functions": "Functions",
    "values": "Values",
    "errors": "Errors",
    "modules": "Modules",
    "integrations": "Integrations",
}


def list_names() -> Iterator[tuple[str, str, object]]:
    """(section, full name, value) of every public name."""
    for name in belated.__all__:
        value = getattr(belated, name)
        if isinstance(value, ModuleType):
            yield from (("modules", f"belated.{name}.{inner}", getattr(value, inner)) for inner in value.__all__)
        elif inspect.isfunction(value):
            yield "functions", f"belated.{name}", value
        elif issubclass(value, Exception):
            yield "errors", f"belated.{name}", value
        else:
            yield "study" if name == "Study" else "values", f"belated.{name}", value


def find_undocumented() -> list[str]:
    """Public names, and public methods of classes, without a docstring; constants cannot have one."""
    listed = [(name, value) for _, name, value in list_names()]
    documented = find_documented([value for _, value in listed if is_protocol(value)])
    found = []
    for name, value in listed:
        if inspect.isclass(value) or inspect.isfunction(value):
            found += [] if value.__doc__ else [name]
        if inspect.isclass(value):
            found += [
                f"{name}.{key}" for key, one in list_members(value) if not (inspect.getdoc(one) or key in documented)
            ]
    for module in INTEGRATIONS:
        found += [f"{module}.{name}" for exported in read_exports(module).values() for name in find_bare(exported)]
    return found


def list_members(cls: type) -> Iterator[tuple[str, object]]:
    """The public methods and properties of a class, as belated has them."""
    for key in dir(cls):
        member = inspect.getattr_static(cls, key)
        owner = next(base for base in cls.__mro__ if key in vars(base))
        ours = owner.__module__.startswith("belated.") and not key.startswith("_")
        if ours and (isinstance(member, classmethod | staticmethod | property) or inspect.isfunction(member)):
            yield key, member


def is_protocol(value: object) -> bool:
    return bool(getattr(value, "_is_protocol", False))


def find_documented(protocols: list[object]) -> set[str]:
    """What protocols say of their methods holds for the classes that fit them."""
    return {
        key for each in protocols if inspect.isclass(each) for key, one in list_members(each) if inspect.getdoc(one)
    }


def write_pages() -> dict[str, str]:
    """The Markdown of each page, by its path."""
    pages = {section: f"# {title}\n" for section, title in SECTIONS.items()}
    module = ""
    for section, name, value in list_names():
        head, _, _ = name.rpartition(".")
        if section == "modules" and head != module:
            module = head
            about = (inspect.getdoc(import_module(module)) or "").split("\n\n")[0]
            pages[section] += f"\n## {module}\n\n{about}\n"
        pages[section] += write_entry(name, 3 if section == "modules" else 2, value)
    for module in INTEGRATIONS:
        for name in read_exports(module):
            pages["integrations"] += f"\n::: {module}.{name}\n    options:\n      heading_level: 2\n"
    return {f"reference/{section}.md": text for section, text in pages.items()}


def write_entry(name: str, level: int, value: object) -> str:
    if inspect.isclass(value) or inspect.isfunction(value):
        more = "      merge_init_into_class: false\n" if name == "belated.Study" else ""  # made by create or open
        return f"\n::: {name}\n    options:\n      heading_level: {level}\n{more}"
    return f"\n{'#' * level} `{name.rpartition('.')[2]}`\n\n{describe_constant(value)}\n"


def describe_constant(value: object) -> str:
    """What a table holds, the names of its entries; of any other value, what it is."""
    if isinstance(value, dict):
        return "A table of " + ", ".join(f"`{key}`" for key in value) + "."
    return f"A value of `{type(value).__name__}`."
