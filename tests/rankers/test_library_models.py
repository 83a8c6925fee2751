"""Random models of LightGBM, XGBoost and CatBoost, read with the bits of their libraries."""

import pytest
from benchmarks import model_files


@pytest.mark.filterwarnings("ignore")  # of the libraries, about parameters and names of features
@pytest.mark.parametrize("number", range(18))
def test_what_libraries_write_is_read(number, tmp_path):
    outcome, reason = model_files.try_model(model_files.random_model(number, tmp_path), tmp_path)
    assert (outcome == "exported") == (reason == "")
