"""The version of the package, and of those that its results depend on."""

from importlib.metadata import PackageNotFoundError, version
from platform import machine, python_version, system

__version__ = "0.1.0.dev0"
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "lightgbm", "xgboost", "catboost")


def installed_versions() -> dict[str, str]:
    """Versions of Python, of packages that results depend on, and of the system."""
    found = {"ranksieve": __version__, "Python": python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found | {"system": f"{system()} {machine()}"}
