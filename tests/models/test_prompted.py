from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anaphora.models.prompted import json_text, with_schema

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
#: what models put around JSON; no brace, so that the object's own is the first
PROSE = st.text(st.characters(exclude_characters="{}"), max_size=40)


@given(st.dictionaries(st.text(), JSON, max_size=3), PROSE, st.text(max_size=40))
def test_an_object_is_found_whatever_stands_around_it(value: dict[str, object], before: str, after: str) -> None:
    written = json.dumps(value, ensure_ascii=False)
    assert json_text(f"{before}{written}{after}") == written


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ('```json\n{"a": 1}\n```', '{"a": 1}'),
        ('For {name}: { "a": "}{\\"" } and {"b": 2}', '{ "a": "}{\\"" }'),
        ('{"a": {"b": 1}', '{"a": {"b": 1}'),
        ('so: {"a": "never ends', '{"a": "never ends'),
        (" no JSON here \n", "no JSON here"),
        ("", ""),
    ],
)
def test_the_first_balanced_object_counts_or_what_there_is(answer: str, found: str) -> None:
    assert json_text(answer) == found


@pytest.mark.parametrize("hostile", ['{"a":' * 200_000, '{"' * 500_000, "{" * 1_000_000, '{"' + "\\" * 1_000_001])
def test_hostile_answers_cost_no_more_than_their_length(hostile: str) -> None:
    begin = time.process_time()
    json_text(hostile)
    assert time.process_time() - begin < 1


def test_the_schema_joins_the_last_leading_system_text() -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]
    system, user = with_schema(messages, {"title": "x"})
    assert system["content"].startswith("Be brief.\n\n")
    assert system["content"].endswith('{"title": "x"}')
    assert user == messages[1]
    assert messages[0]["content"] == "Be brief."


def test_without_instructions_the_schema_is_the_system_text() -> None:
    roles = [message["role"] for message in with_schema([{"role": "user", "content": "hi"}], {})]
    assert roles == ["system", "user"]
