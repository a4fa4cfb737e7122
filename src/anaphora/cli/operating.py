"""`anaphora migrate` and `anaphora doctor`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from anaphora.bootstrap import maintenance
from anaphora.bootstrap.stores import shown
from anaphora.cli.models import embedder_state
from anaphora.cli.options import AsJson, Db, duration
from anaphora.cli.output import emit, note, plural, say, table
from anaphora.cli.running import database, settings_from
from anaphora.services.maintenance import Check, Diagnosis
from anaphora.settings import Settings


def migrate(*, db: Db = None, as_json: AsJson = False) -> None:
    """Bring a database to the newest schema; it is made if it is not there. Doing it again is harmless."""
    settings = settings_from(db)
    before, after = maintenance.migrate(settings)
    place = shown(settings.db)
    if as_json:
        emit({"database": place, "from": before, "to": after, "changed": before != after})
    elif before == after:
        say(f"{place} is at revision {after}: nothing to do.")
    else:
        say(f"{place} was brought from {f'revision {before}' if before else 'nothing'} to revision {after}.")


def doctor(
    *,
    stuck: Annotated[
        float,
        typer.Option(
            "--stuck", parser=duration, metavar="AGE", show_default="5m", help="Warn of jobs that wait so long."
        ),
    ] = 300.0,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Check a database against the promises of Anaphora: one line for each that can be seen in the database alone.

    Nothing is changed. The exit code is 1 if a promise is broken; warnings do not count.
    """
    settings = settings_from(db)
    path = database(settings)
    found = maintenance.diagnose(settings, stuck_seconds=stuck)
    environment = _environment(settings)
    everything = Diagnosis(checks=(*found.checks, *environment))
    if as_json:
        emit(
            {
                "ok": everything.ok,
                "database": path,
                "checks": [_check_json(check) for check in everything.checks],
                "warnings": [f"{check.name}: {check.detail}" for check in everything.warnings],
            }
        )
    else:
        table(
            ("", "check", "law", "looked at", "found"),
            ((_mark(check), check.id, check.name, check.checked, check.detail) for check in everything.checks),
            empty="",
        )
        broken = sum(not check.ok for check in everything.checks if not check.warning)
        note(f"{path}: {plural(broken, 'promise') + ' broken' if broken else 'every promise is kept'}.")
    if not everything.ok:
        raise typer.Exit(1)


def _environment(settings: Settings) -> tuple[Check, ...]:
    """What the machine and the settings offer: nothing here is a broken promise."""
    embedder, model = embedder_state(settings), settings.memory_model_for().model
    return (
        Check(
            id="embedder",
            name="there is an embedder",
            ok=embedder["state"] in {"present", "off"},
            detail=f"{embedder['state']}: {embedder['detail']}",
            checked=1,
            warning=True,
        ),
        Check(
            id="model",
            name="a model makes the summaries",
            ok=model is not None,
            detail=model or "none is set: sentences are chosen (extractive)",
            checked=1,
            warning=True,
        ),
    )


def _mark(check: Check) -> str:
    if check.ok:
        return "ok"
    return "warn" if check.warning else "BROKEN"


def _check_json(check: Check) -> dict[str, Any]:
    return {
        "id": check.id,
        "name": check.name,
        "ok": check.ok,
        "detail": check.detail,
        "checked": check.checked,
        "level": "warning" if check.warning else "error",
    }
