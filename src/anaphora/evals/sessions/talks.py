"""Scenarios about conversations: long ones, those that are taken up again, and those that must be kept apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from anaphora.domain.wire import SectionName
from anaphora.evals.sessions.checks import (
    finds,
    finds_not,
    hidden,
    knows,
    knows_not,
    once,
    open_topic,
    says,
    says_not,
    shown,
    topic,
    within_budget,
)
from anaphora.evals.sessions.scenarios import End, Look, Put, Reopen, Say, Scenario, Sitting, point

#: what people chat about between two things that matter: four turns each
_SMALL_TALK: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("the rose garden", ("soil for the roses", "pruning the roses", "aphids on the roses", "watering the roses")),
    ("the chess club", ("the chess opening", "the chess clock", "the chess endgame", "the chess tournament")),
    ("the old piano", ("tuning the piano", "the piano pedals", "the piano stool", "moving the piano")),
    ("sourdough bread", ("flour for the bread", "folding the bread dough", "the bread crust", "slicing the bread")),
    ("the kayak", ("the kayak paddle", "the kayak skirt", "storing the kayak", "patching the kayak")),
    ("the tax return", ("tax forms", "tax deadlines", "tax receipts", "tax refunds")),
    ("the aquarium", ("the aquarium pump", "the aquarium light", "algae in the aquarium", "fish for the aquarium")),
    ("knitting socks", ("wool for the socks", "needles for the socks", "the heel of the socks", "washing the socks")),
    ("the telescope", ("the telescope lens", "the telescope tripod", "aiming the telescope", "a telescope filter")),
    ("the beehive", ("frames of the beehive", "smoke for the beehive", "honey of the beehive", "moving the beehive")),
)


def _small_talk() -> tuple[tuple[Mapping[str, Any], ...], ...]:
    """Forty turns about ten things."""
    return tuple(
        (
            {"role": "user", "content": f"Let's talk about {subject}: what about {detail}?"},
            {"role": "assistant", "content": f"There is a lot to say about {detail}; take your time with it."},
        )
        for subject, details in _SMALL_TALK
        for detail in details
    )


RETURN: Final = Scenario(
    name="return after 40 turns",
    store="return",
    sittings=(
        Sitting(
            user="mia",
            session="1",
            steps=(
                Say("I'm planning a trip to Norway with the ferry from Hirtshals."),
                Say("The ferry to Norway leaves at 20:45 on 12 June."),
                Say("My cabin on the ferry to Norway is number 7114."),
                Put(_small_talk()),
                Look((point("the topic of the trip is closed, with a summary", topic("Norway", "ferry")),)),
                Say(
                    "Going back to the ferry to Norway: what is the number of my cabin, and when does it leave?",
                    (
                        point(
                            "the prompt has the details again, within its budget",
                            shown("7114", "20:45"),
                            within_budget(head=87),
                        ),
                        point("the answer tells them", says("7114", "20:45")),
                    ),
                ),
            ),
        ),
    ),
)

BUDGET: Final = Scenario(
    name="a small budget",
    store="budget",
    sittings=(
        Sitting(
            user="ben",
            session="1",
            budget=400,
            steps=(
                Say("Hello, my name is Ben.", (point("each message counts once at the start", within_budget(head=1)),)),
                Put(_small_talk()),
                Say(
                    "What do I need to know about the telescope tripod?",
                    (
                        point("after forty turns the prompt is within its budget", within_budget(head=83)),
                        point("and the name is in it", shown("Ben", section=SectionName.FACTS)),
                    ),
                ),
                Put(_small_talk()),
                Say("What is my name?", (point("after eighty turns too", within_budget(head=165), says("Ben")),)),
            ),
        ),
    ),
)

_LONG_WORDS: Final = "the report lists measured values of the river stations in the usual order without remarks"
_FILLING: Final = " ".join(f"Entry {number}: {_LONG_WORDS}." for number in range(1, 150))
LONG_MESSAGE: Final = Scenario(
    name="a message of 30,000 characters",
    store="long-message",
    sittings=(
        Sitting(
            user="eva",
            session="1",
            steps=(
                Say(f"{_FILLING} The access code of the north gate is 4417. {_FILLING}"),
                Look((point("it is stored whole", finds("access code of the north gate", "4417", "Entry 149")),)),
                Say(
                    "Which entry mentions the access code of the north gate?",
                    (point("the next prompt is within its budget", within_budget(head=3)),),
                ),
                End(),
            ),
        ),
        Sitting(
            user="eva",
            session="2",
            steps=(
                Say(
                    "What is the access code of the north gate?",
                    (
                        point("a later prompt has the passage that answers", shown("4417"), within_budget(head=1)),
                        point("the answer is right", says("4417")),
                    ),
                ),
            ),
        ),
    ),
)

RESTART: Final = Scenario(
    name="restart in the middle",
    store="restart",
    sittings=(
        Sitting(
            user="tom",
            session="1",
            steps=(
                Say("My name is Tom and I work at Fennel Books."),
                Say("I'm writing a catalogue of sea maps."),
                Reopen(),
                Look(
                    (
                        point("facts and the open topic are there", knows("Fennel Books"), open_topic("sea maps")),
                        point("no fact is there twice", once("Fennel Books"), once("Tom")),
                    )
                ),
                Say(
                    "What is the catalogue about that I am writing?",
                    (
                        point("the conversation goes on where it was", shown("sea maps"), within_budget(head=5)),
                        point("the answer says what was said before", says("sea maps")),
                    ),
                ),
                Reopen(),
                End((point("the session ends as if nothing had happened", topic("sea maps")),)),
            ),
        ),
    ),
)


def _named(user: str, session: str, city: str, others: tuple[str, ...]) -> tuple[Sitting, Sitting]:
    """Somebody says where they live; and asks, once all have said so."""
    told = Sitting(user=user, session=session, steps=(Say(f"I live in {city}."),))
    asks = Sitting(
        user=user,
        session=f"{session} 2",
        steps=(
            Say(
                "Where do I live?",
                (
                    point(f"user {user!r} has the own city alone", once(city), knows_not(*others), hidden(*others)),
                    point(f"and the answer for {user!r} is that", says(city), says_not(*others)),
                ),
            ),
        ),
    )
    return told, asks


#: the last two look alike: one letter, and a letter with its accent beside it
_CITIES: Final = {
    "Alice": "Tallinn",
    "alice": "Malaga",
    "../x": "Quito",
    "李雷": "Hobart",
    "Алиса": "Windhoek",
    "Zo\u00eb": "Bergen",
    "Zoe\u0308": "Utrecht",
}
_NAMED: Final = tuple(
    _named(user, session, city, tuple(other for other in _CITIES.values() if other != city))
    for (user, city), session in zip(_CITIES.items(), ("1", "1", "../../etc", "会话", "а/б", "1", "1"), strict=True)
)
NAMES: Final = Scenario(
    name="names",
    store="names",
    sittings=(
        *(told for told, _ in _NAMED),
        *(asks for _, asks in _NAMED),
        Sitting(
            user="李雷",
            session="猫",
            steps=(
                Say("我的猫叫小白,今年三岁。"),
                Look((point("what was said in another script is found", finds("我的猫叫什么名字?", "小白")),)),
            ),
        ),
    ),
)

AGENTS: Final = Scenario(
    name="two agents of one user",
    store="agents",
    sittings=(
        Sitting(
            user="ida",
            session="1",
            agent="cook",
            steps=(Say("I'm vegetarian."), Say("The stew in the blue pot needs two hours."), End()),
        ),
        Sitting(
            user="ida",
            session="1",
            agent="coach",
            steps=(
                Say("My hill sprints are on Tuesday."),
                Say(
                    "What is in the blue pot, the stew?",
                    (
                        point("what was said to one is not shown to the other", hidden("two hours"), shown("sprints")),
                        point(
                            "nor found",
                            finds_not("stew in the blue pot needs", "two hours"),
                            finds("hill sprints", "Tuesday"),
                        ),
                        point("what is known of the user is", shown("Vegetarian", section=SectionName.FACTS)),
                    ),
                ),
            ),
        ),
        Sitting(
            user="ida",
            session="2",
            agent="cook",
            steps=(
                Say(
                    "How long does the stew in the blue pot need?",
                    (point("the first still knows", shown("two hours"), hidden("sprints"), says("two hours")),),
                ),
            ),
        ),
    ),
)

ABOUT_TALKS: Final = (RETURN, BUDGET, LONG_MESSAGE, RESTART, NAMES, AGENTS)
