"""Groups of features in files."""

import pytest

from ranksieve.data import DataError
from ranksieve.io.small_tables import read_groups


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.csv", "feature,group\nx,a\ny,b\nz,a\n", {"a": ["x", "z"], "b": ["y"]}),
        ("a.csv", "\ufeffGroup, Feature\r\na,x\r\n\r\n", {"a": ["x"]}),
        ("a.txt", 'feature,group\n"x, 1",a\n', {"a": ["x, 1"]}),
        ("a.tsv", "feature\tgroup\nx\ta\n", {"a": ["x"]}),
        ("a.csv", "feature,group\n", {}),
        ("a.csv", "owner,name,group\nme,x,a\nme,y,\n", {"a": ["x"]}),
        ("a.json", '{"a": ["x", 2], "b": []}', {"a": ["x", "2"], "b": []}),
        ("a.json", '[["x"], [1, 2]]', {"1": ["x"], "2": ["1", "2"]}),
    ],
)
def test_forms(tmp_path, name, text, expected):
    assert read_groups(written(tmp_path, name, text)) == expected


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "", "a.csv:1: no column is named feature or feature_name or name: rename one"),
        ("a.csv", "feature,team\nx,a\n", "no column is named group among feature, team: rename"),
        ("a.csv", "feature,group,group\nx,a,a\n", "a.csv:1: 2 columns are named 'group'"),
        ("a.csv", "feature,group\nx,a\ny\n", "a.csv:3: expected 2 fields, found 1"),
        ("a.csv", 'feature,group\n"x"y,a\n', "a.csv:2: not CSV"),
        ("a.csv", b"feature,group\n\xff,a\n", "a.csv: not UTF-8 text"),
        ("a.json", "{", "a.json:1: not JSON"),
        ("a.json", "3", "a.json: it should be an object, not 3; groups are lists of names"),
        ("a.json", '{"a": ["y"], "b": "x"}', "a.json: 'b' should be a list, not 'x'; groups"),
        ("a.json", '{"a": [1.5]}', "a.json: 'a[0]' should be a whole number or a text, not 1.5"),
        ("a.csv", "feature,group\n,a\n", "a.csv:2: the feature has no name"),
        ("a.json", '{"a": ["x"], "a": ["y"]}', "a.json: not JSON: 'a' appears twice"),
    ],
)
def test_what_is_wrong(tmp_path, name, text, message):
    with pytest.raises(DataError) as error:
        read_groups(written(tmp_path, name, text))
    assert message in str(error.value)
