import json
import os
import subprocess
import sys

# Modules and names of all functions that numba compiles for one statistic, with an empty cache.
COMPILE = """
import json
from numba.core import event
from ranksieve import RankingData
from ranksieve.sums.importance import feature_importance

compiled = []
class Listener(event.Listener):
    def on_start(self, started):
        function = started.data["dispatcher"].py_func
        compiled.append((function.__module__, function.__name__))
    def on_end(self, ended):
        pass
event.register("numba:compile", Listener())
data = RankingData([[1.0, 9.0], [2.0, 5.0], [3.0, 7.0]], y=[0, 0, 1], qid=[4, 4, 4])
feature_importance(data, "mrr")
print(json.dumps(compiled))
"""


def test_only_what_a_statistic_uses_is_compiled(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", COMPILE], env=environment, capture_output=True, text=True, check=True
    )
    functions = json.loads(done.stdout)
    names = [name for module, name in functions if module.startswith("ranksieve")]
    assert {"add_importance", "reciprocal_rank", "sort_descending"} <= set(names)
    assert not {"dcg", "mean_ndcg", "precision_sum", "cascade", "pair_errors"} & set(names)
    assert len(names) == len(set(names)), "a function was compiled for several types"
    # Texts of errors about shapes, and numba's sorting, take longer than the kernel itself.
    assert not [module for module, _ in functions if "unicode" in module or "sort" in module]
