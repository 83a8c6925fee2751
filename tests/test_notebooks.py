"""What a notebook shows: its cells run in a real kernel."""

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = pytest.mark.slow

CELLS = {
    "results": """
from ranksieve.sums.inspection import inspect
from ranksieve import make_ranking
data, _ = make_ranking(40, n_noise=1)
inspect(data)
""",
    "figures": "inspect(data).plot()",
    "selectors": """
from ranksieve.selectors import GAS
GAS(2).fit(data)
""",
    "progress": """
import time
from ranksieve import progress
progress._QUICK = 0.0
with progress.progress_bar(what="Boruta"):
    advance = progress.track("<b>Rounds", 4)
    advance(1)
    time.sleep(1.0)
    advance(3)
print("done")
""",
    "off": """
with progress.progress_bar(False):
    progress.track("Silence", 4)(1)
    time.sleep(0.5)
""",
}


class Notebook(NotebookClient):
    """A notebook that also remembers what its cells showed and then replaced."""

    def process_message(self, msg, cell, cell_index):
        if msg["msg_type"] == "update_display_data":
            self.replaced.append(msg["content"]["data"])
        return super().process_message(msg, cell, cell_index)


@pytest.fixture(scope="module")
def notebook():
    made = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, CELLS.values())))
    client = Notebook(made, timeout=120, kernel_name="python3")
    client.replaced = []
    client.execute()
    client.outputs = {name: cell.outputs for name, cell in zip(CELLS, made.cells, strict=True)}
    return client


def test_progress_is_shown_and_removed(notebook):
    bars = [one["text/html"] for one in notebook.replaced]
    name = "&lt;b&gt;Rounds"
    bar = f'<div><progress value="0.250" aria-label="{name}" style="width: 14em"></progress> '
    assert any(one.startswith(f"{bar}{name}  1/4  0:0") for one in bars), bars
    assert not any("<b>" in one for one in bars)
    left, printed = notebook.outputs["progress"]
    assert left.data == {"text/plain": "", "text/html": ""}
    assert printed.text == "done\n"


def test_progress_is_turned_off(notebook):
    assert notebook.outputs["off"] == []


def test_results_show_themselves(notebook):
    """A card, a figure, and what scikit-learn shows of a selector, below a bar that is gone."""
    card, figure, selector = (
        notebook.outputs[name][-1] for name in ("results", "figures", "selectors")
    )
    assert card.data["text/plain"].startswith("<Inspection: ")
    assert card.data["text/html"].startswith('<div class="ranksieve')
    assert figure.data["text/plain"].startswith("<Chart 'alone': ")
    assert figure.data["image/svg+xml"].startswith("<svg")
    assert selector.data["text/plain"] == "GAS(n_features_to_select=2)"
    assert "sk-container" in selector.data["text/html"]
