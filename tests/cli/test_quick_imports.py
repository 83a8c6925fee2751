"""A command imports other libraries without what it does not use, and all of it works later."""

import os
import subprocess
import sys

COMMAND = """
import sys
from ranksieve.cli import main
for command in (["train", "--rankers"], ["select", "--methods"]):
    try:
        main(command)
    except SystemExit:
        pass
assert "sklearn" in sys.modules
"""

LEFT_OUT = """
unused = {"pandas", "scipy.stats", "sklearn.feature_selection", "sklearn.metrics"}
unused |= {"numpy.f2py", "numpy.testing", "narwhals", "scipy.fft", "scipy.spatial"}
assert not unused & set(sys.modules), unused & set(sys.modules)
"""

PANDAS = """
import pandas.api.types
import pandas
assert sys.modules["pandas.api"] is pandas.api and pandas.api.types.is_bool_dtype(bool)
from sklearn.utils import fixes
assert fixes.pd.DataFrame is pandas.DataFrame
from ranksieve.selectors import TopImportance
X = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "b": [2.0, 1.0, 3.0]})
selector = TopImportance(1).set_output(transform="pandas").fit(X, [0, 1, 1], qid=[1, 1, 1])
assert list(selector.transform(X)) == ["a"]
from lightgbm import LGBMRegressor
assert LGBMRegressor(n_estimators=1, verbose=-1).fit(X, [0, 1, 1]).feature_name_ == ["a", "b"]
"""

NUMPY_AND_SCIPY = """
import sys
from ranksieve.cli.quick_start import import_quickly
import_quickly()
import numpy, scipy, sklearn
assert not {"scipy.special", "numpy.f2py", "numpy.testing"} & set(sys.modules)
from sklearn.utils import _array_api
from scipy._lib.array_api_compat import numpy as names
assert _array_api.special.expit(0.0) == 0.5
names.testing.assert_array_equal([1], [1])
assert numpy.testing is sys.modules["numpy.testing"] and numpy.f2py.get_include()
from scipy.special import expit
assert expit is scipy.special.expit and scipy.special is sys.modules["scipy.special"]
"""

NARWHALS = """
from sklearn.utils import validation
if hasattr(validation, "nw"):  # not in older versions
    import polars
    from sklearn.utils import _safe_indexing
    frame = polars.DataFrame({"a": [1, 2], "b": [3, 4]})
    assert _safe_indexing(frame, [1]).rows() == [(2, 4)]
    import narwhals.stable.v2
    assert validation.nw.from_native is narwhals.stable.v2.from_native
    assert narwhals.stable.v2 is sys.modules["narwhals.stable.v2"]
"""

SCIPY_STATS = """
from scipy.stats._distn_infrastructure import rv_frozen
from scipy.stats import norm
assert isinstance(norm(), rv_frozen)
import scipy
assert list(scipy.stats.rankdata([3, 1])) == [2, 1] and scipy.stats is sys.modules["scipy.stats"]
from sklearn.utils.fixes import _mode
assert _mode([1, 2, 2], axis=0)[0] == 2
"""

FEATURE_SELECTION = """
import pickle
from sklearn.feature_selection import SelectKBest, SelectorMixin
import sklearn
from ranksieve.selectors import GAS
assert issubclass(SelectKBest, SelectorMixin) and issubclass(GAS, SelectorMixin)
assert sklearn.feature_selection.SelectKBest is SelectKBest
assert repr(pickle.loads(pickle.dumps(GAS(c=0.5)))) == "GAS(c=0.5)"
"""

LIGHTGBM = """
import lightgbm
assert not {"pandas", "sklearn.model_selection", "sklearn.preprocessing"} & set(sys.modules)
import numpy as np
ranker = lightgbm.LGBMRanker(n_estimators=1, min_child_samples=1, verbose=-1)
ranker.fit(np.arange(8.0).reshape(4, 2), [0, 1, 0, 1], group=[4])
assert "pandas" not in sys.modules
assert set(ranker.booster_.trees_to_dataframe()["tree_index"]) == {0}
import pandas
X = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "b": pandas.Categorical(["x", "y", "x"])})
trees = lightgbm.LGBMRegressor(n_estimators=1, verbose=-1).fit(X, [0, 1, 1])
assert trees.feature_name_ == ["a", "b"]
assert lightgbm.Dataset(X, pandas.Series([0, 1, 1])).construct().get_label().tolist() == [0, 1, 1]
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.preprocessing import LabelEncoder, MinMaxScaler
assert lightgbm.compat._LGBMGroupKFold is GroupKFold and lightgbm.compat.SKLEARN_INSTALLED
assert lightgbm.compat._LGBMLabelEncoder is LabelEncoder
"""

ALONE = [LIGHTGBM, PANDAS, NARWHALS, SCIPY_STATS, FEATURE_SELECTION]

# Each in a copy of the process, so that none finds what another has imported.
EACH_ALONE = f"""
import os
for program in {ALONE}:
    copy = os.fork()
    if not copy:
        exec(program)
        os._exit(0)
    assert os.waitpid(copy, 0)[1] == 0, program
"""

WITHOUT_PANDAS = """
from importlib.machinery import PathFinder
find_spec = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: None if name == "pandas" else find_spec(name, *rest)
"""


def check(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_what_is_not_used_is_left_out_and_works_when_it_is_used():
    if hasattr(os, "fork"):
        check(COMMAND + LEFT_OUT + EACH_ALONE)
    else:
        for program in ALONE:
            check(COMMAND + LEFT_OUT + program)


def test_commands_that_do_not_list_methods_leave_out_more():
    check(NUMPY_AND_SCIPY)


def test_pandas_may_be_missing():
    check(WITHOUT_PANDAS + COMMAND + "from sklearn.utils import fixes\nassert fixes.pd is None")
