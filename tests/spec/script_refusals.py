"""Scripts with an expression (`§`) where it cannot stand, by what is said about each."""

from __future__ import annotations

REFUSED = {
    "nothing is replaced within single quotes": (
        "use double quotes",
        [
            "say '§'",
            "say 'a \"§\"'",
            "say $'§'",
        ],
    ),
    'text in `$"..."` is translated, and then read again': (
        "write it without `$`",
        [
            'say $"§"',
        ],
    ),
    "a `\\` stands before the expression": (
        "remove it; a literal `${{` is written `$${{`",
        [
            "say \\§",
            'say "\\§"',
            "cat <<END\n\\§\nEND",
        ],
    ),
    "nothing is replaced in a here-document whose `END` is quoted": (
        "write the word behind `<<` without quotes, or put the value in `env:`",
        [
            "cat <<'END'\n§\nEND",
            'cat <<"END"\n§\nEND',
            "cat <<\\END\n§\nEND",
        ],
    ),
    "the word behind `<<` cannot be an expression": (
        "choose a fixed word, such as `END`",
        [
            "cat <<§\n§",
        ],
    ),
    "what stands here cannot be read for certain, so the value might be read as code": (
        'put the value in `env:` and write "$NAME"',
        [
            "cat <<END\n${x#§}\nEND",
            "[ § § ]",
            "test § §",
            '$SHELL -c "§"',
            "$run §",
            '"$@" §',
            "$'\\x65val' §",
            "/bin/s? -c §",
            "{sh,-c} §",
            "say ${!x§}",
            "say ${x/§/b}",
            "say ${x^§}",
            'say "${x:-"§"}"',
            "say \"${x:-'§'}\"",
            "say @(§|b)",
            "say !(§)",
            "say $[ § ]",
            'say "§',
            "say $(say §",
            "say § )",
            "case § in a) say",
            "if true; then say §",
            'say "${x §"',
            "say $\\\n(say §)",
            "say a; } ; say §",
            "esac; say §",
            "case x in §",
        ],
    ),
    "the value would name the program to run": (
        'put the value in `env:` and write "$NAME", or use a `run:` list',
        [
            "§",
            "§ say",
            "./§/run",
            "a§b",
            "x=1 § say",
            "if §; then say; fi",
            "$(printf %s §) a",
            "`printf %s §`",
            "§=1",
            "env §",
            "timeout 5 §",
            "nice -n 5 §",
            "exec §",
            "exec -a x §",
            "command §",
            "xargs §",
            "xargs -n 1 §",
            "find . -exec § \\;",
            "kubectl exec p -- §",
            "coproc §",
            "time §",
            "! §",
            "say a &&\n§",
        ],
    ),
    "the value would be read as a name": (
        "write the name into the script, and only values as expressions",
        [
            "§() { say; }",
            "function § { say; }",
            "for § in a; do say; done",
            "[[ -v § ]]",
            "[ -v § ]",
            "declare -n n=§",
            "declare §",
            "declare a[§]=1",
            "local §",
            "export §",
            "readonly §",
            "unset §",
            "unset a[§]",
            "read §",
            "read -r x §",
            "mapfile §",
            "getopts ab §",
            "printf -v § a",
            "say ${§}",
            "say ${x§}",
            "select § in a; do :; done",
            "printf -va[§] x",
        ],
    ),
    "arithmetic needs an integer, and this value could be anything": (
        "declare it as `integer`",
        [
            "say $((§))",
            "say $((1 + a[§]))",
            "((§))",
            "say ${x:§}",
        ],
    ),
    "what this prints is computed, and the value could be anything": (
        "assign it to a variable first, and check it",
        [
            "say $(( $(cat §) ))",
            "say $((${x:-§}))",
            "say $(( 1 + $(say §) ))",
        ],
    ),
    "`let` needs an integer, and this value could be anything": (
        "declare it as `integer`",
        [
            "let x=§",
            'let "x = § + 1"',
        ],
    ),
    "the index of a list is computed, and this value could be anything": (
        "declare it as `integer`",
        [
            "say ${a[§]}",
            "a[§]=1",
            "a=([§]=1)",
            "[[ a =\n ${x[§]} ]]",
            "a+=([§]=1)",
            "x=${a[§]}",
        ],
    ),
    "`[` needs an integer, and this value could be anything": (
        "declare it as `integer`",
        [
            "[ § -eq 1 ]",
        ],
    ),
    "`test` needs an integer, and this value could be anything": (
        "declare it as `integer`",
        [
            "test 1 -lt §",
        ],
    ),
    "`[[` needs an integer, and this value could be anything": (
        "declare it as `integer`",
        [
            "[[ 1 -le § ]]",
            "[ $(say §) -eq 1 ] && [[ $(say §) -eq 1 ]]",
        ],
    ),
    "`n` is computed or run as code in this script, and this value could be anything": (
        "declare it as `integer`, or use another variable",
        [
            "n=§; say $((n + 1))",
            "n=§; say ${a[n]}",
            "n=§; (( n++ ))",
            "export n=§; let n+=1",
            "declare -i n; n=§",
            'n=§; eval "say $n"',
            'n=§; sh -c "say $n"',
            "n=§; cat <<END\n$((n))\nEND",
            "n=§; case $n in a) let n+=1;; esac",
            'n=§; "$n" a',
            "n=§; exec $n a",
            'n=§; sudo "$n"',
        ],
    ),
    "`declare` needs an integer, and this value could be anything": (
        "declare it as `integer`",
        [
            "declare -i n=§",
        ],
    ),
    "`printf` would read the value for `%` and `\\`": (
        "write `printf '%s\\n'` and the value behind it",
        [
            "printf §",
            'printf "§ %s" a',
            "printf -- §",
            "printf $FORMAT §",
        ],
    ),
    "`eval` would read the value as code": (
        'put the value in `env:` and write "$NAME"',
        [
            "eval §",
            'eval "say §"',
            'eval say "$(say §)"',
            'command eval "§"',
            "builtin eval §",
            'x=$(eval "§")',
            "for i in 1; do eval §; done",
            'function f { eval "§"; }',
        ],
    ),
    "`trap` would read the value as code": (
        'put the value in `env:` and write "$NAME"',
        [
            "trap § EXIT",
            'trap "say §" EXIT',
        ],
    ),
    "`source` would read the value as code": (
        "write the name of the file into the script",
        [
            "source §",
        ],
    ),
    "`.` would read the value as code": (
        "write the name of the file into the script",
        [
            ". §",
            ". ./x§",
            ". <(say §)",
            ". $FILE §",
        ],
    ),
    "`alias` would read the value as code": (
        'put the value in `env:` and write "$NAME"',
        [
            "alias x=§",
        ],
    ),
    "`alias` changes how the rest of the script is read": (
        "use a function instead of the alias",
        [
            "alias x=y; say §",
        ],
    ),
    "`sh` would read the value as code": (
        "give it as an argument: `sh -c '... \"$1\"' sh ${{ ... }}`",
        [
            "sh -c §",
            'sh -c "say §"',
            "sh -c say§",
            'sh -ec "§"',
            'sh -e -c "§"',
            '/bin/sh -c "§"',
            '"sh" -c "§"',
            's"h" -c "§"',
            '\\sh -c "§"',
            'busybox sh -c "§"',
            "sh §",
            "sh -x §",
            "sh <(say §)",
            'sudo sh -c "§"',
            'sudo -u x sh -c "§"',
            'env sh -c "§"',
            'env X=1 sh -c "§"',
            'timeout 5 sh -c "§"',
            'timeout -s KILL 5 sh -c "§"',
            'nohup sh -c "§" &',
            'xargs sh -c "§"',
            'find . -exec sh -c "§" \\;',
            'docker exec c sh -c "§"',
            'kubectl exec p -- sh -c "§"',
            'nsenter -t 1 sh -c "§"',
            'say "$(sh -c "§")"',
            'if sh -c "§"; then :; fi',
        ],
    ),
    "`bash` would read the value as code": (
        "give it as an argument: `bash -c '... \"$1\"' bash ${{ ... }}`",
        [
            'bash -o pipefail -c "§"',
            'bash5.2 -c "§"',
            'docker run --rm i bash -lc "§"',
            'bash $OPTS -c "§"',
            "bash $OPTS §",
            "bash -c $CODE §",
        ],
    ),
    "`zsh` would read the value as code": (
        "give it as an argument: `zsh -c '... \"$1\"' zsh ${{ ... }}`",
        [
            'zsh -c "§"',
        ],
    ),
    "`sh` would read the value as code, from its standard input": (
        "give it as an argument: `sh -c '... \"$1\"' sh ${{ ... }}`",
        [
            "sh -s < §",
            "sh < §",
            "sh <<END\nsay §\nEND",
            "sh <<< §",
            'sh <<< "say §"',
            "cat <<END | sh\n§\nEND",
            "cat <<END |\n§\nEND\nsh",
            "say § | sh",
            "say § | tee x | sh -s",
            "say § | sudo sh",
            "say § | (cat; sh)",
            "{ say §; } | sh",
            "if true; then say §; fi | sh",
            "(say §) | sh",
            "say § | { sh; }",
            "{ sh; } <<END\n§\nEND",
            'say "$x" | sh; say § | sh',
            "say § | while read -r x; do sh; done",
            "while true; do sh; done < §",
            "sh $OPTS <<END\n§\nEND",
            "sh $OPTS <<< §",
        ],
    ),
    "`awk` would read the value as code": (
        'put the value in `env:` and read `ENVIRON["NAME"]`',
        [
            'awk "{ print § }"',
            "awk -v x=§ '{ print x }'",
            "awk -f §",
            'gawk "§"',
        ],
    ),
    "`sed` would read the value as code": (
        'put the value in `env:` and use `awk` with `ENVIRON["NAME"]`',
        [
            'sed "s/a/§/"',
            'sed -e "s/a/§/" f',
            'sed -n -e a -e "§" f',
        ],
    ),
    "`sed` could read the value as an option": (
        "write `--` before it",
        [
            "sed s/a/b/ §",
        ],
    ),
    "`perl` would read the value as code": (
        'put the value in `env:` and read `$ENV{"NAME"}`',
        [
            'perl -e "§"',
            'perl -ne "§"',
        ],
    ),
    "`ruby` would read the value as code": (
        'put the value in `env:` and read `ENV["NAME"]`',
        [
            'ruby -e "§"',
        ],
    ),
    "`node` would read the value as code": (
        "put the value in `env:` and read `process.env.NAME`",
        [
            'node -e "§"',
            'node --eval "§"',
            "node --eval=§",
        ],
    ),
    "`python` would read the value as code": (
        "put the value in `env:` and read `os.environ`, or give it behind the code and read `sys.argv`",
        [
            'python -c "§"',
            "python3.11 -c \"print('§')\"",
            "python3 -c §",
            "python3 §",
            'python3 $OPTS -c "§"',
        ],
    ),
    "`python` would read the value as code, from its standard input": (
        "put the value in `env:` and read `os.environ`, or give it behind the code and read `sys.argv`",
        [
            "python3 - <<END\n§\nEND",
            "python3 <<END\n§\nEND",
        ],
    ),
    "`php` would read the value as code": (
        "give it as an argument behind the code, or put it in `env:`, and use it there as data",
        [
            'php -r "§"',
        ],
    ),
    "`lua` would read the value as code": (
        "give it as an argument behind the code, or put it in `env:`, and use it there as data",
        [
            'lua -e "§"',
        ],
    ),
    "`jq` would read the value as code": (
        "write `jq --arg name ${{ ... }}` and use `$name` in the filter",
        [
            'jq ".x == \\"§\\""',
            'jq -n "§"',
        ],
    ),
    "`psql` would read the value as code": (
        "write `psql -v name=${{ ... }}` and use `:'name'` in the statement",
        [
            "psql -c \"select '§'\"",
        ],
    ),
    "`psql` would read the value as code, from its standard input": (
        "write `psql -v name=${{ ... }}` and use `:'name'` in the statement",
        [
            "psql <<END\nselect '§'\nEND",
        ],
    ),
    "`sqlite3` would read the value as code": (
        "give it as an argument behind the code, or put it in `env:`, and use it there as data",
        [
            'sqlite3 db "§"',
        ],
    ),
    "`ssh` would read the value as code": (
        "send the value on standard input: `printf '%s' ${{ ... }} | ssh ...`",
        [
            "ssh host say §",
            'ssh host "say §"',
            "ssh § say",
            "ssh -o § host",
        ],
    ),
    "`ssh` would read the value as code, from its standard input": (
        "send the value on standard input: `printf '%s' ${{ ... }} | ssh ...`",
        [
            "ssh host <<END\n§\nEND",
            "ssh host bash -s <<END\n§\nEND",
        ],
    ),
    "`su` would read the value as code": (
        "give it as an argument behind the code, or put it in `env:`, and use it there as data",
        [
            'su -c "§"',
        ],
    ),
    "`env` would read the value as code": (
        "give it as an argument behind the code, or put it in `env:`, and use it there as data",
        [
            'env -S "§"',
            'env -S"§"',
        ],
    ),
    "`xargs` would read the value as code, from its standard input": (
        "give it as an argument behind the code, or put it in `env:`, and use it there as data",
        [
            "say § | xargs -I{} sh -c 'say {}'",
        ],
    ),
    "`find` would read the value as code": (
        "give it as an argument behind the code, or put it in `env:`, and use it there as data",
        [
            "find § -exec sh -c 'cat {}' \\;",
        ],
    ),
    "`parallel` would read the value as code": (
        "give it as an argument behind the code, or put it in `env:`, and use it there as data",
        [
            "parallel §",
        ],
    ),
    "`watch` would read the value as code": (
        "give it as an argument behind the code, or put it in `env:`, and use it there as data",
        [
            'watch "§"',
        ],
    ),
    "`make` would read the value as code": (
        "put the value in `env:` and read it in the recipe as `$$NAME`",
        [
            "make X=§",
        ],
    ),
    "`git` would read the value as code": (
        "give it as an argument behind the code, or put it in `env:`, and use it there as data",
        [
            'git rebase --exec "§"',
            'git filter-branch --tree-filter "§"',
        ],
    ),
    "`exit` needs an integer, and this value could be anything": (
        "declare it as `integer`",
        [
            "exit §",
        ],
    ),
    "`return` needs an integer, and this value could be anything": (
        "declare it as `integer`",
        [
            "return §",
        ],
    ),
    "shells read `PS4` as code": (
        "choose another variable",
        [
            "PS4=§",
        ],
    ),
    "shells read `BASH_ENV` as code": (
        "choose another variable",
        [
            "BASH_ENV=§ sh x",
        ],
    ),
    "the value would be read as the number of a file": (
        "write the number, or put a space before `>`",
        [
            "say >&§",
            "say §>file",
            "exec {fd}>&§",
            "say <&§",
            "{fd}>&§",
        ],
    ),
    "quotes within backquotes cannot be read for certain": (
        "write `$( )` instead of the backquotes",
        [
            'say `say "\\`§\\`"`',
            'say "`say §`"',
            "./run.sh <<END\n`say §`\nEND",
        ],
    ),
    "`wait` needs an integer, and this value could be anything": (
        "declare it as `integer`",
        [
            "wait §",
        ],
    ),
    "`set` could read the value as an option": (
        "write `--` before it",
        [
            "set §",
        ],
    ),
    "`complete` would read the value as code": (
        "give it as an argument behind the code, or put it in `env:`, and use it there as data",
        [
            "complete -C § x",
        ],
    ),
    "`$1` is computed or run as code in this script, and this value could be anything": (
        "declare it as `integer`, or use another variable",
        [
            "f() { say $(($1)); }; f §",
            "set -- §; say $(($1))",
        ],
    ),
    "`x` is computed or run as code in this script, and this value could be anything": (
        "declare it as `integer`, or use another variable",
        [
            "x=§; say `say $((x))`",
        ],
    ),
    "`tar` would read the value as code": (
        "give it as an argument behind the code, or put it in `env:`, and use it there as data",
        [
            "tar -I § -xf x",
        ],
    ),
    "`rsync` would read the value as code": (
        "give it as an argument behind the code, or put it in `env:`, and use it there as data",
        [
            'rsync -e "§" a b',
        ],
    ),
    "`flock` would read the value as code": (
        "give it as an argument behind the code, or put it in `env:`, and use it there as data",
        [
            'flock x -c "§"',
        ],
    ),
    "`crontab` would read the value as code, from its standard input": (
        "give it as an argument behind the code, or put it in `env:`, and use it there as data",
        [
            "crontab - <<END\n§\nEND",
        ],
    ),
    "`mysql` would read the value as code": (
        "give it as an argument behind the code, or put it in `env:`, and use it there as data",
        [
            'mysql -e "§"',
        ],
    ),
    "`node` would read the value as code, from its standard input": (
        "put the value in `env:` and read `process.env.NAME`",
        [
            "node <<END\n§\nEND",
        ],
    ),
    "`pwsh` would read the value as code": (
        "give it as an argument behind the code, or put it in `env:`, and use it there as data",
        [
            'pwsh -Command "§"',
        ],
    ),
    "`bash` would read the value as code, from its standard input": (
        "give it as an argument: `bash -c '... \"$1\"' bash ${{ ... }}`",
        [
            "say § | bash $OPTS",
        ],
    ),
}
