"""Replies and streams of each dialect with every member of its public schema that can carry a text or a number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
EMBEDDINGS, MODERATIONS, COUNT = "/v1/embeddings", "/v1/moderations", "/v1/messages/count_tokens"
GENERATE, STREAM = (f"/v1beta/models/{{model...}}:{name}" for name in ("generateContent", "streamGenerateContent"))

LOGPROBS = {"content": [{"token": "t", "logprob": -0.1, "bytes": [116], "top_logprobs": [
    {"token": "u", "logprob": -2.5, "bytes": [117]}]}], "refusal": None}  # fmt: skip
ERROR = {"error": {"message": "m", "type": "t", "param": "p", "code": "c"}}

_TEXT = {"type": "output_text", "text": "t", "logprobs": [{"token": "t", "logprob": -0.1, "bytes": [1]}],
         "annotations": [
             {"type": "url_citation", "url": "u", "title": "t", "start_index": 1, "end_index": 2},
             {"type": "file_citation", "file_id": "f", "filename": "n", "index": 1},
             {"type": "container_file_citation", "container_id": "c", "file_id": "f", "filename": "n"},
             {"type": "file_path", "file_id": "f", "index": 1}]}  # fmt: skip
_ITEMS: list[Any] = [
    {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "phase": "final",
     "content": [_TEXT, {"type": "refusal", "refusal": "r"}]},
    {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "t"}],
     "content": [{"type": "reasoning_text", "text": "t"}], "encrypted_content": "e"},
    {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "n", "arguments": "{\"a\": \"b\"}"},
    {"id": "ctc_1", "type": "custom_tool_call", "call_id": "call_2", "name": "n", "input": "i"},
    {"id": "ws_1", "type": "web_search_call", "action": {"type": "search", "query": "q", "queries": ["q"], "sources": [
        {"type": "url", "url": "u"}]}},
    {"id": "fs_1", "type": "file_search_call", "queries": ["q"], "results": [
        {"file_id": "f", "filename": "n", "score": 0.5, "text": "t", "attributes": {"a": "v", "n": 1}}]},
    {"id": "ci_1", "type": "code_interpreter_call", "code": "c", "container_id": "c", "outputs": [
        {"type": "logs", "logs": "l"}, {"type": "image", "url": "u"}]},
    {"id": "ig_1", "type": "image_generation_call", "result": "r", "revised_prompt": "p"},
    {"id": "mcp_1", "type": "mcp_call", "server_label": "s", "name": "n", "arguments": "{}", "output": "o",
     "error": "e", "approval_request_id": "a"},
    {"id": "mcpl_1", "type": "mcp_list_tools", "server_label": "s", "error": "e", "tools": [
        {"name": "n", "description": "d", "input_schema": {"type": "object", "properties": {"p": {"const": "c"}}},
         "annotations": {"title": "t"}}]},
    {"id": "mcpr_1", "type": "mcp_approval_request", "server_label": "s", "name": "n", "arguments": "{}"},
    {"id": "cu_1", "type": "computer_call", "call_id": "call_3", "action": {"type": "type", "text": "t", "keys": ["k"],
     "x": 1}, "pending_safety_checks": [{"id": "s", "code": "c", "message": "m"}]},
    {"id": "sh_1", "type": "local_shell_call", "call_id": "call_4", "action": {"type": "exec", "command": ["c"],
     "env": {"E": "v"}, "working_directory": "w", "user": "u"}},
    {"id": "ap_1", "type": "apply_patch_call", "call_id": "c", "operation": {"type": "t", "path": "p", "diff": "d"}},
]  # fmt: skip
_RESPONSE: dict[str, Any] = {
    "id": "resp_1", "object": "response", "created_at": 1_700_000_000, "status": "completed", "model": "gpt-4o",
    "output": _ITEMS, "output_text": "t", "instructions": "i", "metadata": {"k": "v"}, "user": "u", "error": {
        "code": "c", "message": "m"}, "incomplete_details": {"reason": "r"}, "previous_response_id": "resp_0",
    "prompt_cache_key": "k", "safety_identifier": "s", "conversation": {"id": "c"}, "prompt": {
        "id": "p", "variables": {"a": "b"}}, "reasoning": {"effort": "low", "summary": "s"}, "temperature": 1.0,
    "text": {"format": {"type": "json_schema", "name": "n", "description": "d", "schema": {"enum": ["e"]}}},
    "tools": [{"type": "mcp", "server_label": "l", "server_url": "u", "headers": {"h": "v"}}],
    "usage": {"input_tokens": 1, "output_tokens": 2},
}  # fmt: skip
_CONTENT: list[Any] = [
    {"type": "text", "text": "t", "citations": [
        {"type": "char_location", "cited_text": "c", "document_index": 0, "document_title": "d", "file_id": "f"},
        {"type": "web_search_result_location", "cited_text": "c", "url": "u", "title": "t", "encrypted_index": "e"},
        {"type": "search_result_location", "cited_text": "c", "source": "s", "title": "t"}]},
    {"type": "thinking", "thinking": "t", "signature": "s"}, {"type": "redacted_thinking", "data": "d"},
    {"type": "tool_use", "id": "toolu_1", "name": "n", "input": {"a": "b", "model": "m", "n": [1]}},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [
        {"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": "e", "page_age": "p"}]},
    {"type": "web_fetch_tool_result", "tool_use_id": "srvtoolu_1", "content": {
        "type": "web_fetch_result", "url": "u", "retrieved_at": "r", "content": {"type": "document", "title": "t",
        "source": {"type": "text", "media_type": "text/plain", "data": "d"}}}},
    {"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": {
        "type": "code_execution_result", "stdout": "o", "stderr": "e", "return_code": 0, "content": [
            {"type": "code_execution_output", "file_id": "f"}]}},
    {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "n", "server_name": "s", "input": {"a": {"b": "c"}}},
    {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "content": [{"type": "text", "text": "t"}]},
    {"type": "container_upload", "file_id": "f"}, {"type": "compaction", "content": "c"},
]  # fmt: skip
_MESSAGE: dict[str, Any] = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": _CONTENT,
    "stop_reason": "end_turn", "stop_sequence": "s", "container": {"id": "c", "expires_at": "e"},
    "context_management": {"applied_edits": [{"type": "t", "cleared_input_tokens": 1}]},
    "usage": {"input_tokens": 1, "output_tokens": 1, "service_tier": "standard"},
}  # fmt: skip
_PARTS: list[Any] = [
    {"text": "t", "thoughtSignature": "s"}, {"text": "t", "thought": True},
    {"inlineData": {"mimeType": "image/png", "data": "d", "displayName": "n"}},
    {"fileData": {"mimeType": "m", "fileUri": "u"}},
    {"functionCall": {"id": "i", "name": "n", "args": {"a": "b", "type": "t", "n": 1}}},
    {"functionResponse": {"id": "i", "name": "n", "response": {"output": "o", "role": "r"}}},
    {"executableCode": {"language": "PYTHON", "code": "c"}},
    {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "o"}}, {"videoMetadata": {"startOffset": "1s"}},
]  # fmt: skip
_CANDIDATE: dict[str, Any] = {
    "index": 0, "content": {"role": "model", "parts": _PARTS}, "finishReason": "STOP", "finishMessage": "m",
    "safetyRatings": [{"category": "c", "probability": "LOW"}], "avgLogprobs": -0.25,
    "citationMetadata": {"citationSources": [{"uri": "u", "license": "l", "title": "t", "startIndex": 1}]},
    "logprobsResult": {"chosenCandidates": [{"token": "t", "tokenId": 1, "logProbability": -0.1}]},
    "groundingMetadata": {"webSearchQueries": ["q"], "searchEntryPoint": {"renderedContent": "h", "sdkBlob": "b"},
        "groundingChunks": [{"web": {"uri": "u", "title": "t", "domain": "d"}}, {"retrievedContext": {"text": "t"}}],
        "groundingSupports": [{"segment": {"text": "t", "endIndex": 5}, "confidenceScores": [0.5]}]},
    "urlContextMetadata": {"urlMetadata": [{"retrievedUrl": "u", "urlRetrievalStatus": "s"}]},
}  # fmt: skip
_CONTENTS: dict[str, Any] = {
    "candidates": [_CANDIDATE], "promptFeedback": {"blockReason": "OTHER", "blockReasonMessage": "m"},
    "usageMetadata": {"promptTokenCount": 1, "trafficType": "t"}, "modelVersion": "v", "responseId": "r",
    "createTime": "2026-01-01T00:00:00Z",
}  # fmt: skip

REPLIES: dict[str, list[Any]] = {
    CHAT: [
        {"id": "chatcmpl-1a", "object": "chat.completion", "created": 1_700_000_000, "model": "gpt-4o",
         "system_fingerprint": "fp_1a2b", "service_tier": "default", "choices": [
             {"index": 0, "finish_reason": "stop", "logprobs": LOGPROBS, "message": {
                 "role": "assistant", "content": "c", "refusal": "r", "reasoning": "r", "reasoning_content": "r",
                 "name": "n", "audio": {"id": "a", "data": "d", "transcript": "t", "expires_at": 1_700_000_000},
                 "function_call": {"name": "n", "arguments": "{}"}, "tool_calls": [
                     {"id": "call_1", "type": "function", "function": {"name": "n", "arguments": "{\"a\": 1}"}},
                     {"id": "call_2", "type": "custom", "custom": {"name": "n", "input": "i"}}],
                 "annotations": [{"type": "url_citation", "url_citation": {"url": "u", "title": "t"}}],
                 "images": [{"type": "image_url", "image_url": {"url": "u"}}],
                 "reasoning_details": [{"type": "reasoning.text", "text": "t", "signature": "s", "id": "i"},
                                       {"type": "reasoning.encrypted", "data": "d"}]}}],
         "citations": ["c"], "search_results": [{"title": "t", "url": "u"}],
         "usage": {"prompt_tokens": 1, "cost": 0.5}},
        ERROR,
    ],
    RESPONSES: [_RESPONSE, ERROR],
    EMBEDDINGS: [{"object": "list", "model": "m", "data": [{"object": "embedding", "index": 0, "embedding": [0.5, 1]}],
                  "usage": {"prompt_tokens": 1}}, ERROR],
    MODERATIONS: [{"id": "modr-1", "model": "m", "results": [{"flagged": False, "categories": {"violence": False},
                   "category_scores": {"violence": 0.5}, "category_applied_input_types": {"violence": ["text"]}}]}],
    MESSAGES: [_MESSAGE, {"type": "error", "error": {"type": "t", "message": "m"}, "request_id": "req_1"}],
    COUNT: [{"input_tokens": 5, "context_management": {"original_input_tokens": 9}}],
    GENERATE: [_CONTENTS, {"error": {"code": 400, "message": "m", "status": "INVALID_ARGUMENT", "details": [
        {"@type": "t", "reason": "r", "metadata": {"service": "s"}, "fieldViolations": [{"description": "d"}]}]}}],
}  # fmt: skip


def _chunk(delta: Any, **more: Any) -> Any:
    return {"id": "chatcmpl-1a", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": None, **more}]}  # fmt: skip


_PLACE = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
_SAID = ("output_text", "refusal", "reasoning_text", "function_call_arguments", "mcp_call_arguments", "audio.transcript",
         "custom_tool_call_input", "code_interpreter_call_code", "apply_patch_call_operation_diff")  # fmt: skip

STREAMS: dict[str, list[Any]] = {
    CHAT: [
        _chunk({"role": "assistant", "content": "c"}, logprobs=LOGPROBS),
        _chunk({"refusal": "r", "reasoning": "r", "reasoning_content": "r"}),
        _chunk({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": {
            "name": "n", "arguments": "{\"a\": \""}}]}),
        _chunk({"tool_calls": [{"index": 0, "function": {"arguments": "b\"}"}}]}),
        _chunk({"tool_calls": [{"index": 1, "id": "call_2", "type": "custom", "custom": {"name": "n", "input": "i"}}]}),
        _chunk({"function_call": {"name": "n", "arguments": "{}"}}),
        _chunk({"audio": {"id": "a", "data": "d", "transcript": "t", "expires_at": 1_700_000_000}}),
        _chunk({"annotations": [{"type": "url_citation", "url_citation": {"url": "u", "title": "t"}}]}),
        _chunk({"reasoning_details": [{"index": 0, "type": "reasoning.text", "text": "t", "signature": "s"}]}),
        {**_chunk({}, finish_reason="stop"), "usage": {"prompt_tokens": 1}, "system_fingerprint": "fp_1a", "citations": ["c"]},
        ERROR,
    ],
    RESPONSES: [
        {"type": "response.created", "response": {**_RESPONSE, "output": []}},
        *({"type": "response.output_item.added", "output_index": n, "item": item} for n, item in enumerate(_ITEMS)),
        {"type": "response.content_part.added", **_PLACE, "part": _TEXT},
        {"type": "response.reasoning_summary_part.added", "item_id": "rs_1", "output_index": 1, "summary_index": 0,
         "part": {"type": "summary_text", "text": "t"}},
        *({"type": f"response.{said}.delta", **_PLACE, "delta": "t", "obfuscation": "o"} for said in _SAID),
        {"type": "response.output_text.annotation.added", **_PLACE, "annotation": _TEXT["annotations"][0]},
        {"type": "response.audio.delta", "delta": "d"},
        {"type": "response.image_generation_call.partial_image", "item_id": "ig_1", "partial_image_b64": "d"},
        {"type": "response.web_search_call.searching", "item_id": "ws_1", "output_index": 2},
        {"type": "response.output_text.done", **_PLACE, "text": "t", "logprobs": _TEXT["logprobs"]},
        {"type": "response.refusal.done", **_PLACE, "refusal": "r"},
        {"type": "response.function_call_arguments.done", **_PLACE, "name": "n", "arguments": "{}"},
        {"type": "response.content_part.done", **_PLACE, "part": _TEXT},
        *({"type": "response.output_item.done", "output_index": n, "item": item} for n, item in enumerate(_ITEMS)),
        {"type": "response.completed", "response": _RESPONSE},
        {"type": "error", "code": "c", "message": "m", "param": "p"},
    ],
    MESSAGES: [
        {"type": "message_start", "message": {**_MESSAGE, "content": []}},
        *(event for n, block in enumerate(_CONTENT) for event in (
            {"type": "content_block_start", "index": n, "content_block": block},
            {"type": "content_block_stop", "index": n})),
        {"type": "content_block_delta", "index": 20, "delta": {"type": "text_delta", "text": "t"}},
        {"type": "content_block_delta", "index": 20, "delta": {
            "type": "citations_delta", "citation": _CONTENT[0]["citations"][0]}},
        {"type": "content_block_delta", "index": 21, "delta": {"type": "thinking_delta", "thinking": "t"}},
        {"type": "content_block_delta", "index": 21, "delta": {"type": "signature_delta", "signature": "s"}},
        {"type": "content_block_delta", "index": 22, "delta": {"type": "input_json_delta", "partial_json": "{\"a\": \"b\"}"}},
        {"type": "content_block_delta", "index": 23, "delta": {"type": "compaction_delta", "content": "c"}},
        {"type": "ping"},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": "s", "container": {"id": "c"}},
         "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
        {"type": "error", "error": {"type": "overloaded_error", "message": "m"}, "request_id": "r"},
    ],
    STREAM: [
        {**_CONTENTS, "candidates": [{**_CANDIDATE, "finishReason": None}]},
        {"candidates": [{"index": 0, "content": {"parts": [{"functionCall": {"name": "n", "partialArgs": [
            {"jsonPath": "$.a", "stringValue": "s", "willContinue": True}, {"jsonPath": "$.n", "numberValue": 1}],
            "willContinue": True}}]}}]},
        {"candidates": [{"index": 0, "content": {"parts": []}, "finishReason": "STOP"}]},
        {"error": {"code": 500, "message": "m", "status": "INTERNAL"}},
    ],
}  # fmt: skip
for _number, _event in enumerate(STREAMS[RESPONSES]):
    _event["sequence_number"] = _number


def positions(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Of every string, number and null in it."""
    for name, below in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(below, dict | list):
            yield from positions(below, (*path, name))
        else:
            yield (*path, name)
