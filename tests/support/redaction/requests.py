"""Calls of each dialect with every member of its public schema that can carry a text or a number."""

from __future__ import annotations

from typing import Any

REQUESTS: dict[str, Any] = {
    "chat": {
        "model": "openai/gpt-4o", "user": "u", "stop": ["s"], "metadata": {"k": "v"}, "prompt_cache_key": "k",
        "service_tier": "auto", "reasoning_effort": "low", "prediction": {"type": "content", "content": "c"},
        "tool_choice": {"type": "function", "function": {"name": "f"}}, "response_format": {
            "type": "json_schema", "json_schema": {"name": "n", "description": "d", "schema": {"enum": ["e"]}}},
        "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {
            "type": "object", "properties": {"p": {"type": "string", "const": "c", "default": {"model": "m"}}}}}}],
        "messages": [
            {"role": "system", "name": "n", "content": "s"},
            {"role": "user", "content": [
                {"type": "text", "text": "t"}, {"type": "image_url", "image_url": {"url": "u", "detail": "low"}},
                {"type": "input_audio", "input_audio": {"data": "d", "format": "wav"}},
                {"type": "file", "file": {"file_data": "d", "filename": "f", "file_id": "i"}}]},
            {"role": "assistant", "refusal": "r", "audio": {"id": "a"}, "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "a"}}]},
            {"role": "tool", "tool_call_id": "call_1", "content": "c"}],
    },
    "responses": {
        "model": "m", "instructions": "i", "previous_response_id": "r", "conversation": "c", "user": "u",
        "prompt": {"id": "p", "version": "1", "variables": {"a": "b"}}, "text": {"format": {"type": "text"}},
        "tools": [{"type": "mcp", "server_label": "l", "server_url": "u", "headers": {"h": "v"}}],
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "t"},
                                         {"type": "input_image", "image_url": "u", "file_id": "f"},
                                         {"type": "input_file", "file_url": "u", "filename": "f", "file_data": "d"}]},
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "t"}],
             "encrypted_content": "e"},
            {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "a", "status": "completed"},
            {"type": "function_call_output", "call_id": "call_1", "output": "o"},
            {"type": "image_generation_call", "id": "ig_1", "result": "r"},
            {"type": "computer_call_output", "output": {"type": "computer_screenshot", "image_url": "u"}},
            {"type": "item_reference", "id": "i"}],
    },
    "messages": {
        "model": "m", "system": [{"type": "text", "text": "t", "cache_control": {"type": "ephemeral"}}],
        "metadata": {"user_id": "u"}, "stop_sequences": ["s"], "container": "c",
        "mcp_servers": [{"type": "url", "url": "u", "name": "n", "authorization_token": "t"}],
        "tools": [{"name": "n", "description": "d", "input_schema": {"type": "object", "required": ["r"]}}],
        "messages": [
            {"role": "user", "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "d"}},
                {"type": "document", "title": "t", "context": "c", "source": {"type": "text", "data": "d"}},
                {"type": "document", "source": {"type": "url", "url": "u"}},
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "t"}]},
                {"type": "search_result", "source": "s", "title": "t", "content": []}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "t", "signature": "s"}, {"type": "redacted_thinking", "data": "d"},
                {"type": "tool_use", "id": "toolu_1", "name": "n", "input": {"model": "m", "role": "r", "a": ["b"]}}]}],
    },
    "gemini": {
        "cachedContent": "c", "labels": {"l": "v"}, "systemInstruction": {"parts": [{"text": "t"}]},
        "generationConfig": {"stopSequences": ["s"], "responseMimeType": "m", "responseSchema": {"type": "STRING"}},
        "tools": [{"functionDeclarations": [{"name": "n", "description": "d", "parameters": {"type": "OBJECT"}}]}],
        "contents": [{"role": "user", "parts": [
            {"text": "t", "thoughtSignature": "s"}, {"inlineData": {"mimeType": "image/png", "data": "d"}},
            {"fileData": {"mimeType": "m", "fileUri": "u"}}, {"functionCall": {"name": "n", "args": {"type": "t"}}},
            {"functionResponse": {"name": "n", "response": {"model": "m", "signature": "s", "output": "o"}}},
            {"executableCode": {"language": "PYTHON", "code": "c"}}]}],
    },
    "embeddings": {"model": "m", "input": ["i"], "user": "u", "encoding_format": "float", "dimensions": 256},
}  # fmt: skip
