"""Write the part of docs/reference/rest.md that tells of every route, from the OpenAPI document.

Run it after a change of a route: `python tools/rest_page.py`. A test compares the page with what this would write.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from fastapi import FastAPI

PAGE: Final = Path(__file__).parents[1] / "docs" / "reference" / "rest.md"
MARK: Final = "<!-- what follows is written by tools/rest_page.py -->\n"


def written(page: str, document: Mapping[str, Any]) -> str:
    """The page with the routes of the document."""
    head, mark, _ = page.partition(MARK)
    if not mark:
        raise SystemExit(f"{PAGE} has no line {MARK!r}")
    return head + mark + "\n".join(_routes(document)) + "\n"


def _routes(document: Mapping[str, Any]) -> Iterator[str]:
    by_tag: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            tag = (operation.get("tags") or ["other"])[0]
            by_tag.setdefault(tag, []).append("\n".join(_route(method.upper(), path, operation, document)))
    for tag in sorted(by_tag):
        yield f"\n## {tag.capitalize()}"
        yield from by_tag[tag]


def _route(method: str, path: str, operation: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[str]:
    said = operation.get("description", "").split("\n\n")[0].replace("\n", " ")
    yield f"\n### `{method} {path}`\n"
    yield f"`{operation['operationId']}`: {said}"
    taken = [each for each in operation.get("parameters", ()) if each["in"] != "path"]
    if taken:
        names = ", ".join(_parameter(each) for each in taken)
        yield f"\nTakes {names}."
    example = _example(operation, document)
    if example is not None:
        yield f"\n```json\n{json.dumps(example, ensure_ascii=False)}\n```"
    yield f"\nAnswers {', '.join(_answers(operation))}."


def _parameter(given: Mapping[str, Any]) -> str:
    shown = f"`{given['name']}`"
    if given["in"] == "header":
        shown += " (a header)"
    return shown + (" (needed)" if given.get("required") else "")


def _example(operation: Mapping[str, Any], document: Mapping[str, Any]) -> object:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    schema = content.get("schema", {})
    named = schema.get("$ref", "").rpartition("/")[2]
    if named:
        schema = document["components"]["schemas"][named]
    return next(iter(schema.get("examples", ())), None)


def _answers(operation: Mapping[str, Any]) -> Iterator[str]:
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            kinds = [_named(kind, held.get("schema", {})) for kind, held in answer.get("content", {}).items()]
            yield f"{status}" + (f" with {' or '.join(kinds)}" if kinds else "")


def _named(media: str, schema: Mapping[str, Any]) -> str:
    if media != "application/json":
        return f"`{media}`"
    return _shape(schema)


def _shape(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return f"a `{schema['$ref'].rpartition('/')[2]}`"
    if schema.get("type") == "array" and "items" in schema:
        return f"a list, each {_shape(schema['items'])}"
    if "anyOf" in schema:
        return " or ".join(_shape(each) for each in schema["anyOf"])
    return str(schema.get("type", "JSON"))


def document() -> Mapping[str, Any]:
    """The OpenAPI document of the service."""
    return service().openapi()


def service() -> FastAPI:
    """A service over an empty memory that is closed: it can only be looked at."""
    from anaphora import Memory  # noqa: PLC0415 - the extra `server`
    from anaphora.domain.principals import OF_PERSONS, Principal  # noqa: PLC0415
    from anaphora.server import create_app  # noqa: PLC0415
    from anaphora.server.gate import Open  # noqa: PLC0415

    async def made() -> FastAPI:
        me = Principal(tenant="t", user="me", permissions=OF_PERSONS, by="open")
        async with Memory.open(":memory:", embedder="none", worker=False) as memory:
            return create_app(memory, Open(me))

    return asyncio.run(made())


def main() -> int:
    """Write the page."""
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), document()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
