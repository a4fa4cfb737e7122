from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anaphora.demo.plot import nice_ceiling, svg, terminal
from anaphora.demo.replay import Measure, Totals

SVG = "{http://www.w3.org/2000/svg}"


def measures(turns: int, *, per_turn: int = 80, sessions: int = 1) -> list[Measure]:
    made = []
    for turn in range(1, turns + 1):
        session = (turn - 1) * sessions // turns
        head = 2 * (turn - 1)
        full = per_turn * turn
        made.append(
            Measure(
                turn=turn,
                session=f"s{session}",
                head=head,
                tokens=min(full, 700),
                tokens_full_history=full,
                summarised=0,
                verbatim=head,
                elided=0,
                fault=None,
            )
        )
    return made


def totals(turns: int) -> Totals:
    return Totals(
        turns=turns, messages=2 * turns, tokens=700, tokens_full_history=7000, intact=turns, versions=1, elided=0
    )


def picture(turns: int, **how: int) -> ET.Element:
    text = svg(measures(turns, **how), totals(turns), title="A <b> & “c”", note="no model")
    assert "nan" not in text.lower()
    assert "inf" not in text.lower()
    return ET.fromstring(text)  # noqa: S314 - our own text


@pytest.mark.parametrize("turns", [1, 2, 3, 30, 243, 2000])
def test_a_picture_of_any_length_is_well_formed_and_has_two_curves_a_session(turns: int) -> None:
    paths = picture(turns, sessions=min(turns, 3)).findall(f"{SVG}path")
    assert len(paths) == 2
    for path in paths:
        assert len(re.findall("[ML]", path.attrib["d"])) == turns
        assert path.attrib["d"].count("M") == min(turns, 3)


@given(st.integers(1, 300), st.integers(1, 100_000))
def test_nothing_is_drawn_outside_the_picture(turns: int, per_turn: int) -> None:
    drawn = picture(turns, per_turn=per_turn)
    for path in drawn.findall(f"{SVG}path"):
        numbers = [float(n) for n in re.findall(r"[\d.]+", path.attrib["d"])]
        assert all(0 <= x <= 960 for x in numbers[::2])
        assert all(0 <= y <= 500 for y in numbers[1::2])


def test_a_picture_names_its_axes_and_curves_and_escapes_its_title() -> None:
    drawn = picture(30)
    labels = {text.text for text in drawn.findall(f"{SVG}text")}
    assert {"turn of the conversation", "tokens of the prompt"} <= labels
    assert any("90% fewer prompt tokens" in str(label) for label in labels)
    assert any("with memory" in str(label) for label in labels)
    assert "A <b> & “c”" in str(drawn.findtext(f"{SVG}title"))


@given(st.floats(0, 10_000_000))
def test_an_axis_ends_at_or_above_its_curve_with_a_few_even_marks(value: float) -> None:
    ceiling, step = nice_ceiling(value)
    assert ceiling >= value
    assert ceiling % step == 0
    assert 2 <= ceiling // step <= 7


@pytest.mark.parametrize("turns", [1, 7, 243])
@pytest.mark.parametrize(("width", "height"), [(30, 5), (80, 10), (100, 12)])
def test_a_plot_fits_the_terminal(turns: int, width: int, height: int) -> None:
    lines = terminal(measures(turns, sessions=min(turns, 3)), turns=turns, width=width, height=height).plain.split("\n")
    assert max(map(len, lines)) <= width
    assert len(lines) <= max(height, 8) + 2
    assert "nan" not in "".join(lines)
    assert any(0x2800 < ord(char) < 0x2900 for line in lines for char in line)


def test_a_plot_of_half_a_run_leaves_the_rest_of_the_line_free() -> None:
    def reach(turns: int) -> int:
        lines = terminal(measures(turns), turns=40, width=80, height=10).plain.split("\n")
        return max(at for line in lines for at, char in enumerate(line) if ord(char) > 0x2800)

    assert reach(10) < reach(20) < reach(40)
