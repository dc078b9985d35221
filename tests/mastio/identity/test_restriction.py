"""What a restricted credential may do: each refusal beside what the same restriction lets through."""

import pytest

from mastio.exchange.values import Action, Deny, Restriction
from mastio.identity.restriction import find_excess

CHAT = Action("llm.chat", "Model", "stub/gpt-4o")
PATH = "/v1/chat/completions"


def model(target: str, alias: str | None = None) -> Action:
    return Action("llm.chat", "Model", target, alias=alias)


@pytest.mark.parametrize(
    ("restriction", "good", "bad"),
    [
        (Restriction(kinds=("llm.*",)), CHAT, Action("egress.http", "Connection", "crm")),
        (Restriction(kinds=("llm.chat",)), CHAT, Action("llm.chats", "Model", "stub/gpt-4o")),
        (Restriction(kinds=("agent.self", "llm.chat")), CHAT, Action("llm.models", "Appliance", "self")),
        (Restriction(models=("stub/*",)), CHAT, model("other/gpt-4o")),
        (Restriction(models=("stub/gpt-4o",)), CHAT, model("stub/gpt-4o-mini")),
        (Restriction(models=("gpt-4o",)), CHAT, model("stub/gpt-4o-mini")),
        (Restriction(models=("gpt-4o",)), model("other/gpt-4o"), model("other/x/gpt-4o")),
        (Restriction(models=("*-mini",)), model("stub/gpt-4o-mini"), CHAT),
        (Restriction(models=("fast",)), model("stub/gpt-4o", "fast"), CHAT),
        (Restriction(models=("fast",)), model("stub/gpt-4o", "fast"), model("stub/gpt-4o", "slow")),
        (Restriction(models=("fast", "stub/gpt-4o")), CHAT, model("stub/o3")),
        (Restriction(kinds=("llm.*",), models=("stub/*",)), CHAT, model("other/gpt-4o")),
        (Restriction(models=("openai/*",)), model("openai/gpt-4o"), model("router/openai/gpt-4o")),
        (Restriction(models=("STUB/*",)), model("STUB/x"), CHAT),
    ],
)
def test_bounds(restriction: Restriction, good: Action, bad: Action) -> None:
    assert find_excess(restriction, good, PATH) is None
    refused = find_excess(restriction, bad, PATH)
    assert isinstance(refused, Deny) and (refused.rule, refused.code) == ("credential", "denied")


@pytest.mark.parametrize(
    ("globs", "good", "bad"),
    [
        (("/v1/chat/*",), PATH, "/v1/models"),
        (("/v1/models", "/v1/chat/completions"), PATH, "/v1/chat/completions2"),
        (("/v1/egress/crm/*",), "/v1/egress/crm/a/b", "/v1/egress/crm2/a"),
    ],
)
def test_paths(globs: tuple[str, ...], good: str, bad: str) -> None:
    restriction = Restriction(paths=globs)
    assert find_excess(restriction, CHAT, good) is None
    assert find_excess(restriction, CHAT, bad) is not None
    assert find_excess(restriction, CHAT, None) is None  # no request: only what it would be about is asked


def test_models_bound_models_only() -> None:
    restriction = Restriction(models=("stub/x",))
    assert find_excess(restriction, Action("agent.self", "Appliance", "self"), "/v1/agents/self") is None


@pytest.mark.parametrize("kind", ["agent.renew", "oauth.token"])
@pytest.mark.parametrize("restriction", [Restriction(), Restriction(kinds=("*",))])
def test_no_restricted_credential_gets_one_of_the_agent_itself(kind: str, restriction: Restriction) -> None:
    action = Action(kind, "Appliance", "self")
    assert find_excess(restriction, action, "/x") is not None
    assert find_excess(None, action, "/x") is None


def test_an_empty_restriction_bounds_nothing_else() -> None:
    assert find_excess(Restriction(), CHAT, PATH) is None
