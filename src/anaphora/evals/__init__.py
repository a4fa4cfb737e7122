"""How much of what was said is found again: recall and coverage on conversations with questions and evidence.

`locomo` and `neutral` read files, `cases` says what they hold, `measure` asks every question, `baselines` answers them
by words alone, and `figures` makes one document of it.
"""
