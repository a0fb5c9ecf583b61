"""An agent with Anthropic's client library. Usage: anthropic_sdk.py MODEL_URL SKILLS TASK; answer y if a skill may run."""

import sys

import anthropic
from repertoire import Library


def approve(request):
    return input(f"May {request['skill']} run? [y/N] ") == "y"


url, directory, task = sys.argv[1:]
client = anthropic.Anthropic(base_url=url, api_key="none")
with Library(directory, exec=True, approve=approve) as library, library.session() as session:
    messages = [{"role": "user", "content": task}]
    while messages[-1]["role"] == "user":
        answer = client.messages.create(
            model="scripted", max_tokens=4096, system=session.catalog(), tools=session.tools(), messages=messages
        )
        messages.append({"role": "assistant", "content": answer.content})
        messages += session.handle_all(answer)
    print(answer.content[-1].text)
