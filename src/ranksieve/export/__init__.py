"""Export models and feature sets to search engines, and verify that they rank in the same way.

:func:`export_model` writes the files. A trained model is first converted to a neutral form
(:mod:`ranksieve.export.forms`). Each target (:mod:`ranksieve.export.targets`) writes that form, and
reads its files back to verify them in the arithmetic of the engine.
"""

from __future__ import annotations

from ranksieve.public_names import export

_HOMES = {
    "export_model": "ranksieve.export.exporting",
    "Export": "ranksieve.export.exporting",
    "Verification": "ranksieve.export.verifying",
    "TARGETS": "ranksieve.export.targets",
}

__getattr__, __dir__ = export(__name__, _HOMES)
