"""One mutated file from a seed and a number: always the same one for the same seeds files.

`mutated(texts, seed, case)` -> the bytes. Mutations are of bytes, lines, tokens and of the structure of the
YAML; one file suffers a few.
"""

import random
import re

import yaml

BYTES = [
    b"\0", b"\t", b"\r", b"\n", b"\xff", b"\xef\xbb\xbf", b"\xc2\x85", b"\xe2\x80\xa8", b" ", b"'", b'"',
    b"{", b"}", b"[", b"]", b":", b"#", b"&", b"*", b"!", b"|", b">", b"%", b"@", b"`", b"-", b"?", b"$",
    b"\\",
]  # fmt: skip
PIECES = [
    "", "~", "null", "true", "false", "on", "0", "-1", "1.5", "3.10", "1e400", ".nan", "-.inf", "0x1F",
    "0o17", "010", "1_000", "9" * 50, "[]", "{}", "[[]]", "{a: b}", "[a, [b]]", "- a", "? a", ": a", "*a",
    "*b", "&a", "&a x", "!!int 3", "!x y", "<<", "<<: *a", "|", ">", "|+", ">-", "'", '"', "''", "' '",
    "' a '", '"\\x00"', '"\\ud800"', '"\\n"', '"a\\nb"', "# note", "...", "---", "%YAML 1.1", "%TAG ! x",
    "@x", "`x`", "a: b: c", "a:b", "\u00e9", "\u200b", "\u3000", "\u0130", "\u01c5", "\U0001f600",
    "e\u0301", "a" * 100, "A", "s" * 64, "10m", "1h30m", "0s", "1.5d", "10 m", "-5s", "1ms", "2024-01-01",
    "12:30:45", "exit:1-9", "exit:999", "json:/a", "file:", "a.b:c", "a:b.c", ".", "..", "/", "~/x",
    "a/**/b", "!a", "[a-z]", "kind: workflow", "kind: project", "name: w", "steps", "finally", "matrix",
    "for_each", "x-a", "string", "object", "(a+)+$", "[", "(?i)a", "\\", "^[a-z]", "a{1,99999}",
    "success()", "always()", "not failure()", "cancelled() or true",
]  # fmt: skip
EXPRESSIONS = [
    "${{", "}}", "${{ }}", "$${{ x }}", "${{ inputs.goal }}", "${{ inputs }}", "${{ steps.a.result }}",
    "${{ steps }}", "${{ matrix.python }}", "${{ matrix }}", "${{ item }}", "${{ item.a.b }}",
    "${{ item_index + 1 }}", "${{ env.N }}", "${{ run.id }}", "${{ run.state == 'x' }}",
    "${{ attempt.number }}", "${{ 1 + }}", "${{ 1 // 0 }}", "${{ 'a' * 9 }}", "${{ 2 ** 99 }}",
    "${{ [1, 2][5] }}", "${{ {'a': 1}.a }}", "${{ {}['a'] }}", "${{ 'a' | upper | upper }}",
    "${{ [] | first }}", "${{ 'x' | from_json }}", "${{ '[[1]]' | from_json }}",
    "${{ none | default('a') }}", "${{ a if b }}", "${{ 'a' ~ 1 }}", "${{ 'a' + 1 }}",
    "${{ [1] | join(2) }}", "${{ 'a,b' | split(',') }}", "${{ [2, 'a'] | sort }}", "${{ [{}] | unique }}",
    "${{ x.__class__ }}", "${{ fromJSON(x) }}", "${{ a && b }}", "${{ !a }}", "${{ a | nope }}",
    "${{ steps.a.outputs['b'] }}", "${{ 'it''s' }}", '${{ "a" }}', "${{ '}}' }}", "${{ 1 < 2 < 3 }}",
    "${{ -(-1) }}", "${{ not not true }}", "${{ 1e999 }}", "${{ a[b[c]] }}", "${{ (((1))) }}",
    "${{ true and 1 }}", "${{ 'a' in ['a'] }}", "${{ range(9) }}", "${{ 1.5 % 0 }}", "${{ x is defined }}",
]  # fmt: skip
SCRIPTS = [
    "echo '${{ inputs.goal }}'", "eval ${{ run.id }}", "cat <<'E'\n${{ run.id }}\nE",
    "cat <<E\n${{ run.id }}", "$((${{ inputs.level }}))", "`${{ run.id }}`", 'sh -c "${{ run.id }}"', "$(",
    "${a:-${{ run.id }}}", "case x in ${{ run.id }}) ;; esac", "if then", "\\", "a\\\n",
    '"$(echo "${{ run.id }}")"', "f() { ${{ run.id }}; }", "x=${{ run.id }}", "> ${{ run.id }}",
    "[[ ${{ run.id }} ]]", "# ${{ run.id }}",
]  # fmt: skip
ODD_VALUES = [
    None, True, False, 0, -1, 1, 10_001, 1.5, 1e300, "", " ", "a", "a" * 70, "a\nb", "\0", "\u2028", [], {},
    [[]], [None], [1, "a"], {"a": None}, {"a": {"b": [1]}}, {"": 1}, ["a", "a"], "${{ item }}",
    "${{ inputs.goal }}", "${{ steps.a.result }}", {"include": []}, {"a": []},
    {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}}, {"from": "json:/"},
    {"max_attempts": 0},
]  # fmt: skip

