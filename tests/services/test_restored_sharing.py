"""I11: by an import nobody gains access to anything, and nobody's facts are told to anybody else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.memory.harness import conversation, opened
from tests.services.lives import READING, exported, listen, of_kind, own_facts, two
from tests.services.test_restore import counted
from tests.services.test_restored_facts import contents

from anaphora.domain.facts import Visibility
from anaphora.errors import InvalidInput
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio


async def test_the_only_user_of_an_export_may_get_another_name(tmp_path: Path) -> None:
    async with two(tmp_path, chat=ScriptedChat(), **READING) as (here, there):
        await here.subjects.create("cat", user="u", members=["v"])
        await listen(here, conversation(here, subject="cat"), "figs", who="The cat likes")
        (fact,) = await own_facts(here, "u")
        await here.facts.share(fact.id, user="u")
        assert await there.restore(here.export(), user="zoe") == counted(1, 2)
        (twin,) = await own_facts(there, "zoe")
        assert replace(twin, sources=(), owner="u") == replace(await here.facts.get(fact.id, user="u"), sources=())
        assert [source.key.user for source in twin.sources] == ["zoe"]
        (subject,) = await there.subjects.list(user="zoe")
        assert (subject.owner, subject.members) == ("zoe", ("v", "zoe"))
        assert [shared.id for shared in await there.facts.list(user="v")] == [fact.id]
        assert await contents(there) == set()
        await here.facts.add("Sings", user="yan")
        with pytest.raises(InvalidInput, match="the export holds 2 users"):
            await there.restore(here.export(), user="zoe")


async def test_a_given_user_makes_no_subject_of_others_and_shares_nothing_with_them(tmp_path: Path) -> None:
    async with two(tmp_path) as (here, there):
        await here.subjects.create("cat", user="ann", members=["bob"])
        fact = await here.facts.add("The cat owes bob a fish", user="bob", subject="cat")
        await here.facts.share(fact.id, user="bob")
        lines = await exported(here, user="bob")
        for tenant, members in (("none", None), ("out", []), ("in", ["bob"])):
            if members is not None:
                await there.subjects.create("cat", user="ann", members=members, tenant=tenant)
            await there.restore(lines, user="bob", tenant=tenant)
            (found,) = await own_facts(there, "bob", tenant=tenant)
            shared = members == ["bob"]
            assert found.visibility is (Visibility.SHARED if shared else Visibility.PRIVATE)
            past = await there.facts.history(found.id, user="bob", tenant=tenant)
            assert {version.visibility for version in past} <= {Visibility.PRIVATE, found.visibility}
            assert len(await there.facts.list(user="ann", tenant=tenant)) == shared
            assert len(await there.subjects.list(user="bob", tenant=tenant)) == shared


async def test_a_fact_is_never_shared_with_another_subject_of_the_same_name(tmp_path: Path) -> None:
    async with two(tmp_path, chat=ScriptedChat(), **READING) as (here, there):
        await here.subjects.create("cat", user="u")
        await listen(here, conversation(here, subject="cat"), "figs", who="The cat likes")
        for fact in await own_facts(here, "u"):
            await here.facts.share(fact.id, user="u")
        await here.facts.add("Sings", user="u")
        await there.subjects.create("cat", user="eve", members=["u"])
        lines = await exported(here)
        line = next(at for at, each in enumerate(lines, 1) if each.startswith('{"record":"subject"'))
        for _ in range(2):
            with pytest.raises(
                InvalidInput, match=f"^line {line}: there is another subject 'cat' here: facts about it"
            ):
                await there.restore(lines)
            assert await contents(there) == {"Sings"}
            assert await there.facts.list(user="eve") == []
            (subject,) = await there.subjects.list(user="eve")
            assert (subject.owner, subject.members) == ("eve", ("eve", "u"))
            assert len(await conversation(there).messages()) == 2


async def test_who_left_a_subject_shares_nothing_with_a_stranger_of_its_name(tmp_path: Path) -> None:
    """The export of one who is no member any more does not tell of the subject."""
    async with two(tmp_path) as (here, there):
        await here.subjects.create("cat", user="ann", members=["bob"])
        fact = await here.facts.add("The cat is grey", user="bob", subject="cat")
        await here.facts.share(fact.id, user="bob")
        await here.subjects.remove_member("cat", "bob", user="ann")
        lines = await exported(here, user="bob")
        assert of_kind(lines, "subject") == []
        await there.subjects.create("cat", user="ann")
        await there.restore(lines)
        assert await there.facts.list(user="ann") == []
        everything = await exported(here)
        await there.restore(everything, tenant="other")
        assert await exported(there, tenant="other") == everything
        assert len(await there.facts.list(user="ann", tenant="other")) == 1


async def test_who_was_removed_from_a_subject_is_no_member_again_by_an_old_export(tmp_path: Path) -> None:
    async with two(tmp_path) as (here, there):
        await here.subjects.create("cat", user="ann", members=["bob", "eve"])
        lines = await exported(here)
        await there.restore(lines)
        await there.subjects.remove_member("cat", "eve", user="ann")
        await there.subjects.rename("cat", "Tom", user="ann")
        await here.subjects.add_member("cat", "mallory", user="ann")
        for source in (lines, await exported(here)):
            await there.restore(source)
            (subject,) = await there.subjects.list(user="ann")
            assert (subject.name, subject.members) == ("Tom", ("ann", "bob"))


async def test_facts_of_somebody_else_are_not_taken_over(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        fact = await memory.facts.add("Sings", user="ann")
        lines = await exported(memory)
        line = next(at for at, each in enumerate(lines, 1) if each.startswith('{"record":"fact"'))
        with pytest.raises(InvalidInput, match=f"^line {line}: fact {fact.id} is here already, of another user"):
            await memory.restore(lines, user="eve")
        assert await own_facts(memory, "eve") == []
        assert await contents(memory, "ann") == {"Sings"}


async def test_facts_of_another_tenant_stay_where_they_are(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(), **READING) as memory:
        await listen(memory, conversation(memory, subject="cat"), "figs")
        await memory.subjects.create("cat", user="u")
        before = await exported(memory)
        await memory.restore(before, tenant="other", user="zoe")
        assert await exported(memory) == before
        assert await contents(memory, "zoe") == set()
        assert len(await own_facts(memory, "zoe", tenant="other")) == 1
