"""Scenarios about what is known of people: what changes, what goes, and what was never told."""

from __future__ import annotations

from typing import Final

from anaphora.domain.wire import SectionName
from anaphora.evals.sessions.checks import (
    IMPORTANT,
    finds,
    finds_not,
    hidden,
    knew,
    knows,
    knows_not,
    notepad_without,
    once,
    says,
    says_not,
    shown,
    topic,
    topics_without,
)
from anaphora.evals.sessions.scenarios import (
    Correct,
    End,
    Forget,
    Look,
    Say,
    Scenario,
    Sitting,
    Unsay,
    point,
)

_FACTS: Final = SectionName.FACTS
#: how people and models say that they do not know
_ABSTAINS: Final = (
    "don't know|do not know|don't have|do not have|not sure|haven't|have not|no information|didn't|did not|not "
    "mentioned|unaware|can't tell|cannot tell|no record"
)

CONTRADICTION: Final = Scenario(
    name="contradiction",
    store="contradiction",
    sittings=(
        Sitting(user="nora", session="1", steps=(Say("Hello, I live in Lisbon."), End())),
        Sitting(
            user="nora",
            session="2",
            steps=(
                Say(
                    "By the way, I moved last week. I live in Porto now.",
                    (
                        point("the new city is known at once", knows("Porto", least=IMPORTANT)),
                        point("the old one is known as past", knew("Lisbon"), knows_not("Lisbon")),
                    ),
                ),
                End(),
            ),
        ),
        Sitting(
            user="nora",
            session="3",
            steps=(
                Say(
                    "Where do I live?",
                    (
                        point(
                            "the facts of the prompt have the new city alone",
                            shown("Porto", section=_FACTS),
                            hidden("Lisbon", section=_FACTS),
                        ),
                        point("the answer is the new city", says("Porto")),
                    ),
                ),
            ),
        ),
    ),
)

CORRECTION: Final = Scenario(
    name="correction by the user",
    store="correction",
    sittings=(
        Sitting(
            user="jon",
            session="1",
            steps=(
                Say("Hi, my name is Jon Smith.", (point("the name is known", knows("Jon Smith")),)),
                Correct("Jon Smith", "Name is John Smythe"),
                Look((point("the correction stands, once", once("Name is"), knows("John Smythe")),)),
                Say(
                    "I work as a nurse in a small clinic.",
                    (point("what is learned next leaves it alone", knows("nurse"), knows("John Smythe")),),
                ),
                End(),
            ),
        ),
        Sitting(
            user="jon",
            session="2",
            steps=(
                Say(
                    "What is my name?",
                    (
                        point(
                            "the facts of the prompt have the corrected name alone",
                            shown("John Smythe", section=_FACTS),
                            hidden("Jon Smith", section=_FACTS),
                        ),
                        point("the answer is the corrected name", says("Smythe")),
                    ),
                ),
            ),
        ),
    ),
)

DELETED_FACT: Final = Scenario(
    name="deleted fact",
    store="deleted-fact",
    sittings=(
        Sitting(
            user="petra",
            session="1",
            steps=(
                Say(
                    "I'm allergic to walnuts.",
                    (point("the allergy is known", knows("walnuts", least=IMPORTANT)),),
                ),
                Say("I work as a florist in Basel.", (point("and the occupation", knows("florist")),)),
                Forget("walnuts"),
                Look((point("the fact is gone, the other is not", knows_not("walnuts"), knows("florist")),)),
                Say(
                    "As I said, I'm allergic to walnuts.",
                    (point("what was deleted is not learned again", knows_not("walnuts"), knows("florist")),),
                ),
                Unsay("walnuts"),
                End(),
                Look(
                    (
                        point(
                            "with its messages deleted too, no search finds it",
                            finds_not("walnuts allergic", "walnuts"),
                            finds("florist Basel", "florist"),
                        ),
                        point("and no topic tells of it", topics_without("walnuts"), topic("florist")),
                        point("nor does the notepad", notepad_without("walnuts")),
                    )
                ),
            ),
        ),
        Sitting(
            user="petra",
            session="2",
            steps=(
                Say(
                    "What am I allergic to, and do I work as a florist?",
                    (
                        point("a later prompt has nothing of it", hidden("walnuts"), shown("florist")),
                        point("nor has the answer", says_not("walnuts"), says("florist")),
                    ),
                ),
            ),
        ),
    ),
)

DELETED_MESSAGE: Final = Scenario(
    name="deleted message",
    store="deleted-message",
    sittings=(
        Sitting(
            user="sam",
            session="1",
            steps=(
                Say("I'm planning the surprise party for Ida in the boathouse."),
                Say("The band for the party is called Heron Street."),
                Say("The cake for the party is lemon."),
                Say(
                    "By the way, another question: which tyres does my bicycle need for gravel?",
                    (point("the topic tells of all that was said", topic("boathouse", "Heron Street")),),
                ),
                Unsay("Heron Street"),
                Look(
                    (
                        point("its topic is described again without it", topics_without("Heron"), topic("boathouse")),
                        point(
                            "no search finds it",
                            finds_not("band for the party Heron Street", "Heron"),
                            finds("surprise party", "boathouse"),
                        ),
                    )
                ),
                Say(
                    "Going back to the surprise party for Ida, what did I say about the band and the cake?",
                    (
                        point("no prompt has it, and what was not deleted is there", hidden("Heron"), shown("lemon")),
                        point("nor has an answer", says_not("Heron"), says("lemon")),
                    ),
                ),
                End(),
            ),
        ),
    ),
)

ABSTENTION: Final = Scenario(
    name="abstention",
    store="abstention",
    sittings=(
        Sitting(
            user="lea",
            session="1",
            steps=(Say("My sister's name is Ruth."), Say("I live in Ghent."), End()),
        ),
        Sitting(
            user="lea",
            session="2",
            steps=(
                Say("What is my sister's name?", (point("what was told is answered", says("Ruth")),)),
                Say(
                    "What is my brother's name?",
                    (
                        point("what was never told is not made up", says_not("Ruth"), says(_ABSTAINS), knows("Ruth")),
                        point("and nothing is learned of it", knows_not("brother"), once("Ruth")),
                    ),
                ),
            ),
        ),
    ),
)

ABOUT_FACTS: Final = (CONTRADICTION, CORRECTION, DELETED_FACT, DELETED_MESSAGE, ABSTENTION)
