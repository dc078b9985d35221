"""The stand-in's script: the next step is told by the conversation alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mastio_llm.stubs.scripted import Step, find_step, read_script, write_reply

SCRIPT = (Step("Read", {"path": "a"}), Step("Bash", {"command": "ls"}), Step(text="Done."))
TOOLS = [{"name": "Read"}, {"type": "function", "function": {"name": "Bash"}}]
MESSAGES, CHAT, RESPONSES = "/v1/messages", "/v1/chat/completions", "/v1/responses"


def conversation(path: str, done: int) -> dict[str, Any]:
    if path == MESSAGES:
        blocks = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": "x"} for n in range(done)]
        return {"messages": [{"role": "user", "content": blocks}], "tools": TOOLS}
    if path == CHAT:
        return {"messages": [{"role": "tool", "tool_call_id": f"t{n}"} for n in range(done)], "tools": TOOLS}
    results = [{"type": "function_call_output", "call_id": f"t{n}", "output": "x"} for n in range(done)]
    return {"input": [*results, {"type": "function_call_output", "output": "of no call"}], "tools": TOOLS}


@pytest.mark.parametrize("path", [MESSAGES, CHAT, RESPONSES])
def test_the_next_step_follows_from_the_results(path: str) -> None:
    assert [find_step(SCRIPT, path, conversation(path, done)) for done in range(4)] == [*SCRIPT, None]
    assert find_step(SCRIPT, path, {**conversation(path, 0), "tools": []}) is None


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("path", [MESSAGES, CHAT, RESPONSES])
def test_a_step_is_in_the_reply(path: str, stream: bool) -> None:
    for step, said in ((SCRIPT[0], "Read"), (SCRIPT[2], "Done.")):
        body = write_reply(step, path, "demo", "7", stream=stream)
        assert said.encode() in body and body.startswith((b"event: ", b"data: ") if stream else b"{")
        if not stream:
            assert json.loads(body)["model"] == "demo"


def test_a_file_that_is_no_script(tmp_path: Path) -> None:
    file = tmp_path / "script"
    for text in ("{", "{}", '["x"]', '[{"tol": "x"}]'):
        file.write_text(text)
        with pytest.raises(ValueError):
            read_script(file)
    file.write_text('[{"tool": "Read", "arguments": {"path": "a"}}]')
    assert read_script(file) == SCRIPT[:1]
