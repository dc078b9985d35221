"""The repository's contract, the same on every database."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection, select

from mastio.exchange.errors import AuthenticationError, MastioError
from mastio.store.admins import hash_admin_token
from mastio.store.agents import KEEP_SECONDS, AgentChanges
from mastio.store.control import bootstrap
from mastio.store.secrets.file_keys import FileKeys
from mastio.store.sql import tables
from mastio_llm.collection import PROVIDERS
from mastio_llm.provider import ProviderRow
from mastio_policy.collection import POLICIES, STARTER, PolicyRow
from support.store_observations import code_of, count
from support.stores import DAY, NOW, Opened, enrol, leaf_for, open_store

PROVIDER = ProviderRow("openai", "openai", "https://api.example/v1", api_key="sk-canary", aliases={"fast": "m"})


async def revision(opened: Opened) -> int:
    return await opened.database.read(lambda c: int(c.execute(select(tables.revision.c.value)).scalar_one()))


async def code_or_none(call: Awaitable[object]) -> str | None:
    try:
        await call
    except MastioError as error:
        return error.code
    return None


# --- agents -----------------------------------------------------------------------------------------------------


async def test_revocation_reaches_agent_and_certificates_and_can_be_undone(opened: Opened) -> None:
    store = opened.store.agents
    await enrol(opened, "alice")
    agent = await store.revoke("alice", "lost", NOW + 1)
    assert (agent.status, agent.status_reason) == ("revoked", "lost")
    assert opened.directory.agents["alice"].status == "revoked"
    assert [line.at for line in await store.revoked(NOW + 2)] == [NOW + 1]
    assert await store.revoke("alice", "again", NOW + 2) == replace(
        opened.directory.agents["alice"], version=opened.directory.agents["alice"].version
    )
    assert [line.at for line in await store.revoked(NOW + 2)] == [NOW + 1]  # the first time counts
    assert (await store.reactivate("alice", None, NOW + 3)).status == "active"
    assert await store.revoked(NOW + 3) == []


async def test_expired_leaves_leave_the_revocation_list(opened: Opened) -> None:
    await enrol(opened, "alice")
    await opened.store.agents.revoke("alice", None, NOW)
    assert len(await opened.store.agents.revoked(NOW)) == 1
    assert await opened.store.agents.revoked(NOW + DAY + 1) == []


async def test_changes_leave_the_rest_as_it_is(opened: Opened) -> None:
    await enrol(opened, "alice")
    store = opened.store.agents
    changed = await store.update(
        "alice", AgentChanges(groups=frozenset({"b", "a"}), attributes={"team": "x", "level": 3}), NOW
    )
    assert changed.groups == {"a", "b"} and changed.attributes == {"team": "x", "level": 3}
    again = await store.update("alice", AgentChanges(api_keys=True), NOW)
    assert again == replace(changed, api_keys=True, version=again.version)
    assert opened.directory.agents["alice"] == again == await store.get("alice")
    assert await code_of(store.update("nobody", AgentChanges(), NOW)) == "not_found"
    assert await code_of(store.get("nobody")) == "not_found"


async def test_renewal_keeps_the_old_leaf_for_the_grace(opened: Opened) -> None:
    await enrol(opened, "alice")
    store = opened.store.agents
    first = await store.get("alice")
    leaf = leaf_for("alice", NOW + 100)
    renewed = await store.renew("alice", leaf, (), first.cert_sha256, NOW + 2 * DAY)
    assert renewed.cert_sha256 == leaf.thumbprint and renewed.not_after == leaf.not_after
    assert renewed.previous_cert_sha256 == first.cert_sha256
    assert renewed.previous_until == first.not_after  # not beyond its own end
    short = await store.renew("alice", leaf_for("alice", NOW + 200), (), leaf.thumbprint, NOW + 300)
    assert (short.previous_cert_sha256, short.previous_until) == (leaf.thumbprint, NOW + 300)


async def test_a_lost_reply_to_a_renewal_does_not_lock_the_agent_out(opened: Opened) -> None:
    await enrol(opened, "alice")
    store = opened.store.agents
    first = await store.get("alice")
    await store.renew("alice", leaf_for("alice"), (), first.cert_sha256, NOW + 1000)
    again = leaf_for("alice")
    renewed = await store.renew("alice", again, (), first.cert_sha256, NOW + 2000)
    assert renewed.cert_sha256 == again.thumbprint
    assert renewed.previous_cert_sha256 == first.cert_sha256
    assert renewed.previous_until == NOW + 1000  # the grace does not grow by asking again


async def test_revocation_takes_every_leaf(opened: Opened) -> None:
    await enrol(opened, "alice")
    await opened.store.agents.renew("alice", leaf_for("alice"), (), None, NOW + DAY)
    await opened.store.agents.revoke("alice", None, NOW)
    assert len(await opened.store.agents.revoked(NOW)) == 2
    call = opened.store.agents.renew("alice", leaf_for("alice"), (), None, NOW + DAY)
    with pytest.raises(AuthenticationError):
        await call


async def test_renewals_do_not_add_up(opened: Opened) -> None:
    await enrol(opened, "alice")
    for day in range(1, 30):
        now = NOW + day * DAY
        await opened.store.agents.renew("alice", leaf_for("alice", now), (), None, now)
    assert await count(opened, "certificates") <= KEEP_SECONDS / DAY + 3


async def test_agents_are_listed_by_name_and_status(opened: Opened) -> None:
    for name in ("c", "a", "b"):
        await enrol(opened, name)
    await opened.store.agents.revoke("b", None, NOW)
    first = await opened.store.agents.list(2)
    assert [a.name for a in first.items] == ["a", "b"] and first.more
    assert [a.name for a in (await opened.store.agents.list(2, "b")).items] == ["c"]
    assert [a.name for a in (await opened.store.agents.list(9, "", "revoked")).items] == ["b"]


# --- what admins describe ----------------------------------------------------------------------------------------


async def test_providers_are_kept_and_their_secret_is_sealed(opened: Opened) -> None:
    store = opened.store.of(PROVIDERS)
    assert await store.create(PROVIDER) == PROVIDER
    assert opened.directory.objects("providers")["openai"] == PROVIDER == await store.get("openai")
    raw = await opened.database.read(lambda c: c.execute(select(tables.objects)).one())
    assert "sk-canary" not in str(raw) and raw.secret.startswith("v1.")
    assert await code_of(store.create(PROVIDER)) == "conflict"
    changed = await store.change("openai", lambda row: replace(row, weight=7))
    assert changed == replace(PROVIDER, weight=7) == opened.directory.objects("providers")["openai"]
    replaced = ProviderRow("openai", "openai", "https://other.example/v1")
    await store.replace(replaced)
    assert opened.directory.objects("providers")["openai"] == replaced
    await store.delete("openai")
    assert dict(opened.directory.objects("providers")) == {}
    for call in (store.get("openai"), store.delete("openai"), store.replace(PROVIDER)):
        assert await code_of(call) == "not_found"


async def test_a_sealed_secret_does_not_open_in_another_row(opened: Opened) -> None:
    await opened.store.of(PROVIDERS).create(PROVIDER)

    def move(connection: Connection) -> None:
        row = connection.execute(select(tables.objects)).one()
        values = {**row._mapping, "name": "thief"}
        connection.execute(tables.objects.insert().values(values))

    await opened.database.write(move)
    assert (await opened.store.of(PROVIDERS).get("thief")).api_key is None
    assert (await opened.store.of(PROVIDERS).get("openai")).api_key == "sk-canary"


async def test_a_secret_file_is_read_from_its_folder_only(opened: Opened) -> None:
    folder = opened.data / "secrets" / "providers"
    folder.mkdir()
    (folder / "key").write_text("sk-file\n")
    await opened.store.of(PROVIDERS).create(
        ProviderRow("p", "openai", "https://x.example/v1", api_key_file=str(folder / "key"))
    )
    assert opened.directory.objects("providers")["p"].api_key == "sk-file"
    (folder / "link").symlink_to(opened.data / "secrets" / "store-secrets.key")
    (folder / "edge.key").write_text("an own key, wherever it lies")
    (folder / "empty").write_text("\n")
    (folder / "long").write_text("x" * 20_000)
    (folder / "binary").write_bytes(b"\xff\xfe")
    bad = ("../store-secrets.key", "link", "edge.key", "empty", "long", "binary", "none", "")
    for path in (folder / name for name in bad):
        row = ProviderRow("p", "openai", "https://x.example/v1", api_key_file=str(path))
        await opened.store.of(PROVIDERS).replace(row)
        assert opened.directory.objects("providers")["p"].api_key is None


async def test_policies_are_kept(opened: Opened) -> None:
    row = PolicyRow("p", "permit(principal, action, resource);", True, "observe")
    await opened.store.of(POLICIES).create(row)
    assert opened.directory.objects("policies")["p"] == row
    await opened.store.of(POLICIES).change("p", lambda old: replace(old, enabled=False))
    assert opened.directory.objects("policies")["p"] == replace(row, enabled=False)


async def test_admin_tokens_are_found_by_their_keyed_hash(opened: Opened) -> None:
    store, keys = opened.store.admins, FileKeys(opened.data)
    token = "mastio_admin_" + "x" * 43
    await store.add("ops", "operator", token, NOW, NOW + DAY)
    admin = opened.directory.admins[hash_admin_token(keys, token)]
    assert (admin.name, admin.role, admin.expires_at, admin.revoked) == ("ops", "operator", NOW + DAY, False)
    assert token not in str(await opened.database.read(lambda c: c.execute(select(tables.admins)).all()))
    assert await code_of(store.add("ops", "admin", "mastio_admin_other", NOW)) == "conflict"
    await store.revoke("ops")
    assert opened.directory.admins[admin.token_hash].revoked
    assert await code_of(store.revoke("nobody")) == "not_found"


async def test_a_revoked_admin_is_gone_and_its_name_stays_taken(opened: Opened) -> None:
    store = opened.store.admins
    assert await store.is_empty()
    await store.add("a", "admin", "mastio_admin_a", NOW)
    await store.add("b", "auditor", "mastio_admin_b", NOW, by="a")
    assert not await store.is_empty()
    shown = await store.get("b")
    assert (shown.role, shown.created_at, shown.created_by, shown.expires_at) == ("auditor", NOW, "a", None)
    await store.revoke("b")
    for call in (store.get("b"), store.revoke("b"), store.rotate("b", "x"), store.change("b", lambda admin: admin)):
        assert await code_of(call) == "not_found"
    assert await code_of(store.add("b", "auditor", "mastio_admin_c", NOW)) == "conflict"
    assert [admin.name for admin in (await store.list(10)).items] == ["a"]


async def test_a_rotated_token_replaces_the_old_one(opened: Opened) -> None:
    store, keys = opened.store.admins, FileKeys(opened.data)
    await store.add("a", "admin", "mastio_admin_old", NOW)
    await store.rotate("a", "mastio_admin_new")
    assert hash_admin_token(keys, "mastio_admin_old") not in opened.directory.admins
    assert opened.directory.admins[hash_admin_token(keys, "mastio_admin_new")].name == "a"


async def test_the_last_admin_without_an_end_stays(opened: Opened) -> None:
    store = opened.store.admins
    await store.add("a", "admin", "mastio_admin_a", NOW)
    await store.add("ending", "admin", "mastio_admin_b", NOW, NOW + DAY)
    await store.add("ops", "operator", "mastio_admin_c", NOW)
    assert await store.count_active(NOW) == 2 and await store.count_active(NOW + DAY) == 1
    changes = [
        store.revoke("a"),
        store.change("a", lambda admin: replace(admin, role="operator")),
        store.change("a", lambda admin: replace(admin, expires_at=NOW + 9 * DAY)),
    ]
    for call in changes:
        assert await code_of(call) == "last_admin"
    assert (await store.get("a")).role == "admin"  # all of it was undone
    await store.revoke("ops")
    await store.change("ending", lambda admin: replace(admin, expires_at=None))
    await store.revoke("a")
    assert await code_of(store.revoke("ending")) == "last_admin"


async def test_of_two_admins_who_remove_each_other_one_stays(opened: Opened) -> None:
    store = opened.store.admins
    for name in ("a", "b"):
        await store.add(name, "admin", f"mastio_admin_{name}", NOW)
    async with open_store(opened.url, opened.data) as other:
        removed = await asyncio.gather(code_or_none(store.revoke("a")), code_or_none(other.store.admins.revoke("b")))
    assert sorted(map(str, removed)) == ["None", "last_admin"]
    assert len((await store.list(10)).items) == 1


# --- the whole ---------------------------------------------------------------------------------------------------


async def test_every_change_makes_one_revision_and_a_refusal_none(opened: Opened) -> None:
    await opened.store.of(POLICIES).create(STARTER)
    before = await revision(opened)
    await enrol(opened, "alice")
    assert await revision(opened) == before + 2  # the request, its approval
    assert opened.directory.agents["alice"].version == before + 2
    await code_of(opened.store.of(POLICIES).create(STARTER))
    await code_of(opened.store.agents.revoke("nobody", None, NOW))
    assert await revision(opened) == before + 2


async def test_versions_grow_in_the_order_of_commits(opened: Opened) -> None:
    for n in range(4):
        await enrol(opened, f"a{n}")
    async with open_store(opened.url, opened.data) as other:
        calls = [
            (opened, other)[n % 2].store.agents.update(f"a{n % 4}", AgentChanges(attributes={"n": n}), NOW)
            for n in range(40)
        ]
        versions = [agent.version for agent in await asyncio.gather(*calls)]
    assert len(set(versions)) == 40
    assert await revision(opened) == max(versions)


async def test_a_cancelled_change_is_whole_or_not_there(opened: Opened) -> None:
    tasks = [asyncio.create_task(enrol(opened, f"a{n}")) for n in range(20)]
    await asyncio.sleep(0.01)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await enrol(opened, "after")
    agents = await opened.store.agents.list(100)
    assert len(agents.items) == await count(opened, "certificates")
    assert "after" in opened.directory.agents


async def test_the_first_admin_and_the_starter_policy_are_made_once(opened: Opened) -> None:
    path = await bootstrap(opened.store, opened.data, {}, now=lambda: NOW)
    token = path.read_text().strip()
    assert path == opened.data / "secrets" / "admin-token" and path.stat().st_mode & 0o777 == 0o600
    assert token.startswith("mastio_admin_") and len(token) == len("mastio_admin_") + 43
    admin = opened.directory.admins[hash_admin_token(FileKeys(opened.data), token)]
    assert (admin.name, admin.role) == ("first", "admin")
    assert dict(opened.directory.objects("policies")) == {"starter": STARTER}
    await opened.store.of(POLICIES).delete("starter")
    path.unlink()
    await bootstrap(opened.store, opened.data, {})
    assert not path.exists() and dict(opened.directory.objects("policies")) == {}


async def test_bootstrap_goes_on_after_a_crash_in_between(opened: Opened) -> None:
    path = opened.data / "secrets" / "admin-token"
    token = "mastio_admin_" + "y" * 43
    path.write_text(token)
    await opened.store.of(POLICIES).create(STARTER)
    await bootstrap(opened.store, opened.data, {})
    assert hash_admin_token(FileKeys(opened.data), token) in opened.directory.admins


async def test_secrets_are_in_no_file_of_the_database(opened: Opened, tmp_path: Path) -> None:
    await opened.store.of(PROVIDERS).create(PROVIDER)
    _, text = await opened.store.tokens.create("*", 1, NOW + 60, "op", NOW)
    for file in (tmp_path / "db").glob("*") if (tmp_path / "db").exists() else ():
        raw = file.read_bytes()
        assert b"sk-canary" not in raw and text.encode() not in raw


async def test_a_collection_has_so_many_objects(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opened.store.of(POLICIES), "_collection", replace(POLICIES, most=2))
    for name in ("a", "b"):
        await opened.store.of(POLICIES).create(PolicyRow(name, "permit(principal, action, resource);"))
    with pytest.raises(MastioError, match="There may be 2 policies"):
        await opened.store.of(POLICIES).create(PolicyRow("c", "permit(principal, action, resource);"))
    await opened.store.of(POLICIES).delete("a")
    await opened.store.of(POLICIES).create(PolicyRow("c", "permit(principal, action, resource);"))
