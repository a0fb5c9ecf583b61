"""Answers the lines of `rep session` through the protocol that begins with `hello`."""

import json
import os
import subprocess
import sys

engine = subprocess.Popen(
    [os.environ["REPERTOIRE_BIN"], "session", *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
)
last = 0


def ask(**request):
    global last
    last += 1
    engine.stdin.write(json.dumps({**request, "id": last}) + "\n")
    engine.stdin.flush()
    line = engine.stdout.readline()
    if not line:
        sys.exit(engine.wait())
    answer = json.loads(line)
    assert answer.pop("id") == last, answer
    return answer


ask(op="hello", protocol=1)
main = ask(op="open")
if not main["ok"]:
    sys.exit(main["error"]["message"])
for line in sys.stdin:
    answer = ask(**{"session": main["session"], **json.loads(line)})
    print(json.dumps(answer), flush=True)
engine.stdin.close()
sys.exit(engine.wait())
