# Calls one function of a skill's tools.py: arguments from standard input, result to standard output.
import asyncio, importlib.util, inspect, io, json, os, sys

path, name, form = sys.argv[1:4]
arguments = json.loads(sys.stdin.buffer.read() or b"{}")
result_to = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace", newline="")
# What the tool prints must not pass for its result.
os.dup2(2, 1)
sys.stdin = io.StringIO("")
sys.argv = [path]
sys.path.insert(0, os.path.dirname(path))
try:
    spec = importlib.util.spec_from_file_location("tools", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["tools"] = module
    spec.loader.exec_module(module)
    result = getattr(module, name)(**arguments)
    if inspect.isawaitable(result):
        async def wait():
            return await result
        result = asyncio.run(wait())
    if form == "json" and not isinstance(result, str):
        result = json.dumps(result)
    result_to.write(str(result))
    status = 0
except SystemExit as error:
    # As for any program: nothing or 0 is success, without a result.
    status = 0 if error.code in (None, 0) else 70
    if status:
        result_to.write("SystemExit: %s" % (error,))
except BaseException as error:
    result_to.write("%s: %s" % (type(error).__name__, error))
    status = 70
result_to.flush()
for stream in (sys.stdout, sys.stderr):
    try:
        stream.flush()
    except Exception:
        pass
os._exit(status)
