"""The commands of `anaphora facts` and `anaphora subjects`: their names, where they are, and what lists say of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from anaphora.cli.lazy import Entry, LazyGroup


class Facts(LazyGroup):
    """The commands of `anaphora facts`."""

    table: ClassVar[Mapping[str, Entry]] = {
        "list": Entry(
            module="facts",
            function="list_facts",
            help="List what is known of a user, newest first.",
            example="anaphora facts list --user alice --state all",
        ),
        "show": Entry(
            module="facts",
            function="show",
            help="Show everything about a fact, and what it was learned from.",
            example="anaphora facts show 5f3a9c21 --user alice",
        ),
        "add": Entry(
            module="facts",
            function="add",
            help="Add what the user says.",
            example='anaphora facts add "Allergic to peanuts" --user alice --category preference --pin',
        ),
        "edit": Entry(
            module="facts",
            function="edit",
            help="Correct a fact; what is not given stays.",
            example='anaphora facts edit 5f3a9c21 --user alice --content "Allergic to all nuts"',
        ),
        "pin": Entry(
            module="facts",
            function="pin",
            help="Want a fact in every prompt.",
            example="anaphora facts pin 5f3a9c21 --user alice",
        ),
        "unpin": Entry(
            module="facts",
            function="unpin",
            help="Want a fact in a prompt only where it matters.",
            example="anaphora facts unpin 5f3a9c21 --user alice",
        ),
        "confirm": Entry(
            module="facts",
            function="confirm",
            help="Stand for a fact: it leaves the review.",
            example="anaphora facts confirm 5f3a9c21 --user alice",
        ),
        "take-up": Entry(
            module="facts",
            function="take_up",
            help="Believe a fact again that was set aside.",
            example="anaphora facts take-up 5f3a9c21 --user alice",
        ),
        "share": Entry(
            module="facts",
            function="share",
            help="Let the members of its subject read a fact.",
            example="anaphora facts share 5f3a9c21 --user alice",
        ),
        "unshare": Entry(
            module="facts",
            function="unshare",
            help="From now on only its owner reads a fact.",
            example="anaphora facts unshare 5f3a9c21 --user alice",
        ),
        "delete": Entry(
            module="facts",
            function="delete",
            help="Delete a fact: nothing of it is left.",
            example="anaphora facts delete 5f3a9c21 --user alice",
        ),
        "undo": Entry(
            module="facts",
            function="undo",
            help="Take the last change of a fact back.",
            example="anaphora facts undo 5f3a9c21 --user alice",
        ),
        "history": Entry(
            module="facts",
            function="history",
            help="Show every version of a fact.",
            example="anaphora facts history 5f3a9c21 --user alice",
        ),
        "review": Entry(
            module="facts",
            function="review",
            help="List doubtful facts, which no prompt uses.",
            example="anaphora facts review --user alice",
        ),
    }


class Subjects(LazyGroup):
    """The commands of `anaphora subjects`."""

    table: ClassVar[Mapping[str, Entry]] = {
        "create": Entry(
            module="subjects",
            function="create",
            help="Make a subject that facts can be about.",
            example="anaphora subjects create rex --user alice --name Rex --member bob",
        ),
        "list": Entry(
            module="subjects",
            function="list_subjects",
            help="List the subjects that a user is a member of.",
            example="anaphora subjects list --user alice",
        ),
        "members": Entry(
            module="subjects",
            function="list_members",
            help="List who reads what is shared with a subject.",
            example="anaphora subjects members rex --user alice",
        ),
        "rename": Entry(
            module="subjects",
            function="rename",
            help="Give a subject another name for people to read.",
            example='anaphora subjects rename rex "Rex the dog" --user alice',
        ),
        "add-member": Entry(
            module="subjects",
            function="add_member",
            help="Let somebody read what is shared with a subject.",
            example="anaphora subjects add-member rex bob --user alice",
        ),
        "remove-member": Entry(
            module="subjects",
            function="remove_member",
            help="Let somebody read nothing of it any more.",
            example="anaphora subjects remove-member rex bob --user alice",
        ),
    }
