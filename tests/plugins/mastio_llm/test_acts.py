"""What a call makes its provider do, told by type: tools, servers, addresses, files, stored objects."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from mastio.exchange.errors import BadRequest
from mastio_llm.acts import find_acts
from mastio_llm.acts.found import MOST_NAMES, NO_ACTS, SHOWN, Acts
from mastio_llm.calls import add_acts, open_body
from mastio_llm.dialects import OPERATIONS

PUBLIC = "https://images.example.com/a.png"
METADATA = "http://169.254.169.254/latest"


def acts(hosted: str = "", mcp_hosts: str = "", urls: str = "", files: str = "", stored: str = "") -> Acts:
    return Acts(*(frozenset(names.split()) for names in (hosted, mcp_hosts, urls, files, stored)))


def user(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": list(parts)}]}


def item(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"input": [{"role": "user", "content": list(parts)}]}


OPENAI: list[tuple[dict[str, Any], Acts]] = [
    ({"tools": [{"type": "web_search"}]}, acts("web_search")),
    ({"tools": [{"type": "web_search_preview_2025_03_11"}]}, acts("web_search_preview_2025_03_11")),
    ({"web_search_options": {}}, acts("web_search")),
    ({"tools": [{"type": "mcp", "server_label": "s", "server_url": "https://mcp.example.com/x"}]},
     acts("mcp", "mcp.example.com")),
    ({"tools": [{"type": "mcp", "connector_id": "connector_dropbox", "authorization": "t"}]},
     acts("mcp", "connector_dropbox")),
    ({"tools": [{"type": "mcp", "server_label": "s"}]}, acts("mcp", "unknown")),
    ({"tools": [{"type": "code_interpreter", "container": {"type": "auto", "file_ids": ["file-1"]}}]},
     acts("code_interpreter", files="file-1")),
    ({"tools": [{"type": "code_interpreter", "container": "cntr_1"}]}, acts("code_interpreter", stored="container")),
    ({"tools": [{"type": "file_search", "vector_store_ids": ["vs_1"]}]}, acts("file_search", stored="vector_store")),
    ({"tools": [{"type": "image_generation", "input_image_mask": {"image_url": PUBLIC}}]},
     acts("image_generation", urls="images.example.com")),
    ({"tools": [{"type": "image_generation", "input_image_mask": {"file_id": "file-2"}}]},
     acts("image_generation", files="file-2")),
    ({"tools": [{"type": "brand_new"}]}, acts("brand_new")),
    ({"tools": [{"type": "shell", "environment": {"type": "container_auto"}}]}, acts("shell")),
    ({"tools": [{"type": "tool_search"}]}, acts("tool_search")),
    ({"tools": [{"name": "odd"}]}, acts("unknown")),
    ({"tools": ["web_search"]}, acts("unknown")),
    ({"tools": {"type": "web_search"}}, acts("web_search")),
    ({"tools": [{"type": "namespace", "name": "n", "tools": [{"type": "mcp", "server_url": PUBLIC}]}]},
     acts("mcp", "images.example.com")),
    ({"input": [{"type": "tool_search_output", "tools": [{"type": "web_search"}]}]}, acts("web_search")),
    ({"previous_response_id": "resp_1"}, acts(stored="previous_response_id")),
    ({"conversation": {"id": "conv_1"}}, acts(stored="conversation")),
    ({"prompt": {"id": "pmpt_1", "variables": {"a": {"type": "input_image", "image_url": PUBLIC}}}},
     acts(stored="prompt", urls="images.example.com")),
    ({"input": [{"type": "item_reference", "id": "msg_1"}]}, acts(stored="item_reference")),
    ({"input": [{"id": "msg_1"}]}, acts(stored="item_reference")),
    ({"input": [{"type": "image_generation_call", "id": "ig_1"}]}, acts(stored="item_reference")),
    (item({"type": "input_file", "file_id": "file-1"}), acts(files="file-1")),
    (item({"type": "input_image", "file_id": "file-1"}), acts(files="file-1")),
    (item({"type": "input_file", "file_url": PUBLIC}), acts(urls="images.example.com")),
    (user({"type": "file", "file": {"file_id": "file-1"}}), acts(files="file-1")),
    (user({"type": "image_url", "image_url": {"url": PUBLIC}}), acts(urls="images.example.com")),
    (user({"type": "image_url", "image_url": [PUBLIC]}), acts(urls="images.example.com")),
    (user({"type": "video", "clip": PUBLIC}), acts(urls="images.example.com")),
    ({"input": [{"image": PUBLIC}]}, acts(urls="images.example.com")),
    ({"messages": [{"role": "assistant", "audio": {"id": "audio_1"}}]}, acts(stored="audio")),
    ({"search_parameters": {"mode": "on"}}, acts("search_parameters")),
    ({"plugins": [{"id": "web"}]}, acts("plugins")),
    ({"models": ["expensive"], "route": "fallback"}, acts("models")),
    ({"provider": {"order": ["x"]}, "fallback_models": ["y"]}, acts("provider fallback_models")),
    ({"enable_search": True}, acts("enable_search")),
    *(({name: {}}, acts(name)) for name in ("webSearch", "MCPServers", "data_sources", "toolResources", "websearch")),
    ({"tools": [{"name": "f", "parameters": {}, "server_url": PUBLIC}]}, acts("unknown", "images.example.com")),
    *(({"model": name}, acts("web_search")) for name in (
        "gpt-4o-search-preview", "gpt-4o-mini-search-preview-2025-03-11", "openai/gpt-5-search-api")),
]  # fmt: skip

ANTHROPIC: list[tuple[dict[str, Any], Acts]] = [
    ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, acts("web_search_20250305")),
    ({"tools": [{"type": "web_search_20250305", "name": "bash"}]}, acts("web_search_20250305")),
    ({"tools": [{"type": "web_fetch_20250910", "name": "f"}]}, acts("web_fetch_20250910")),
    ({"tools": [{"type": "code_execution_20250825", "name": "c"}]}, acts("code_execution_20250825")),
    ({"tools": [{"type": "bash_code_execution_20250825", "name": "c"}]}, acts("bash_code_execution_20250825")),
    ({"mcp_servers": [{"type": "url", "url": "https://mcp.example.com/sse", "name": "m"}]},
     acts("mcp", "mcp.example.com")),
    ({"mcp_servers": {"name": "m"}}, acts("mcp", "unknown")),
    ({"container": "cont_1"}, acts(stored="container")),
    ({"container": {"skills": [{"type": "anthropic", "skill_id": "pptx"}]}}, acts("skills")),
    (user({"type": "image", "source": {"type": "url", "url": PUBLIC}}), acts(urls="images.example.com")),
    (user({"type": "document", "source": {"type": "url", "url": PUBLIC}}), acts(urls="images.example.com")),
    (user({"type": "document", "source": {"type": "file", "file_id": "file_1"}}), acts(files="file_1")),
    (user({"type": "container_upload", "file_id": "file_1"}), acts(files="file_1")),
    (user({"type": "tool_result", "content": [{"type": "image", "source": {"type": "url", "url": PUBLIC}}]}),
     acts(urls="images.example.com")),
]  # fmt: skip

GEMINI: list[tuple[dict[str, Any], Acts]] = [
    ({"tools": [{"googleSearch": {}}]}, acts("googleSearch")),
    ({"tools": [{"google_search": {}}]}, acts("googleSearch")),
    ({"tools": [{"functionDeclarations": [], "urlContext": {}}]}, acts("urlContext")),
    ({"tools": [{"codeExecution": {}}]}, acts("codeExecution")),
    ({"tools": [{"mcpServers": [{"streamableHttpTransport": {"url": "https://mcp.example.com/"}}]}]},
     acts("mcpServers", "mcp.example.com")),
    ({"tools": [{"fileSearch": {"fileSearchStoreNames": ["fileSearchStores/a"]}}]}, acts("fileSearch", stored="store")),
    ({"contents": [{"parts": [{"fileData": {"fileUri": PUBLIC}}]}]}, acts(urls="images.example.com")),
    ({"contents": [{"parts": [{"file_data": {"file_uri": "gs://bucket/a.png"}}]}]}, acts(urls="gs://bucket")),
    ({"contents": [{"parts": [{"fileData": {
        "fileUri": "https://generativelanguage.googleapis.com/v1beta/files/abc"}}]}]}, acts(files="files/abc")),
    ({"cachedContent": "cachedContents/1"}, acts(stored="cached_content")),
    ({"cached_content": "cachedContents/1"}, acts(stored="cached_content")),
]  # fmt: skip


def name(case: Any) -> str:
    """The same in every process: a set is shown in order."""
    return str(case.describe() if isinstance(case, Acts) else case)[:60]


@pytest.mark.parametrize(("document", "found"), OPENAI, ids=name)
def test_of_openai(document: dict[str, Any], found: Acts) -> None:
    assert find_acts("openai", {"model": "m", **document}) == found


@pytest.mark.parametrize(("document", "found"), ANTHROPIC, ids=name)
def test_of_anthropic(document: dict[str, Any], found: Acts) -> None:
    assert find_acts("anthropic", {"model": "m", **document}) == found


@pytest.mark.parametrize(("document", "found"), GEMINI, ids=name)
def test_of_gemini(document: dict[str, Any], found: Acts) -> None:
    assert find_acts("gemini", document) == found


SCHEMA = {"type": "object", "$schema": "https://json-schema.org/x", "properties": {"url": {"default": METADATA}}}
CLIENT: list[tuple[Any, dict[str, Any]]] = [
    ("openai", {"tools": [
        {"type": "function", "function": {"name": "web_search", "parameters": SCHEMA}},
        {"type": "function", "name": "f", "parameters": SCHEMA}, {"type": "custom", "name": "c", "format": {}},
        {"type": "local_shell"}, {"type": "apply_patch"}, {"type": "computer_use_preview", "display_width": 1},
        {"type": "shell", "environment": {"type": "local"}}, {"type": "tool_search", "execution": "client"},
        {"type": "namespace", "name": "n", "tools": [{"type": "function", "name": "f", "parameters": SCHEMA}]},
    ], "functions": [{"name": "f", "parameters": SCHEMA}]}),
    ("openai", {"metadata": {"source": METADATA}, "client_metadata": {"x": METADATA}, "prompt_cache_key": "a://b"}),
    ("openai", {"messages": [
        {"role": "user", "content": f"see {METADATA}"}, {"role": "user", "content": METADATA},
        {"role": "tool", "tool_call_id": "c", "content": METADATA},
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": METADATA}}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
        {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "//uQAAAA", "format": "mp3"}}]},
    ]}),
    ("openai", {"input": [METADATA, "x"]}),
    ("openai", {"base_url": METADATA, "url": "file:///etc/passwd", "drop table agents": "x", "web": False, "agent": 1}),
    ("openai", {"input": [
        {"type": "function_call_output", "call_id": "c", "output": METADATA},
        {"type": "web_search_call", "id": "ws_1", "action": {"type": "open_page", "url": METADATA}},
        {"type": "message", "role": "assistant", "id": "msg_1", "content": [
            {"type": "output_text", "text": METADATA, "annotations": [{"type": "url_citation", "url": METADATA}]}]},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "a"},
    ], "store": False, "stream_options": {}, "tool_choice": {"type": "allowed_tools", "tools": [{"type": "mcp"}]}}),
    *(("openai", {"input": [item]}) for item in (
        {"type": "shell_call", "action": {"commands": [METADATA]}, "call_id": "c"},
        {"type": "shell_call_output", "call_id": "c", "output": [
            {"stdout": "https://github.com/a/b\n", "stderr": METADATA, "outcome": {"type": "exit", "exit_code": 0}}]},
        {"type": "shell_call_output", "call_id": "c", "commands": [METADATA], "output": [{"stdout": METADATA}]},
        {"type": "computer_call", "action": {"type": "type", "text": METADATA},
         "pending_safety_checks": [{"id": "s", "code": "c", "message": METADATA}]},
        {"type": "computer_call_output", "current_url": "http://localhost:8080/x",
         "acknowledged_safety_checks": [{"id": "s", "message": METADATA}],
         "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA"}},
        {"type": "custom_tool_call", "call_id": "c", "name": "n", "input": METADATA},
        {"type": "custom_tool_call_output", "call_id": "c", "output": [{"type": "input_text", "text": METADATA}]},
        {"type": "local_shell_call", "action": {"type": "exec", "command": [METADATA], "env": {"X_URL": METADATA}}},
        {"type": "local_shell_call_output", "id": "l", "output": METADATA},
        {"type": "apply_patch_call", "operation": {"type": "create_file", "path": METADATA, "diff": METADATA}},
        {"type": "function_call", "call_id": "c", "name": "n", "arguments": {"url": "http://localhost"}},
        {"type": "tool_search_call", "arguments": {"urls": [METADATA]}, "execution": "client"},
    )),
    ("openai", {"messages": [
        {"role": "assistant", "tool_calls": [
            {"id": "c", "function": {"name": "f", "arguments": {"url": "http://localhost", "file_id": "x"}}},
            {"id": "d", "type": "custom", "custom": {"name": "f", "input": METADATA}}]},
        {"role": "assistant", "function_call": {"name": "f", "arguments": {"image_url": METADATA}}},
    ], "stop": ["http://", METADATA], "prediction": {"type": "content", "content": METADATA},
       "bad_words": [METADATA], "guided_choice": [METADATA]}),
    *(("openai", more) for more in (
        {"user_profile": {"a": 1}, "profiles": [], "webbing": {}, "restored": True}, {"prompt": ""}, {"prompt": None},
        {"conversation": ""}, {"model": "research-preview"},
        {"tools": [{"name": "f", "parameters": SCHEMA}, {"name": "g", "description": "d", "parameters": {}}]},
    )),
    ("anthropic", {"stop_sequences": ["http://", METADATA]}),
    ("gemini", {"generationConfig": {"stopSequences": ["https://", METADATA]}}),
    ("gemini", {"generation_config": {"stop_sequences": ["https://", METADATA]}}),
    ("gemini", {"contents": [{"parts": [{"partMetadata": {"url": METADATA}},
                                        {"functionCall": {"partialArgs": [{"stringValue": METADATA}]}}]}]}),
    ("anthropic", {"tools": [
        {"name": "web_search", "input_schema": SCHEMA}, {"type": "custom", "name": "mcp", "input_schema": SCHEMA},
        {"type": None, "name": "x"}, {"type": "bash_20250124", "name": "bash"},
        {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"},
        {"type": "computer_20251124", "name": "computer"}, {"type": "memory_20250818", "name": "memory"},
    ], "metadata": {"user_id": METADATA}, "context_management": {"edits": []}, "thinking": {"type": "enabled"}}),
    ("anthropic", user(
        {"type": "tool_use", "id": "t", "name": "fetch", "input": {"url": METADATA, "source": {"url": METADATA}}},
        {"type": "tool_result", "tool_use_id": "t", "content": METADATA},
        {"type": "search_result", "source": METADATA, "title": "t", "content": []},
        {"type": "text", "text": METADATA, "citations": [{"type": "web", "url": METADATA}]},
    )),
    ("gemini", {"tools": [{"functionDeclarations": [{"name": "googleSearch", "parameters": SCHEMA}]},
                          {"computerUse": {"environment": "ENVIRONMENT_BROWSER"}}, {"googleSearch": None}],
                "contents": [{"parts": [{"text": METADATA}, {"functionCall": {"name": "f", "args": {"url": METADATA}}},
                                        {"functionResponse": {"name": "f", "response": {"uri": METADATA}}}]}]}),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "document"), CLIENT, ids=name)
def test_what_the_caller_does_itself_is_nothing_of_the_providers(dialect: Any, document: dict[str, Any]) -> None:
    assert find_acts(dialect, {"model": "m", **document} if dialect != "gemini" else document) is NO_ACTS


INNER: list[tuple[Any, dict[str, Any]]] = [
    ("openai", {"input": [{"type": "computer_call_output", "output": {"image_url": METADATA}}]}),
    ("openai", {"input": [{"type": "function_call_output", "output": [{"type": "input_file", "file_url": METADATA}]}]}),
    ("openai", {"input": [{"type": "image_url", "image_url": {"url": METADATA}}]}),
    ("openai", {"input": [{"image": METADATA}]}),
    ("openai", {"tools": [{"type": "image_generation", "input_image_mask": {"image_url": METADATA}}]}),
    ("openai", {"tools": [{"type": "mcp", "server_url": METADATA}]}),
    ("openai", user({"type": "image_url", "image_url": [PUBLIC, {"url": METADATA}]})),
    ("openai", user({"type": "image_url", "image_url": "file:///etc/passwd"})),
    ("openai", user({"type": "x", "y": {"z": ["ftp://example.com/a"]}})),
    ("openai", user({"type": "x", "y": "http:/169.254.169.254/"})),
    ("openai", user({"type": "x", "y": "\x01ht\ntp://169.254.169.254/"})),
    ("openai", user({"type": "x", "y": "file:/etc/passwd"})),
    ("anthropic", {"mcp_servers": [{"url": "http://localhost:8080/"}]}),
    ("anthropic", {"tools": [{"type": "web_fetch_20250910", "home": METADATA}]}),
    ("gemini", {"tools": [{"mcpServers": [{"streamableHttpTransport": {"url": METADATA}}]}]}),
    ("gemini", {"contents": [{"parts": [{"functionResponse": {"parts": [{"fileData": {"fileUri": METADATA}}]}}]}]}),
]


@pytest.mark.parametrize(("dialect", "document"), INNER, ids=name)
def test_no_address_within_is_fetched_wherever_it_stands(dialect: Any, document: dict[str, Any]) -> None:
    with pytest.raises(BadRequest):
        find_acts(dialect, document)


def test_who_speaks_of_mcp_servers_has_spoken_of_their_tools() -> None:
    assert acts("mcp", "mcp.example.com").needs == {"tools.mcp_hosts"}
    assert acts("mcp web_search", "mcp.example.com").needs == {"tools.mcp_hosts", "tools.hosted"}
    assert acts(urls="a.example", files="f", stored="s").needs == {"urls", "files", "stored"}
    assert NO_ACTS.needs == frozenset() and not NO_ACTS.reads_beyond


def test_names_are_plain_and_bounded() -> None:
    found = find_acts("openai", {"tools": [{"type": "my card is 4111 1111 1111 1111"}, {"type": ["x"]}]})
    assert found.hosted == {"unknown"}
    parts = [{"type": "file", "file": {"file_id": f"file-{n}"}} for n in range(MOST_NAMES + 1)]
    said = find_acts("openai", user(*parts[:-1])).describe()
    assert len(said["files"]) == SHOWN and said["more"] == MOST_NAMES - SHOWN  # type: ignore[arg-type]
    with pytest.raises(BadRequest, match="more than 256"):
        find_acts("openai", user(*parts))


def test_a_model_that_searches_does_so_by_any_name_and_through_any_api() -> None:
    body, head = b'{"model":"news","max_tokens":9,"temperature":0,"messages":[]}', SimpleNamespace(params={}, query=b"")
    opened = open_body(OPERATIONS["/v1/messages"], head, body, 99)  # type: ignore[arg-type]
    assert opened.asked.has_one_answer and not opened.facts.acts.reads_beyond
    found = add_acts(opened, "hosted", "web_search")
    assert found.facts.acts == acts("web_search") and found.facts.acts.needs == {"tools.hosted"}
    assert found.asked.looks_up and not found.asked.has_one_answer and found.facts.asked == found.asked


def test_a_preset_of_routers_is_kept_there() -> None:
    assert find_acts("openai", {"model": "m", "messages": [], "preset": "mine"}) == acts(stored="preset")


def test_a_suffix_of_routers_is_a_search() -> None:
    for model in ("gpt-4o:online", "a/b:online:nitro", "gpt-4o-search-preview"):
        assert find_acts("openai", {"model": model, "messages": []}) == acts("web_search"), model
    for model in ("gpt-4o:nitro", "llama3:8b", "online", "ft:gpt-4o:org::online2", "a-online"):
        assert find_acts("openai", {"model": model, "messages": []}) is NO_ACTS, model
