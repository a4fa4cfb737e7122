"""The document and the page about it tell of every route, and their names do not change by accident."""

from __future__ import annotations

from typing import Any

import pytest
from tools.rest_page import PAGE, document, written

from anaphora.server.queries import SEVERAL

DOCUMENT = document()
OPERATIONS: dict[str, dict[str, Any]] = {
    f"{method.upper()} {path}": operation
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
}


def test_the_page_tells_of_every_route() -> None:
    page = PAGE.read_text(encoding="utf-8")
    missing = [name for name in OPERATIONS if f"### `{name}`" not in page]
    assert not missing, "run `python tools/rest_page.py`"
    assert page == written(page, DOCUMENT), "run `python tools/rest_page.py`"


def test_every_operation_has_an_id_of_its_own_a_tag_and_says_what_it_does() -> None:
    ids = [operation["operationId"] for operation in OPERATIONS.values()]
    assert len(set(ids)) == len(ids)
    for name, operation in OPERATIONS.items():
        assert operation["operationId"].isidentifier(), name
        assert operation.get("tags"), name
        assert operation.get("description"), name


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_a_body_of_json_has_an_example(name: str) -> None:
    content = OPERATIONS[name].get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return
    schema = content["schema"]
    schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    assert schema.get("examples") or content.get("example") or content.get("examples"), name


def test_only_what_is_known_to_take_several_values_may_come_twice() -> None:
    lists = {
        parameter["name"]
        for operation in OPERATIONS.values()
        for parameter in operation.get("parameters", ())
        if parameter["in"] == "query" and "'array'" in str(parameter["schema"])
    }
    assert lists == SEVERAL
