"""`anaphora eval segmentation`: the figures, the baselines, and files that cannot be measured."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anaphora.cli import main
from anaphora.evals.boundaries import marks, pk, precision_and_recall, window, windowdiff
from anaphora.evals.segmentation import Dialogue, evaluate, read, shifts
from anaphora.models.embedders.profiles import GENERIC
from anaphora.ports.models import EmbedderProfile
from anaphora.rules.topics.detector import Limits
from anaphora.services.importing.values import BadFile
from anaphora.settings import load
from anaphora.strategies.topics import Topics
from anaphora.testing.embeddings import by_topics


class Embedder:
    """Vectors in which words of one topic mean nearly the same."""

    profile: EmbedderProfile = replace(GENERIC, id="by-topics", dimensions=32)

    def __init__(self) -> None:
        self._vector = by_topics({"bread": ["flour", "sourdough", "degrees"], "travel": ["train", "ticket", "hamburg"]})

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        return [self._vector(text) for text in texts]

    def embed_query(self, text: str) -> Sequence[float]:
        return self._vector(text)


LENGTHS = st.lists(st.integers(1, 9), min_size=1, max_size=12)
#: three topics that words tell apart
DIALOGUE: dict[str, Any] = {
    "utterances": [
        "Which flour do I need for sourdough bread?",
        "Strong wheat flour or rye flour.",
        "How warm should the sourdough stand?",
        "About 26 degrees. Is there anything else?",
        "By the way, another question: I need a train to Hamburg.",
        "There is a direct train to Hamburg at nine.",
        "How much is the train ticket?",
        "The ticket costs 40 euros. Anything else?",
    ],
    "segments": [4, 4],
}


@pytest.mark.parametrize(
    ("reference", "found", "size", "of_pk", "of_windowdiff"),
    # what NLTK 3.10.4's nltk.metrics.segmentation.pk and windowdiff say of the same marks and windows
    [
        ((8, 8, 2, 10, 4), (8, 10, 14), 3, 0.172414, 0.206897),
        ((3, 3, 3), (9,), 2, 0.571429, 0.571429),
        ((9,), (3, 3, 3), 5, 1.000000, 1.000000),
        ((2, 2, 2, 2), (1, 1, 1, 1, 1, 1, 1, 1), 2, 0.000000, 1.000000),
        ((4, 6, 4), (4, 6, 4), 2, 0.000000, 0.000000),
        ((5, 5), (4, 6), 3, 0.285714, 0.285714),
        ((6, 6), (2, 3, 6, 1), 3, 0.555556, 0.555556),
        ((6, 1, 6, 1, 4, 3, 3), (2, 2, 8, 4, 6, 2), 2, 0.727273, 0.727273),
        ((4, 8, 2, 2, 1), (2, 6, 4, 5), 2, 0.600000, 0.600000),
        ((8, 1, 2, 1), (1, 3, 1, 3, 4), 2, 0.600000, 0.700000),
        ((8, 4, 8, 4), (4, 8, 6, 4, 2), 3, 0.476190, 0.476190),
        ((1, 1, 2, 4, 2, 3, 4), (4, 8, 3, 2), 2, 0.666667, 0.666667),
    ],
)
def test_the_figures_are_those_of_nltk(
    reference: Sequence[int], found: Sequence[int], size: int, of_pk: float, of_windowdiff: float
) -> None:
    assert window(reference) == size
    assert pk(marks(reference), marks(found), size) == pytest.approx(of_pk, abs=1e-6)
    assert windowdiff(marks(reference), marks(found), size) == pytest.approx(of_windowdiff, abs=1e-6)


@given(lengths=LENGTHS)
def test_what_was_written_down_has_no_error(lengths: list[int]) -> None:
    ends = marks(lengths)
    assert pk(ends, ends, window(lengths)) in {0, None}
    assert windowdiff(ends, ends, window(lengths)) in {0, None}
    assert precision_and_recall([(ends, ends)]) == ((1, 1) if any(ends) else (0, 0))


@given(one=LENGTHS, other=LENGTHS)
def test_windowdiff_counts_every_window_that_pk_counts(one: list[int], other: list[int]) -> None:
    other = [*other, sum(one) - sum(other)] if sum(other) < sum(one) else [sum(one)]
    size = window(one)
    strict, lenient = windowdiff(marks(one), marks(other), size), pk(marks(one), marks(other), size)
    assert (strict is None) == (lenient is None) == (sum(one) <= size)
    assert strict is None or lenient is None or strict >= lenient


def test_every_utterance_counts_as_a_users_and_the_baselines_stand_beside() -> None:
    dialogue = Dialogue(utterances=tuple(DIALOGUE["utterances"]), segments=(4, 4))
    found = evaluate([dialogue], Embedder(), lambda _: None)
    assert set(found["baselines"]) == {"never", "every 8", "cosine 0.45"}
    assert (found["pk"], found["windowdiff"], found["f1"]) == (0.0, 0.0, 1.0)
    assert found["baselines"]["never"]["pk"] == pytest.approx(2 / 6, abs=1e-4)
    assert found["embedder"] == "by-topics"


def test_every_eighth_message_is_the_baselines_cut() -> None:
    dialogue = Dialogue(utterances=("So it is.",) * 24, segments=(8, 8, 8))
    assert evaluate([dialogue], None, lambda _: None)["baselines"]["every 8"]["f1"] == 1.0


def test_a_dialogue_that_is_too_short_counts_for_no_window() -> None:
    short = Dialogue(utterances=("Hello.", "Bye."), segments=(1, 1))
    assert evaluate([short], None, lambda _: None)["pk"] is None
    assert shifts([]) == ()


def document(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main(["eval", "segmentation", *words]) == 0
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    return json.loads(out)


def test_the_command_prints_one_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "dialogues.json"
    file.write_text(json.dumps([DIALOGUE, DIALOGUE]))
    found = document(capsys, str(file), "--no-embedder", "--json")
    assert (found["dialogues"], found["embedder"], found["pk"], found["f1"]) == (2, None, 0.0, 1.0)
    assert set(found["baselines"]) == {"never", "every 8"}


def test_people_see_a_row_for_each_system(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "dialogues.jsonl"
    file.write_text(json.dumps(DIALOGUE) + "\n")
    assert main(["eval", "segmentation", str(file), "--no-embedder"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines() if line and line[0].isalpha()][:3] == [
        "system",
        "anaphora",
        "never",
    ]
    assert "1 dialogue" in out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[]", "expected dialogues"),
        ("[17]", "expected a dialogue"),
        ('[{"utterances": ["a"]}]', "expected segments as a JSON array"),
        ('[{"utterances": ["a", "b"], "segments": [1]}]', "1 messages together, the dialogue has 2"),
        ('[{"utterances": [], "segments": []}]', "the dialogue has 0"),
        ('[{"utterances": ["a"], "segments": [true]}]', "whole numbers"),
        ('[{"utterances": ["a", "b"], "segments": [2, 0]}]', "whole numbers"),
        ('[{"utterances": ["a", 5], "segments": [2]}]', "utterances[1]"),
    ],
)
def test_a_file_that_cannot_be_measured_is_told_in_one_line(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "dialogues.json"
    file.write_text(text)
    with pytest.raises(BadFile) as caught:
        read(file)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_strategy_cuts_as_it_is_configured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "dialogues.json"
    file.write_text(json.dumps([DIALOGUE]), encoding="utf-8")
    plain = document(capsys, str(file), "--no-embedder", "--json")
    monkeypatch.setenv("ANAPHORA_TOPICS__LEAST_MESSAGES", "5")
    late = document(capsys, str(file), "--no-embedder", "--json")
    monkeypatch.setenv("ANAPHORA_TOPICS__LEAST_MESSAGES", "1")
    monkeypatch.setenv("ANAPHORA_TOPICS__DOUBT", "1")
    monkeypatch.setenv("ANAPHORA_TOPICS__ALONE", "1")
    always = document(capsys, str(file), "--no-embedder", "--json")
    assert (plain["recall"], late["recall"]) == (1.0, 0.0)
    assert (always["precision"], always["recall"]) == (pytest.approx(1 / 7, abs=1e-4), 1.0)
    assert plain["baselines"] == late["baselines"] == always["baselines"]


def test_with_its_defaults_the_strategy_cuts_as_the_rules_do() -> None:
    strategy = load(db=":memory:").strategies().get("topics")
    assert isinstance(strategy, Topics)
    assert strategy.limits == Limits()
