"""Studies of real servers are read against what the installed executables say they have."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import StudyError
from assay.study.read import read
from study_kit import study_text


def study(**changed: str) -> str:
    given = {
        "target": "mariadb",
        "factor": "pool",
        "workload": "tpcc",
        "parameters": "warehouses = 1",
        "change": "mariadb.buffer_pool_size",
        "levels": 'off = "35MiB"\non = "80M"',
    }
    return study_text(**{**given, **changed})


def mistakes(text: str) -> str:
    with pytest.raises(StudyError) as caught:
        read("s.toml", text, Path("."))
    return caught.value.message


def test_sizes_of_a_server_reach_it_as_they_are_written() -> None:
    """The case has what Assay and the study give, and nothing that is left to the server."""
    found = read("s.toml", study(settings='innodb_log_file_size = "256M"'), Path("."))
    (case,) = found.cases
    assert case.settings["innodb_log_file_size"] == "256M"
    assert case.settings["connections"] == 16
    assert case.settings["max_connections"] == 1000
    assert "innodb_io_capacity" not in case.settings
    levels = [v.application.settings for v in found.factors["pool"].levels.values()]
    assert levels == [{"innodb_buffer_pool_size": "35MiB"}, {"innodb_buffer_pool_size": "80M"}]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"settings": "inodb_io_capacity = 1"}, "did you mean 'innodb_io_capacity'"),
        ({"settings": "innodb_io_capacity = 1"}, "adjusted to 100"),
        ({"settings": 'datadir = "x"'}, "mariadb has no 'datadir'"),
        ({"settings": "innodb_buffer_pool_size = 1"}, "set by factor pool and for all arms"),
        ({"levels": 'off = "35MiB"\non = "80x"'}, "'80x' is not allowed"),
        ({"levels": "off = 1\non = 2"}, "write a size"),
        ({"parameters": 'home = "drawn"'}, "tpcc has no 'home'"),
        ({"target": "postgresql"}, "is a change of mariadb, not of postgresql"),
        (
            {
                "target": "postgresql",
                "change": "postgresql.huge_page_size",
                "levels": "",
            },
            "requires huge_pages = on",
        ),
    ],
)
def test_what_a_server_cannot_have_is_refused(changed: dict[str, str], why: str) -> None:
    """With what is there instead."""
    assert why in mistakes(study(**changed))