_TOKEN = re.compile(r"\$\{\{.*?\}\}|[\w./-]+|[^\w\s]", re.DOTALL)
_KEY = re.compile(r"[\w-]+(?=:)")


def mutated(texts, seed, case):
    """The bytes of a case, and the text it began with."""
    source = random.Random(f"{seed}/{case}")
    first = source.choice(texts)
    data = first
    for _ in range(source.choice((1, 1, 1, 2, 2, 3, 5))):
        data = source.choice(MUTATIONS)(source, data, texts)
    return data[:MOST], first


MOST = 40_000
"""Bytes of a mutated file: mutations that double may not make the test slow."""


# --- bytes --------------------------------------------------------------------------------------------


def change_byte(source, data, texts):
    at = source.randrange(len(data) + 1)
    return data[:at] + source.choice(BYTES) + data[at + 1 :]


def insert_bytes(source, data, texts):
    at = source.randrange(len(data) + 1)
    return data[:at] + source.choice(BYTES) * source.choice((1, 1, 2, 9)) + data[at:]


def delete_bytes(source, data, texts):
    at = source.randrange(len(data) + 1)
    return data[:at] + data[at + source.choice((1, 1, 2, 5, 50)) :]


def cut(source, data, texts):
    return data[: source.randrange(len(data) + 1)]


def double_bytes(source, data, texts):
    start, end = sorted(source.randrange(len(data) + 1) for _ in range(2))
    return data[:end] + data[start:end] + data[end:]


# --- lines --------------------------------------------------------------------------------------------


def on_lines(change):
    def mutation(source, data, texts):
        lines = data.split(b"\n")
        change(source, lines, texts)
        return b"\n".join(lines)

    return mutation


def delete_line(source, lines, texts):
    del lines[source.randrange(len(lines))]


def double_line(source, lines, texts):
    at = source.randrange(len(lines))
    lines.insert(source.randrange(len(lines)), lines[at])


def swap_lines(source, lines, texts):
    one, other = source.randrange(len(lines)), source.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]


def indent_line(source, lines, texts):
    at = source.randrange(len(lines))
    lines[at] = source.choice((b" ", b"  ", b"    ", b"\t", b"- ")) + lines[at]


def outdent_line(source, lines, texts):
    at = source.randrange(len(lines))
    lines[at] = lines[at].removeprefix(b"  ") if source.random() < 0.5 else lines[at].lstrip()


def splice_lines(source, lines, texts):
    others = source.choice(texts).split(b"\n")
    start = source.randrange(len(others))
    at = source.randrange(len(lines) + 1)
    lines[at:at] = others[start : start + source.choice((1, 1, 2, 5, 20))]


# --- tokens -------------------------------------------------------------------------------------------


def on_text(change):
    def mutation(source, data, texts):
        return change(source, data.decode("utf-8", "replace"), texts).encode()

    return mutation


def spans(pattern, text):
    return [match.span() for match in pattern.finditer(text)]


def replace_token(source, text, texts):
    found = spans(_TOKEN, text)
    if not found:
        return source.choice(PIECES)
    start, end = source.choice(found)
    pool = source.choice((PIECES, EXPRESSIONS, [quoted(each) for each in EXPRESSIONS], SCRIPTS))
    return text[:start] + source.choice(pool) + text[end:]


def borrow_token(source, text, texts):
    other = source.choice(texts).decode("utf-8", "replace")
    found, others = spans(_TOKEN, text), spans(_TOKEN, other)
    if not found or not others:
        return text
    (start, end), (first, last) = source.choice(found), source.choice(others)
    return text[:start] + other[first:last] + text[end:]


def swap_tokens(source, text, texts):
    return swap(source, text, spans(_TOKEN, text))


def swap_keys(source, text, texts):
    return swap(source, text, spans(_KEY, text))


