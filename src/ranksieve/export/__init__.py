"""Models and feature sets for search engines, and the proof that they rank there as they did here.

:func:`export_model` writes the files. A trained model is first read in a neutral form
(:mod:`ranksieve.export.forms`); each target (:mod:`ranksieve.export.targets`) writes that form, and
reads what it has written again, in the arithmetic of the engine, to verify it.
"""

from __future__ import annotations

from ranksieve.public_names import export

_HOMES = {
    "export_model": "ranksieve.export.exporting",
    "Export": "ranksieve.export.exporting",
    "Verification": "ranksieve.export.verifying",
    "TARGETS": "ranksieve.export.targets.registry",
}

__getattr__, __dir__ = export(__name__, _HOMES)
