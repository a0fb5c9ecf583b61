# Writes the tools of a tools.py, read from standard input, as the list of a schema.json, and the functions that are left out with
# the reasons. It parses the module and runs none of it.
import ast, json, math, re, sys

TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "None": "null",
         "list": "array", "List": "array", "Sequence": "array", "tuple": "array", "set": "array",
         "dict": "object", "Dict": "object", "Mapping": "object"}


def schema(note):
    """Returns the schema of an annotation; one that says nothing for what JSON has no word for."""
    if isinstance(note, ast.Constant) and isinstance(note.value, str):
        try:
            return schema(ast.parse(note.value, mode="eval").body)
        except (SyntaxError, ValueError, RecursionError):
            return {}
    if isinstance(note, ast.Constant) and note.value is None:
        return {"type": "null"}
    if isinstance(note, ast.BinOp) and isinstance(note.op, ast.BitOr):
        return union([note.left, note.right])
    name = getattr(note, "attr", getattr(note, "id", None))
    if not isinstance(note, ast.Subscript):
        return {"type": TYPES[name]} if name in TYPES else {}
    of = getattr(note.value, "attr", getattr(note.value, "id", None))
    parts = note.slice.elts if isinstance(note.slice, ast.Tuple) else [note.slice]
    if of == "Optional":
        return union(parts + [ast.Constant(None)])
    if of == "Union":
        return union(parts)
    if of == "Annotated":
        return schema(parts[0])
    if of == "Literal":
        values = [part.value for part in parts if isinstance(part, ast.Constant) and is_json(part.value)]
        return {"enum": values} if len(values) == len(parts) else {}
    kind = TYPES.get(of)
    if kind == "array":
        return {"type": kind, "items": schema(parts[0])} if of != "tuple" else {"type": kind}
    if kind == "object" and len(parts) == 2:
        return {"type": kind, "additionalProperties": schema(parts[1])}
    return {"type": kind} if kind else {}


def union(parts):
    schemas = [schema(part) for part in parts]
    flat = [inner for one in schemas for inner in one.get("anyOf", [one])]
    return {"anyOf": flat} if all(flat) else {}


def is_json(value):
    return value is None or isinstance(value, (str, int)) or isinstance(value, float) and math.isfinite(value)


def described(text):
    """Returns the first paragraph of a docstring, and what its section of arguments says about each."""
    first = " ".join(text.strip().split("\n\n")[0].split())
    section = re.search(r"^[ \t]*(?:Args|Arguments|Parameters):[ \t]*\n((?:[ \t]+\S.*\n?|[ \t]*\n)+)", text + "\n", re.M)
    lines = re.findall(r"^[ \t]+\*{0,2}(\w+)[ \t]*(?:\([^)\n]*\))?:[ \t]*(\S.*)$", section.group(1) if section else "", re.M)
    return first, dict(lines)


def tool(function):
    """Returns the tool of a function, or nothing for one that cannot be called with keywords."""
    given = function.args
    # Defaults belong to the last of these.
    if given.posonlyargs and len(given.posonlyargs + given.args) > len(given.defaults):
        return None
    text, about = described(ast.get_docstring(function) or "")
    positional = given.posonlyargs + given.args
    defaults = [None] * (len(positional) - len(given.defaults)) + given.defaults
    named = list(zip(positional, defaults))[len(given.posonlyargs):] + list(zip(given.kwonlyargs, given.kw_defaults))
    properties, required = {}, []
    for argument, default in named:
        own = schema(argument.annotation) if argument.annotation is not None else {}
        if argument.arg in about:
            own["description"] = about[argument.arg]
        if default is None:
            required.append(argument.arg)
        else:
            try:
                value = ast.literal_eval(default)
                json.dumps(value, allow_nan=False)
                own["default"] = value
            except (ValueError, TypeError, SyntaxError):
                pass
        properties[argument.arg] = own
    parameters = {"type": "object", "properties": properties, "required": required,
                  "additionalProperties": given.kwarg is not None}
    return {"name": function.name, "description": text, "parameters": parameters}


def main():
    try:
        module = ast.parse(sys.stdin.buffer.read(), "tools.py")
    except (SyntaxError, ValueError) as error:
        sys.exit("tools.py cannot be parsed: %s" % error)
    chosen = None
    functions = {}
    for node in module.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            functions[node.name] = node
        if isinstance(node, ast.Assign) and any(getattr(target, "id", None) == "__all__" for target in node.targets):
            try:
                chosen = {str(name) for name in ast.literal_eval(node.value)}
            except (ValueError, TypeError, SyntaxError):
                pass
    is_public = lambda name: name in chosen if chosen is not None else not name.startswith("_") and name != "main"
    tools, left_out = [], {}
    for name, function in functions.items():
        found = tool(function) if is_public(name) else None
        if found:
            tools.append(found)
        elif is_public(name):
            left_out[name] = "it has a positional-only parameter without a default"
        elif name == "main" and chosen is None:
            left_out[name] = "it is the entry point of a script"
    for name in sorted((chosen or set()) - set(functions)):
        left_out[name] = "it is in __all__ but no function of the file"
    text = json.dumps({"tools": tools, "left_out": left_out}, allow_nan=False, ensure_ascii=False)
    # Half of a surrogate pair is not a character.
    sys.stdout.buffer.write((text + "\n").encode("utf-8", "replace"))


main()
