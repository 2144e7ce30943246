"""What several tests use."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def scenario() -> Dict[str, Any]:
    """A small array with reads and writes."""
    return {
        "seed": 3,
        "load": {
            "requests": 2000,
            "arrivals": {"poisson_per_s": 40.0},
            "read_share": 0.7,
            "size": {"blocks": 4},
        },
        "array": {"level": "raid5", "disks": 5},
        "disk": {"profile": "seagate-st3500630ns"},
    }


@pytest.fixture
def examples() -> Path:
    return ROOT / "examples"


@pytest.fixture
def trace() -> Path:
    """A recording of a database server."""
    return ROOT / "fixtures" / "database-server.load.gz"
