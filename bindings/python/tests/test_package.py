"""What is around the code: types, documentation, the notebook."""

import doctest
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import iosonar
import pytest
from iosonar import _iosonar

PACKAGE = Path(__file__).resolve().parents[1]
MANUAL = PACKAGE.parents[1] / "docs" / "src" / "python.md"


@pytest.mark.parametrize("name", ["iosonar", "iosonar.queueing", "iosonar.results"])
def test_examples_in_the_documentation_run(name):
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert failed == 0
    assert tried > 0 or name == "iosonar.results"


def test_every_public_name_is_documented():
    for name in iosonar.__all__:
        if not name.startswith("__"):
            assert getattr(iosonar, name).__doc__, name
    assert (Path(iosonar.__file__).parent / "py.typed").exists()


def test_the_stub_has_what_the_module_has():
    stub = (Path(iosonar.__file__).parent / "_iosonar.pyi").read_text()
    declared = set(re.findall(r"^(?:class|def) (\w+)", stub, re.MULTILINE))
    there = {name for name in dir(_iosonar) if not name.startswith("__")}
    assert declared == there
    for name in ("Trace", "Figure", "Run", "Network"):
        body = re.search(rf"^class {name}\b.*?(?=^\S|\Z)", stub, re.MULTILINE | re.DOTALL)[0]
        methods = set(re.findall(r"def (\w+)", body)) - {"__new__"}
        of_class = {k for k in vars(getattr(_iosonar, name)) if k not in vars(object)}
        of_class -= {"__module__", "__new__"}
        assert methods - set(vars(object)) == of_class, name


def test_types_are_consistent():
    pytest.importorskip("mypy")
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "-p", "iosonar"],
        capture_output=True,
        text=True,
        cwd=PACKAGE,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def cells(notebook):
    """The code of a notebook."""
    content = json.loads(notebook.read_text())
    return ["".join(of["source"]) for of in content["cells"] if of["cell_type"] == "code"]


def test_the_notebook_runs(tmp_path, monkeypatch):
    notebook = PACKAGE / "examples" / "storage.ipynb"
    monkeypatch.chdir(notebook.parent)
    try:
        import ipykernel  # noqa: F401
        import nbclient
        import nbformat
    except ImportError:
        # Without Jupyter, its cells one after the other.
        variables = {}
        for cell in cells(notebook):
            exec(cell, variables)
        return
    content = nbformat.read(notebook, as_version=4)
    nbclient.NotebookClient(content, timeout=120, kernel_name="python3").execute()
    shown = [
        output["data"]
        for cell in content.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output["output_type"] == "execute_result"
    ]
    assert any("image/png" in data and "image/svg+xml" in data for data in shown)
    assert any("text/html" in data and "p99" in data["text/html"] for data in shown)


def test_the_manual_s_scripts_run(tmp_path, monkeypatch):
    text = MANUAL.read_text()
    scripts = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(scripts) > 4
    (tmp_path / "examples").symlink_to(PACKAGE.parents[1] / "examples")
    (tmp_path / "fixtures").symlink_to(PACKAGE.parents[1] / "fixtures")
    monkeypatch.chdir(tmp_path)
    variables = {}
    for script in scripts:
        if re.search(r"^import (polars|pyarrow|duckdb|pandas)", script, re.MULTILINE):
            for name in re.findall(r"^import (\w+)", script, re.MULTILINE):
                pytest.importorskip(name)
        exec(script, variables)
