# Turns a flat JSON object into assignments for a shell: {"path": "a b"} is arg_path='a b'.
# Strings, numbers, true, false and null are understood; anything nested is an error.
{ text = text $0 "\n" }

function fail(why) { print "file-ops: " why > "/dev/stderr"; failed = 1; exit 2 }
function blanks() { while (substr(text, at, 1) ~ /[ \t\r\n]/) at++ }

function string(    out, c, code) {
    at++
    out = ""
    while (at <= length(text)) {
        c = substr(text, at++, 1)
        if (c == "\"") return out
        if (c == "\\") {
            c = substr(text, at++, 1)
            if (c == "n") c = "\n"
            else if (c == "t") c = "\t"
            else if (c == "r") c = "\r"
            else if (c == "b" || c == "f") c = " "
            else if (c == "u") {
                code = substr(text, at, 4)
                at += 4
                if (code !~ /^00[2-7][0-9a-fA-F]$/) fail("only plain characters may be written as \\u" code)
                c = sprintf("%c", index("0123456789abcdef", tolower(substr(code, 3, 1))) * 16 - 16 + index("0123456789abcdef", tolower(substr(code, 4, 1))) - 1)
            }
        }
        out = out c
    }
    fail("a string does not end")
}

function quoted(value) { gsub(/'/, "'\\''", value); return "'" value "'" }

END {
    if (failed) exit 2
    at = 1
    blanks()
    if (substr(text, at++, 1) != "{") fail("the arguments are no object")
    blanks()
    while (substr(text, at, 1) == "\"") {
        key = string()
        if (key !~ /^[a-z_]+$/) fail("no argument is called " key)
        blanks()
        if (substr(text, at++, 1) != ":") fail("a colon is missing")
        blanks()
        if (substr(text, at, 1) == "\"") value = string()
        else if (match(substr(text, at), /^(-?[0-9.eE+-]+|true|false|null)/)) {
            value = substr(text, at, RLENGTH)
            at += RLENGTH
        } else fail("the argument " key " is neither text nor number")
        if (value != "null") print "arg_" key "=" quoted(value)
        blanks()
        if (substr(text, at, 1) == ",") { at++; blanks() }
    }
    if (substr(text, at, 1) != "}") fail("the object does not end")
}