def rename_key(source, text, texts):
    other = source.choice(texts).decode("utf-8", "replace")
    found, others = spans(_KEY, text), spans(_KEY, other)
    if not found or not others:
        return text
    (start, end), (first, last) = source.choice(found), source.choice(others)
    return text[:start] + other[first:last] + text[end:]


def misspell(source, text, texts):
    found = [span for span in spans(_TOKEN, text) if span[1] - span[0] > 2]
    if not found:
        return text
    start, end = source.choice(found)
    letters = list(text[start:end])
    at = source.randrange(len(letters) - 1)
    letters[at], letters[at + 1] = letters[at + 1], letters[at]
    return text[:start] + "".join(letters)[: source.choice((-1, None))] + text[end:]


def swap(source, text, found):
    if len(found) < 2:
        return text
    (a, b), (c, d) = sorted(source.sample(found, 2))
    return text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


# --- structure ----------------------------------------------------------------------------------------


def on_data(change):
    """A change of the data; text that is no YAML is cut instead."""

    def mutation(source, data, texts):
        try:
            documents = read(data)
        except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError, TypeError):
            return cut(source, data, texts)
        holders = [item for document in documents for item in collections(document)]
        if not holders:
            return data
        change(source, source.choice(holders), texts)
        return write(source, documents)

    return mutation


def read(data):
    return list(yaml.load_all(data.decode(), Loader=_Plain))


class _Plain(yaml.CBaseLoader):
    """Reads every scalar as text, which is written without quotes again where YAML allows it."""


def write(source, documents):
    style = source.choice((None, False, False, True))
    width = source.choice((20, 80, 9_999))
    dumper = _Bare if source.random() < 0.7 else yaml.CSafeDumper
    try:
        text = yaml.dump_all(
            documents,
            Dumper=dumper,
            default_flow_style=style,
            width=width,
            allow_unicode=True,
            sort_keys=False,
        )
    except (yaml.YAMLError, RecursionError, ValueError):
        return b""
    return text.encode("utf-8", "replace")


class _Bare(yaml.SafeDumper):
    """Writes text that looks like a number or a boolean without quotes, as it was read."""

    def represent_text(self, data):
        return self.represent_scalar("tag:yaml.org,2002:str", data)


_Bare.yaml_implicit_resolvers = {}


def collections(value, seen=None):
    """Every list and mapping in a value, each once."""
    seen = set() if seen is None else seen
    if not isinstance(value, dict | list) or id(value) in seen:
        return
    seen.add(id(value))
    if value:
        yield value
    for item in value.values() if isinstance(value, dict) else value:
        yield from collections(item, seen)


def any_key(source, holder):
    return source.choice(list(holder)) if isinstance(holder, dict) else source.randrange(len(holder))


def other_value(source, holder, texts):
    holder[any_key(source, holder)] = source.choice(ODD_VALUES)


def delete_value(source, holder, texts):
    del holder[any_key(source, holder)]


def share_value(source, holder, texts):
    """The same value in two places: an alias."""
    value = holder[any_key(source, holder)]
    if isinstance(holder, dict):
        holder[source.choice(("x-shared", "again", "a", "<<"))] = value
    else:
        holder.append(value)


def swap_values(source, holder, texts):
    one, other = any_key(source, holder), any_key(source, holder)
    holder[one], holder[other] = holder[other], holder[one]


def wrap_value(source, holder, texts):
    key = any_key(source, holder)
    holder[key] = source.choice(
        ([holder[key]], {"a": holder[key]}, [holder[key], holder[key]], {"steps": holder[key]})
    )


def borrow_value(source, holder, texts):
    try:
        documents = read(source.choice(texts))
    except (yaml.YAMLError, UnicodeDecodeError, ValueError):
        return
    others = [item for document in documents for item in collections(document)]
    if others:
        other = source.choice(others)
        key = any_key(source, other)
        keyed = isinstance(holder, dict) and isinstance(other, dict)
        holder[key if keyed else any_key(source, holder)] = other[key]


MUTATIONS = [
    change_byte, insert_bytes, delete_bytes, cut, double_bytes,
    *map(on_lines, (delete_line, double_line, swap_lines, indent_line)),
    *map(on_lines, (outdent_line, splice_lines, splice_lines)),
    *map(on_text, (replace_token, replace_token, replace_token, replace_token)),
    *map(on_text, (borrow_token, borrow_token, swap_tokens, swap_keys)),
    *map(on_text, (rename_key, misspell)),
    *map(on_data, (other_value, other_value, delete_value, share_value)),
    *map(on_data, (swap_values, wrap_value, borrow_value, borrow_value)),
]  # fmt: skip
