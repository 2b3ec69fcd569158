"""The pages of the reference, one for each group of public names: what is public is on one of them."""

import inspect
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

import belated

INTEGRATIONS = {  # named, not imported: each needs a library of its own
    "belated.integrations.optuna": ["BelatedSampler"],
    "belated.integrations.sklearn": ["BelatedSearchCV"],
    "belated.integrations.ray": ["BelatedSearch", "RayExecutor"],
    "belated.plotting.interactive": ["draw_outcomes", "draw_delays", "draw_beliefs"],
}
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
    """Public names, and public methods of classes, without a docstring of their own; constants cannot have one."""
    found = []
    for _, name, value in list_names():
        if inspect.isclass(value) or inspect.isfunction(value):
            found += [] if value.__doc__ else [name]
        if name == "belated.Study":
            methods = {key: one for key, one in vars(value).items() if not key.startswith("_")}
            found += [f"{name}.{key}" for key, one in methods.items() if not inspect.getdoc(one)]
    return found


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
    for module, names in INTEGRATIONS.items():
        for name in names:
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
