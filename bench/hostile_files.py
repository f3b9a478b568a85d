"""Files of 1 MB that were made to hurt a reader, a validator or a compiler, by name.

`FILES[name]()` makes the bytes; the same ones each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = 1_000_000
TOP = "kind: workflow\nname: w\n"
STEPS = f"{TOP}steps:\n"
ONE_STEP = "steps: {a: {run: [x]}}\n"
INPUTS = "inputs: {x: {type: string, default: a}, n: {type: integer, default: 1}, l: {type: array}}\n"


def _repeat(piece: str, head: str = STEPS, tail: str = "", size: int = SIZE) -> bytes:
    """The piece again and again, `{i}` in it being its number, up to the size."""
    parts, length, number = [head], len(head) + len(tail), 0
    while length < size:
        part = piece.replace("{i}", str(number))
        parts.append(part)
        length += len(part)
        number += 1
    return "".join([*parts, tail]).encode()


def _steps(body: str) -> Callable[[], bytes]:
    """As many steps as there is room for, each with this flow mapping."""
    return lambda: _repeat(f"  s{{i}}: {body}\n")


def _list(item: str, head: str = "x-list:\n", tail: str = ONE_STEP) -> Callable[[], bytes]:
    """As many items of a block list as there is room for."""
    return lambda: _repeat(f"- {item}\n", TOP + head, tail)


def _script(piece: str, tail: str = "") -> Callable[[], bytes]:
    """One script with an expression at its end, in which the piece stands again and again."""
    head = f"{TOP}{INPUTS}steps:\n  a:\n    run: |\n      true\n      "
    return lambda: _repeat(piece, head, f"{tail}\n      echo ${{{{ inputs.x }}}}\n")


def _expression(piece: str, head: str = "", tail: str = "") -> Callable[[], bytes]:
    """One condition in which the piece stands again and again."""
    before = f"{TOP}{INPUTS}steps:\n  a:\n    run: [x]\n    if: >-\n      ${{{{ {head}"
    return lambda: _repeat(piece, before, f"{tail} }}}}\n")


def _scalar(key: str, text: str) -> Callable[[], bytes]:
    """One step with a value of 1 MB in double quotes."""
    return lambda: _repeat(text, f'{STEPS}  a:\n    run: [x]\n    {key}: "', '"\n')


def _deep_block() -> bytes:
    lines, length = [f"{TOP}{ONE_STEP}x-deep:\n"], 0
    while length < SIZE:
        lines.append(" " * len(lines) + "a:\n")
        length += len(lines[-1])
    return "".join(lines).encode()


def _laughs() -> bytes:
    head = f"{TOP}x-0: &a0 [1]\n"
    tower = "".join(f"x-{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 90))
    return _repeat("x-p{i}: *a3\n", head + tower, ONE_STEP)


def _merges() -> bytes:
    return _repeat("- {<<: *m, k{i}: 1}\n", f"{TOP}x-list:\n- &m {{k: 1}}\n", ONE_STEP)


def _growing_merges() -> bytes:
    parts, length, number = [f"{TOP}x-list:\n- &m0 {{k0: 1}}\n"], 0, 1
    while length < SIZE:
        parts.append(f"- &m{number} {{<<: *m{number - 1}, k{number}: 1}}\n")
        length += len(parts[-1])
        number += 1
    return "".join([*parts, ONE_STEP]).encode()


def _wide_merges() -> bytes:
    wide = ", ".join(f"k{n}: 1" for n in range(SIZE // 24))
    return _repeat("- {<<: *m}\n", f"{TOP}x-wide: &m {{{wide}}}\nx-list:\n", ONE_STEP)


def _one_line_of_faults() -> bytes:
    return _repeat("s{i}: {run: [x], bad: 1}, ", f"{TOP}steps: {{", "z: {run: [x]}}\n")


def _one_line_of_unknown_needs() -> bytes:
    return _repeat("s{i}: {run: [x], needs: none{i}}, ", f"{TOP}steps: {{", "z: {run: [x]}}\n")


def _complete_cycle() -> bytes:
    """Every step needs every other one."""
    names = [f"s{n}" for n in range(440)]
    return (STEPS + "".join(f"  {n}: {{run: [x], needs: [{','.join(names)}]}}\n" for n in names)).encode()


def _complete_graph() -> bytes:
    """Every step needs all steps before it."""
    names = [f"s{n}" for n in range(640)]
    lines = (f"  {n}: {{run: [x], needs: [{','.join(names[:k])}]}}\n" for k, n in enumerate(names))
    return (STEPS + "".join(lines)).encode()


def _long_cycle() -> bytes:
    count = SIZE // 33
    lines = (f"  s{n}: {{run: [x], needs: s{(n + 1) % count}}}\n" for n in range(count))
    return (STEPS + "".join(lines)).encode()


def _pairs() -> bytes:
    """Many cycles of two steps."""
    lines = (f"  s{n}: {{run: [x], needs: s{n ^ 1}}}\n" for n in range(SIZE // 33 // 2 * 2))
    return (STEPS + "".join(lines)).encode()


def _exclusions() -> bytes:
    numbers = ", ".join(map(str, range(100)))
    axes = f"a: [{numbers}]\n      b: [{numbers}]\n"
    head = f"{STEPS}  a:\n    run: [x]\n    matrix:\n      {axes}"
    return _repeat("      - {a: 1000, b: {i}}\n", f"{head}      exclude:\n")


def _inclusions() -> bytes:
    axes = f"a: [{', '.join(map(str, range(100)))}]\n      b: [{', '.join(map(str, range(90)))}]\n"
    head = f"{STEPS}  a:\n    run: [x]\n    matrix:\n      {axes}"
    return _repeat("      - {a: 1, b: 1, c: {i}}\n", f"{head}      include:\n")


def _many_fan_outs() -> bytes:
    numbers = ", ".join(map(str, range(100)))
    head = f"{TOP}x-axis: &axis [{numbers}]\nx-matrix: &matrix {{a: *axis, b: *axis}}\nsteps:\n"
    return _repeat("  s{i}: {run: [x], matrix: *matrix}\n", head)


def _chained_fan_outs() -> bytes:
    numbers = ", ".join(map(str, range(100)))
    head = f"{TOP}x-axis: &axis [{numbers}]\nsteps:\n  s0: {{run: [x], matrix: {{a: *axis, b: *axis}}}}\n"
    return _repeat("  t{i}: {run: [x, '${{ steps.s0.result }}'], needs: s0}\n", head)


def _references_upstream() -> bytes:
    """A long chain in which every step refers to the first one."""
    count = SIZE // 75
    first = f"{STEPS}  s0: {{run: [x], outputs: {{o: string}}}}\n"
    rest = (
        f"  s{n}: {{run: [x, '${{{{ steps.s0.outputs.o }}}}'], needs: s{n - 1}}}\n" for n in range(1, count)
    )
    return (first + "".join(rest)).encode()


def _references_elsewhere() -> bytes:
    """Steps that refer to results that are not upstream."""
    return _repeat("  s{i}: {run: [x, '${{ steps.a.result }}']}\n", f"{STEPS}  a: {{run: [x]}}\n")


def _unknown_inputs() -> bytes:
    head = _repeat("  name_of_input_{i}: {type: string}\n", f"{TOP}inputs:\n", size=SIZE // 2).decode()
    return _repeat("  s{i}: {run: [x, '${{ inputs.name_of_inptu_{i} }}']}\n", f"{head}steps:\n")


def _bait_pattern() -> bytes:
    head = f'{TOP}{ONE_STEP}inputs:\n  x: {{type: string, pattern: "^(a+)+b", default: '
    return f"{head}{'a' * (SIZE - len(head) - 4)}}}\n".encode()


def _bait_patterns() -> bytes:
    head = f"{TOP}{ONE_STEP}inputs:\n"
    return _repeat(f'  x{{i}}: {{pattern: "^(a|aa)+b", default: {"a" * 30}}}\n', head)


def _evaluated(expression: str) -> Callable[[], bytes]:
    """An expression whose value is known before the run."""
    return lambda: _repeat(
        f"    E{{i}}: '${{{{ {expression} }}}}'\n", f"{STEPS}  a:\n    run: [x]\n    env:\n"
    )


FILES: dict[str, Callable[[], bytes]] = {
    # reading
    "flow lists in one another": lambda: _repeat("[", f"{TOP}{ONE_STEP}x-a: "),
    "flow mappings in one another": lambda: _repeat("{a: ", f"{TOP}{ONE_STEP}x-a: "),
    "block mappings in one another": _deep_block,
    "block lists in one another": lambda: _repeat("- ", f"{TOP}{ONE_STEP}x-a:\n"),
    "keys with a question mark": lambda: _repeat("? ", f"{TOP}{ONE_STEP}x-a:\n  "),
    "wide mapping": lambda: _repeat("  k{i}: 1\n", f"{TOP}{ONE_STEP}x-wide:\n"),
    "wide list of numbers": lambda: _repeat("1,", f"{TOP}{ONE_STEP}x-wide: [", "1]\n"),
    "empty lists": lambda: _repeat("[],", f"{TOP}{ONE_STEP}x-wide: [", "1]\n"),
    "keys of one colon": lambda: _repeat("a{i}:\n", TOP),
    "anchors": _list("&a{i} x"),
    "aliases": _list("*a", "x-a: &a x\nx-list:\n"),
    "unknown aliases": _list("*b{i}"),
    "aliases that multiply": _laughs,
    "merges of one mapping": _merges,
    "merges that grow": _growing_merges,
    "merges of a wide mapping": _wide_merges,
    "merge of a long list": lambda: _repeat(
        "*m,", f"{TOP}{ONE_STEP}x-m: &m {{a: 1, b: 2, c: 3}}\nx-all:\n  <<: [", "*m]\n"
    ),
    "merges of text": _list("{<<: a}"),
    "one line of text": lambda: _repeat("word ", f"{TOP}{ONE_STEP}description: "),
    "one word": lambda: _repeat("a", f"{TOP}{ONE_STEP}description: "),
    "escapes": _scalar("description", "\\u00e9"),
    "folded text": lambda: _repeat("  word\n\n", f"{TOP}{ONE_STEP}description: >\n"),
    "blank lines": lambda: _repeat("\n", f"{TOP}{ONE_STEP}"),
    "comments": lambda: _repeat("# x\n", f"{TOP}{ONE_STEP}"),
    "empty documents": lambda: _repeat("---\n", f"{TOP}{ONE_STEP}"),
    "documents without a kind": lambda: _repeat("---\na: 1\n", f"{TOP}{ONE_STEP}"),
    "documents of one name": lambda: _repeat(f"---\n{TOP}{ONE_STEP}", ""),
    "documents of other names": lambda: _repeat("---\nkind: workflow\nname: w{i}\n" + ONE_STEP, ""),
    "a key twice": lambda: _repeat("x-a: 1\n", f"{TOP}{ONE_STEP}"),
    "a key twice, in one line": lambda: _repeat("a: 1, ", f"{TOP}{ONE_STEP}x-a: {{", "}\n"),
    "keys that are numbers": lambda: _repeat("{i}: 1\n", f"{TOP}{ONE_STEP}"),
    "keys that are lists": lambda: _repeat("? [a]\n: 1\n", f"{TOP}{ONE_STEP}"),
    "one long key": lambda: _repeat("k", TOP, ": 1\n"),
    "tags": _list("!tag x"),
    "tags in one line": lambda: _repeat("!tag x,", f"{TOP}{ONE_STEP}x-a: [", "]\n"),
    "directives": lambda: _repeat("%TAG !a{i}! tag:a\n", "", f"---\n{TOP}{ONE_STEP}"),
    "digits": lambda: _repeat("9", f"{TOP}{ONE_STEP}x-a: "),
    "hexadecimal digits": lambda: _repeat("f", f"{TOP}{ONE_STEP}x-a: 0x"),
    "numbers of 4,000 digits": _list("9" * 3_990),
    "hexadecimal numbers of 3,000 digits": _list(f"0x{'f' * 3_000}"),
    "numbers that are not finite": _list("1e999"),
    "digits behind the point": lambda: _repeat("0", f"{TOP}{ONE_STEP}x-a: 0.", "1\n"),
    "NUL characters": lambda: _repeat("\0", f"{TOP}{ONE_STEP}"),
    "byte order marks": lambda: _repeat("\ufeff", "", TOP, SIZE // 3),
    "bytes that are no text": lambda: TOP.encode() + b"\xff" * SIZE,
    "line ends of Windows": lambda: _repeat("a{i}: 1\r\n", TOP),
    "line ends of old": lambda: _repeat("a{i}: 1\r", TOP),
    "tabs": lambda: _repeat("\t", f"{TOP}{ONE_STEP}", "a: 1\n"),
    "wide characters": lambda: _repeat("\U0001f600{i}: 1\n", TOP, "", SIZE // 2),
    "combining characters": lambda: _repeat("e\u0301", f"{TOP}{ONE_STEP}bad", ": 1\n", SIZE // 2),
    "odd spaces before keys": lambda: _repeat("\u00a0a{i}: 1\n", f"{TOP}{ONE_STEP}"),
    "text that is not closed": lambda: _repeat("'a ", f"{TOP}{ONE_STEP}x-a: ["),
    "colons in one line": lambda: _repeat("a: ", f"{TOP}{ONE_STEP}x-a: "),
    # faults of the schema
    "unknown keys": _steps("{run: [x], nothing: 1}"),
    "misspelt keys": _steps("{run: [x], timout: 1}"),
    "keys of other tools": _steps("{run: [x], depends_on: a}"),
    "unknown keys at the top": lambda: _repeat("unknown{i}: 1\n", TOP),
    "unknown keys in one step": lambda: _repeat("    unknown{i}: 1\n", f"{STEPS}  a:\n    run: [x]\n"),
    "steps with nothing to run": _steps("{name: a}"),
    "steps that are nothing": _steps(""),
    "steps that are text": _steps("x"),
    "steps that are lists": _steps("[x]"),
    "steps with two things to run": _steps("{run: x, python: 'a:b'}"),
    "steps of a later version": _steps("{role: a, prompt: b}"),
    "values of a wrong type": _steps("{run: [x], env: 1, needs: {}, if: []}"),
    "bad ids": lambda: _repeat("  s.{i}: {run: [x]}\n"),
    "ids of 60 characters": lambda: _repeat(f"  {'s' * 50}{{i}}: {{run: [x]}}\n"),
    "ids that are too long": lambda: _repeat(f"  {'s' * 70}{{i}}: {{run: [x]}}\n"),
    "one long id": lambda: _repeat("s", f"{STEPS}  ", ": {run: [x]}\n"),
    "ids that differ by case": lambda: _repeat("  s{i}: {run: [x]}\n  S{i}: {run: [x]}\n"),
    "bad durations": _steps("{run: [x], timeout: 10 minutes}"),
    "bad failure classes": _steps("{run: [x], retry: {when: [never]}}"),
    "faults under an alias": lambda: _repeat(
        "  s{i}: *a\n", f"{TOP}x-a: &a {{run: 1, bad: 1, needs: {{}}}}\nsteps:\n"
    ),
    "faults in one line": _one_line_of_faults,
    "a fault in each item of one line": lambda: _repeat("[],", f"{STEPS}  a: {{run: [", "x]}\n"),
    "long duration": _scalar("timeout", "1"),
    "long duration of parts": _scalar("timeout", "1h30m"),
    "long path of blanks": _scalar("cwd", " "),
    "long condition of blanks": _scalar("if", " "),
    "long list of ids in text": _scalar("needs", "a, "),
    "long shell": _scalar("shell", "sh "),
    "long failure class": _scalar("allow_failure", "exit:1-"),
    "long name of a callable": lambda: _repeat("a.", f"{STEPS}  a: {{python: ", "a}\n"),
    "long name of a callable with colons": lambda: _repeat("a:", f"{STEPS}  a: {{python: '", "'}\n"),
    "long word for a type": lambda: _repeat("string ", f"{TOP}{ONE_STEP}inputs: {{a: {{type: '", "'}}\n"),
    "bait for a pattern of the author's": _bait_pattern,
    "baits for patterns of the author's": _bait_patterns,
    "variables": lambda: _repeat("  V{i}: 1\n", f"{TOP}{ONE_STEP}env:\n"),
    "bad names of variables": lambda: _repeat("  'V {i}': 1\n", f"{TOP}{ONE_STEP}env:\n"),
    "inputs": lambda: _repeat("  i{i}: {type: integer, default: 1}\n", f"{TOP}{ONE_STEP}inputs:\n"),
    "inputs with bad defaults": lambda: _repeat(
        "  i{i}: {type: integer, default: a}\n", f"{TOP}{ONE_STEP}inputs:\n"
    ),
    "an input with a long enum": lambda: _repeat(
        "a{i},", f"{TOP}{ONE_STEP}inputs: {{a: {{default: b, enum: [", "]}}\n"
    ),
    # the graph
    "many steps": _steps("{run: [x]}"),
    "steps of one key": lambda: _repeat("  s{i}: {run: x}\n"),
    "unknown needs": _steps("{run: [x], needs: none}"),
    "unknown needs of other names": _steps("{run: [x], needs: r{i}}"),
    "unknown needs in one step": lambda: _repeat(
        "n{i},", f"{STEPS}  b: {{run: [x]}}\n  a: {{run: [x], needs: [", "b]}\n"
    ),
    "unknown needs in one line": _one_line_of_unknown_needs,
    "one need again and again": lambda: _repeat(
        "b,", f"{STEPS}  b: {{run: [x]}}\n  a: {{run: [x], needs: [", "b]}\n"
    ),
    "steps that need themselves": _steps("{run: [x], needs: s{i}}"),
    "all need all": _complete_cycle,
    "all need all before": _complete_graph,
    "one long cycle": _long_cycle,
    "cycles of two": _pairs,
    # fan-out
    "one long axis": lambda: _repeat("{i},", f"{STEPS}  a: {{run: [x], matrix: {{a: [", "x]}}\n"),
    "one long axis of equal values": lambda: _repeat("1,", f"{STEPS}  a: {{run: [x], for_each: [", "1]}\n"),
    "for_each of 9,999": lambda: _repeat(
        "  x-{i}: a\n", f"{STEPS}  a: {{run: [x], for_each: [{'1,' * 9_999}]}}\n"
    ),
    "many axes": lambda: _repeat("a{i}: [1, 2],", f"{STEPS}  a: {{run: [x], matrix: {{", "}}\n"),
    "exclusions": _exclusions,
    "inclusions": _inclusions,
    "fan-outs of 10,000": _many_fan_outs,
    "joins of a fan-out": _chained_fan_outs,
    # expressions
    "expressions in one text": lambda: _repeat(
        "${{ inputs.x }}", f"{TOP}{INPUTS}steps: {{a: {{run: ['", "']}}\n"
    ),
    "expressions of one kind": _steps("{run: [x, '${{ run.id }}']}"),
    "expressions of all kinds": lambda: _repeat(
        "  s{i}: {run: [x, '${{ inputs.n + {i} }}']}\n", f"{TOP}{INPUTS}steps:\n"
    ),
    "expressions that are not closed": _scalar("name", "${{ "),
    "expressions that are not closed, in a list": lambda: _repeat(
        "'${{ inputs',", f"{STEPS}  a: {{run: [", "x]}\n"
    ),
    "openings in a condition": _expression("${{ "),
    "openings in a command": lambda: _repeat("${{ ", f"{STEPS}  a: {{run: ['", "']}\n"),
    "closings in a command": lambda: _repeat("}} ", f"{STEPS}  a: {{run: ['${{{{ ", "']}\n"),
    "quotes in a command": lambda: _repeat("${{ ''' }} ", f'{STEPS}  a: {{run: ["', '"]}\n'),
    "literal openings": lambda: _repeat("$${{ ", f"{STEPS}  a: {{run: ['", "']}\n"),
    "faulty expressions": _steps("{run: [x, '${{ 1 + }}']}"),
    "faulty expressions in one text": lambda: _repeat("${{ + }}", f"{STEPS}  a: {{run: ['", "']}\n"),
    "unknown names": _steps("{run: [x, '${{ input.x }}']}"),
    "unknown inputs": _unknown_inputs,
    "unknown steps": _steps("{run: [x, '${{ steps.r{i}.result }}']}"),
    "references upstream": _references_upstream,
    "references elsewhere": _references_elsewhere,
    "long dotted path": _expression(".a", "inputs.x"),
    "long dotted path with numbers": _expression("[0]", "inputs.x"),
    "long dotted path in a command": lambda: _repeat(
        ".a", f"{TOP}{INPUTS}steps: {{a: {{run: ['${{{{ inputs.x", " }}']}}\n"
    ),
    "parentheses": _expression("("),
    "parentheses that are closed": _expression("(", tail="1" + ")" * (SIZE // 2)),
    "brackets": _expression("["),
    "filters": _expression(" | upper", "inputs.x"),
    "filters with arguments": _expression(" | replace('a', 'b')", "inputs.x"),
    "unknown filters": _expression(" | uper", "inputs.x"),
    "sums": _expression(" + 1", "1"),
    "signs": _expression("-", tail="1"),
    "negations": _expression("not ", tail="true"),
    "comparisons": _expression(" == 1", "1"),
    "conjunctions": _expression(" and inputs.n == 1", "true"),
    "choices": _expression(" if true else 1", "1"),
    "long text in an expression": _expression("a", "'", "'"),
    "long number in an expression": _expression("9"),
    "long name in an expression": _expression("a"),
    "powers": _evaluated("9 ** 9 ** 9"),
    "products of text": _evaluated("('a' * 1000000000) == 'a'"),
    "replacements that grow": _evaluated(
        "'aaaaaaaaaaaaaaaa'" + " | replace('a', 'aaaaaaaaaaaaaaaa')" * 9 + " == 'a'"
    ),
    "deep JSON": lambda: _repeat(
        "[", f"{STEPS}  a:\n    run: [x]\n    env:\n      E: ${{{{ '", "' | from_json }}\n"
    ),
    # scripts
    "script of words": _script("word "),
    "script of lines": _script("true\n      "),
    "script of single quotes": _script("'"),
    "script of double quotes": _script('"'),
    "script of double quotes and spaces": _script('" "'),
    "script of both quotes": _script("'\"'\"\\"),
    "script of backslashes": _script("\\"),
    "script of substitutions": _script("$(true)"),
    "script of open substitutions": _script("$("),
    "script of substitutions in quotes": _script('"$('),
    "script of backticks": _script("`"),
    "script of escaped backticks": _script("`\\"),
    "script of parameters": _script("${a:-"),
    "script of arithmetic": _script("$(("),
    "script of subshells": _script("("),
    "script of braces": _script("{ "),
    "script of here-documents": _script("cat <<A\n      x\n      A\n      "),
    "script of open here-documents": _script("cat <<A{i}\n      "),
    "script of here-documents in one line": _script("<<A "),
    "script of cases": _script("case x in "),
    "script of closed cases": _script("case x in x) true;; esac\n      "),
    "script of loops": _script("for i in "),
    "script of conditions": _script("if true; then "),
    "script of pipes": _script("true | "),
    "script of redirections": _script("> x "),
    "script of comments": _script("# x\n      "),
    "script of programs that run code": _script("sh -c "),
    "script of assignments": _script("a=1 "),
    "script of functions": _script("f() {"),
    "script of double brackets": _script("[[ "),
    "script of expressions": _script("echo ${{ inputs.x }}\n      "),
    "script of expressions in one line": _script("${{ inputs.x }}"),
    "script of expressions in single quotes": _script("'${{ inputs.x }}'\n      "),
    "script of expressions for sh -c": _script("sh -c ${{ inputs.x }}\n      "),
    "script of expressions for eval": _script("eval ${{ inputs.x }}; "),
    "script of values a hop further on": _script("a{i}=${{ inputs.x }}; eval $a{i}\n      "),
    "scripts": _steps("{run: 'echo ${{ run.id }}'}"),
    "scripts with faults": _steps("{run: \"echo '${{ run.id }}'\"}"),
}
