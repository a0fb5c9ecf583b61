"""A model that follows a script, for agents that want to talk to one.

It speaks what agents speak: OpenAI chat completions, OpenAI responses, and Anthropic messages, streamed or not. Requests
that offer the first tool of the script are answered with its calls, one per turn, and then with a text; whatever else an agent
asks, such as a title for the conversation, gets the text at once. Every request is kept.
"""

import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LAST_WORDS = "The script is at its end."
MODEL = "scripted"


@dataclass
class Request:
    """What an agent sent."""

    path: str
    body: dict

    @property
    def tools(self):
        return self.body.get("tools") or []

    @property
    def messages(self):
        """Returns what grows from turn to turn."""
        return self.body.get("messages") or self.body.get("input") or []

    @property
    def frame(self):
        """Returns what stands before the messages."""
        return [self.body.get("system"), self.body.get("instructions")]


class ModelServer:
    """Serves on a port of its own within `with`."""

    def __init__(self, script):
        self.script = script
        self.requests = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
        self.server.daemon_threads = True

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def turns(self):
        """Returns the requests of the conversation that the script is about."""
        return [request for request in self.requests if find_tool(request, self.script[0][0])]

    def next_call(self, request):
        """Returns the name of a tool, as the agent knows it, and arguments; or None where the script is at its end."""
        done = json.dumps(request.messages).count('"call_scripted_')
        # A call and its result both have the id.
        done //= 2
        if done >= len(self.script):
            return None
        tool, arguments = self.script[done]
        name = find_tool(request, tool)
        return (f"call_scripted_{done}", name, arguments) if name else None


def find_tool(request, wanted):
    """Returns the namespace, if any, and the name under which a tool of ours is offered; or None."""
    flat = [(None, tool) for tool in request.tools if tool.get("type") != "namespace"]
    for tool in request.tools:
        flat += [(tool["name"], inner) for inner in tool.get("tools", []) if tool.get("type") == "namespace"]
    names = [(namespace, (tool.get("function") or tool).get("name") or "") for namespace, tool in flat]
    # Agents put the server's name before the tool's. Some have a tool of their own that is called like ours.
    names = [(namespace, name) for namespace, name in names if name == wanted or name.endswith((f"_{wanted}", f"-{wanted}"))]
    return max(names, key=lambda found: (found[0] is not None, len(found[1])), default=None)


def tool_entry(request, wanted):
    """Returns what a request says about a tool of ours."""
    namespace, name = find_tool(request, wanted)
    tools = request.tools
    if namespace:
        tools = next(tool["tools"] for tool in tools if tool.get("name") == namespace)
    entries = (tool.get("function") or tool for tool in tools)
    return next(entry for entry in entries if entry.get("name") == name)


def handler(model):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_HEAD(self):
            self.answer({})

        def do_GET(self):
            self.answer({"object": "list", "data": [{"id": MODEL, "object": "model", "created": 0, "owned_by": "tests"}]})

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            try:
                request = Request(self.path, json.loads(body))
            except ValueError:
                return self.answer({"error": {"message": "this is not JSON"}}, 400)
            model.requests.append(request)
            call = model.next_call(request)
            path = self.path.split("?")[0]
            if path.endswith("/chat/completions"):
                return self.answer_chat(request, call)
            if path.endswith("/responses"):
                return self.answer_responses(call)
            if path.endswith("/messages/count_tokens"):
                return self.answer({"input_tokens": 10})
            if path.endswith("/messages"):
                return self.answer_messages(request, call)
            return self.answer({})

        def fresh_id(self):
            """Agents take two answers with one id for parts of one."""
            return f"answer_{len(model.requests)}"

        def answer_chat(self, request, call):
            message = {"role": "assistant", "content": LAST_WORDS}
            if call:
                identifier, (_, name), arguments = call
                function = {"name": name, "arguments": json.dumps(arguments)}
                tool_call = {"index": 0, "id": identifier, "type": "function", "function": function}
                message = {"role": "assistant", "content": None, "tool_calls": [tool_call]}
            reason = "tool_calls" if call else "stop"
            usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
            base = {"id": self.fresh_id(), "created": 0, "model": MODEL}
            if not request.body.get("stream"):
                choice = {"index": 0, "message": message, "finish_reason": reason}
                return self.answer({**base, "object": "chat.completion", "choices": [choice], "usage": usage})
            base["object"] = "chat.completion.chunk"
            chunks = [
                {**base, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
                {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage},
            ]
            self.stream([f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"])

        def answer_responses(self, call):
            if call:
                identifier, (namespace, name), arguments = call
                item = {"type": "function_call", "id": f"item_{identifier}", "call_id": identifier, "name": name}
                item |= {"arguments": json.dumps(arguments), "status": "completed"}
                item |= {"namespace": namespace} if namespace else {}
            else:
                text = {"type": "output_text", "text": LAST_WORDS, "annotations": []}
                item = {"type": "message", "id": self.fresh_id(), "role": "assistant", "status": "completed", "content": [text]}
            details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
            usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, **details}
            response = {"id": self.fresh_id(), "object": "response", "model": MODEL, "status": "completed", "output": [item], "usage": usage}
            begun = {**response, "status": "in_progress", "output": []}
            self.events(
                ("response.created", {"response": begun}),
                ("response.output_item.added", {"output_index": 0, "item": item}),
                ("response.output_item.done", {"output_index": 0, "item": item}),
                ("response.completed", {"response": response}),
            )

        def answer_messages(self, request, call):
            block, whole = {"type": "text", "text": ""}, {"type": "text", "text": LAST_WORDS}
            delta = {"type": "text_delta", "text": LAST_WORDS}
            if call:
                identifier, (_, name), arguments = call
                block = {"type": "tool_use", "id": identifier, "name": name, "input": {}}
                whole = {**block, "input": arguments}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
            reason = "tool_use" if call else "end_turn"
            message = {"id": self.fresh_id(), "type": "message", "role": "assistant", "model": request.body.get("model")}
            message |= {"content": [], "stop_reason": None, "stop_sequence": None}
            message |= {"usage": {"input_tokens": 10, "output_tokens": 1}}
            if not request.body.get("stream"):
                return self.answer({**message, "content": [whole], "stop_reason": reason})
            end = {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 5}}
            self.events(
                ("message_start", {"message": message}),
                ("content_block_start", {"index": 0, "content_block": block}),
                ("content_block_delta", {"index": 0, "delta": delta}),
                ("content_block_stop", {"index": 0}),
                ("message_delta", end),
                ("message_stop", {}),
            )

        def events(self, *events):
            self.stream([f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n" for name, data in events])

        def stream(self, chunks):
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            self.wfile.write("".join(chunks).encode())
            self.close_connection = True

        def answer(self, value, status=200):
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    return Handler
