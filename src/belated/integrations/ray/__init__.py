"""belated inside Ray (pip install belated[ray]): a searcher of Ray Tune's, and Ray as an executor.

Each is loaded when it is first used: who wants the executor alone does not load Ray Tune."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from belated.integrations.ray.executor import RayExecutor
    from belated.integrations.ray.search import BelatedSearch

__all__ = ["BelatedSearch", "RayExecutor"]


def __getattr__(name: str) -> Any:
    if name == "BelatedSearch":
        return import_module("belated.integrations.ray.search").BelatedSearch
    if name == "RayExecutor":
        return import_module("belated.integrations.ray.executor").RayExecutor
    raise AttributeError(f"module 'belated.integrations.ray' has no attribute {name!r}")
