"""A reflection whose work can be checked: the old notes, and a note for every plain statement of a user."""

from __future__ import annotations

import json

from anaphora.testing.extractions import faithful_extraction


def reflection_answer(prompt: str) -> str:
    """What an honest model would answer to the user text of the prompt `reflection`."""
    old = prompt.partition("\n\nMESSAGES\n")[0].splitlines()[1:]
    notes = [json.loads(line)["note"] for line in old if line.startswith("{")]
    for fact in faithful_extraction(prompt)["facts"]:
        if fact["content"] not in notes:
            notes.append(fact["content"])
    return json.dumps({"notes": notes}, ensure_ascii=False)
