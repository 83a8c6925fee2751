import json

# Modules and names of all functions that numba compiles for one statistic, without its cache.
COMPILE = """
import json
from numba.core import caching, event
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
caching.FunctionCache.load_overload = caching.FunctionCache.save_overload = lambda *_: None
data = RankingData([[1.0, 9.0], [2.0, 5.0], [3.0, 7.0]], y=[0, 0, 1], qid=[4, 4, 4])
feature_importance(data, "mrr")
print(json.dumps(compiled))
"""


def test_only_what_a_statistic_uses_is_compiled(start_program):
    status, output, errors = start_program(exec, COMPILE, {}).wait()
    assert (status, errors) == (0, "")
    functions = json.loads(output)
    names = [name for module, name in functions if module.startswith("ranksieve")]
    assert {"add_importance", "reciprocal_rank", "sort_descending"} <= set(names)
    assert not {"dcg", "mean_ndcg", "precision_sum", "cascade", "pair_errors"} & set(names)
    assert len(names) == len(set(names)), "a function was compiled for several types"
    # Texts of errors about shapes, and numba's sorting, take longer than the kernel itself.
    assert not [module for module, _ in functions if "unicode" in module or "sort" in module]
