"""Tiny conversations with questions, in both formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def locomo(**changes: Any) -> dict[str, Any]:
    """A sample of two sessions. In every question one word tells where the evidence is."""
    said = {
        "session_1": [
            ("Ann", "D1:1", "My cello teacher moved to Lisbon."),
            ("Bob", "D1:2", "I repaired the kayak on Sunday."),
            ("Ann", "D1:3", "The weather was grey all week."),
        ],
        "session_2": [
            ("Bob", "D2:1", "A heron stood in the garden."),
            ("Ann", "D2:2", "We planted saffron behind the shed."),
        ],
    }
    turns = {
        name: [{"speaker": speaker, "dia_id": turn, "text": text} for speaker, turn, text in entries]
        for name, entries in said.items()
    }
    sample = {
        "sample_id": "conv-test",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bob",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_2_date_time": "9:00 am on 2 June, 2023",
            **turns,
        },
        "qa": [
            asked("Where does the cello teacher live?", 4, "D1:1"),
            asked("When was the kayak repaired?", 2, "D1:2"),
        ],
    }
    return sample | changes


def asked(question: str, category: int, *evidence: str) -> dict[str, Any]:
    return {"question": question, "answer": "-", "category": category, "evidence": list(evidence)}


def neutral(**changes: Any) -> dict[str, Any]:
    """A conversation of two sessions that take turns in the file."""
    said = [
        ("m1", "spring", "user", "Our cat is called Momo.", "March-15-2024"),
        ("m2", "autumn", "user", "The boiler needs a new valve.", "2024-10-01T08:00:00Z"),
        ("m3", "spring", "assistant", "What a lovely name.", None),
        ("m4", "autumn", "assistant", "A plumber costs ninety euros.", "some day"),
    ]
    keys = ("id", "session", "role", "content", "time")
    case = {
        "id": "ann",
        "messages": [dict(zip(keys, entry, strict=True)) for entry in said],
        "questions": [
            {"type": "facts", "question": "How is the cat called?", "answer": "Momo", "evidence": ["m1"]},
            {"type": "costs", "question": "What does the plumber cost?", "answer": "90", "evidence": ["m4"]},
        ],
    }
    return case | changes


def written(path: Path, *records: object) -> str:
    """The path of a file that holds the records as a JSON array."""
    path.write_text(json.dumps(records), encoding="utf-8")
    return str(path)
