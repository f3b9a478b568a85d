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
            "coproc §",
            "coproc § { eval §; }",
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
            "say § > >(sh)",
            "tee >(sh) <<< §",
            'C=(bash -c); "${C[@]}" §',
            'e=eval; "$e" §',
            "env m=§ sh -c 'say $((m))'",
            "sh -c 'eval \"$1\"' sh §",
            "bash -c 'say $(($1))' bash §",
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
            "n=§; m=$n; say $((m))",
            "n=§; m=n; say $((m))",
            "read n <<< §; [[ $n -eq 3 ]]",
            "printf -v n %s §; say $((n))",
            "read n <<EOF\n§\nEOF\nsay $((n))",
            ': ${n:=§}; eval "$n"',
            'n=§; a=("$n"); say $((a))',
            'n=§; a=("$n"); "${a[@]}"',
            "n=§\nsh <<EOF\nsay $n\nEOF",
            'n=§; say "say $n" | sh',
            "n=§; say ${!n}",
            "n=§; say ${n@P}",
            "n=§; PS4=$n; set -x",
            "n=§; [[ -v $n ]]",
            'n=§; [ -v "$n" ]',
            'n=§; read "$n"',
            'n=§; declare "$n=1"',
            'n=§; printf -v "$n" x',
            "n=§; BASH_ENV=$n bash -c :",
            "n=§; env BASH_ENV=$n bash -c :",
            "f(){ say §; }; n=$(f); say $((n))",
            "n=§; eval 'eval $n'",
            "export n=§; bash -c 'say $((n))'",
            'n=§; f(){ sh; }; say "$n" | f',
            'n=§; f(){ sh; }; f <<< "$n"',
            'n=§; sh <<< "$n"',
            'n=§; unset "$n"',
            "n=§; readonly m=$n; ((m))",
            "say § | { read n; say $((n)); }",
            "n=§; say ${x[$n]}",
            "n=§; say ${x:n}",
            "n=§; case x in a) say $((n));; esac",
            'n=§; say "$(( n ))"',
            "n=§; for ((i=0;i<n;i++)); do :; done",
            "n=§; trap 'eval $n' EXIT",
            'n=§; say "$(eval "$n")"',
            "n=§; say `eval $n`",
            "n=§; let m=n",
            'n=§; let "m=$n"',
            "n=§; bash <(say $n)",
            "n=§; . <(say $n)",
            "n=§; test -v $n",
            'n=§; export m=$n; eval "$m"',
            "n=§; env m=$n bash -c 'eval \"$m\"'",
            'say § > f; n=$(<f); eval "$n"',
            "say § > f; n=$(cat f); say $((n))",
            "read n < <(say §); say $((n))",
            "n=§; printf '%d' $((n))",
            "n=§; a[n]=1",
            "n=§; [ $((n)) -gt 1 ]",
            "n=§; unset a[$n]",
            "n=§; declare -i m=$n",
            "n=§; integer m=$n",
            "n=§ m=$n; ((m))",
            "n=§; say ${m:-$((n))}",
            'n=§; say "${a[$n]}"',
            'n=§; python3 -c "$n"',
            'n=§; psql -c "$n"',
            'n=§; ssh h "$n"',
            'n=§; awk "$n"',
            'n=§; jq "$n"',
            "n=§; find . -exec $n \\;",
            "n=§; make X=$n",
            'n=§; sed "s/a/$n/"',
            "n=§; tar -I $n",
            "n=§; xargs $n",
            'n=§; docker exec c sh -c "$n"',
            "n=§; split --filter=$n",
            "n=§; perl -e$n",
            "n=§; bash -c$n",
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
            "n=§; alias x=$n",
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
            'sh -c "$(cat <<EOF\n§\nEOF\n)"',
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
            "bash -eoc pipefail §",
            "bash -ceo pipefail §",
            "bash <(say §)",
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
            "say § | $(which sh)",
            "say § | tee >(sh)",
            "f(){ say §; }; f | sh",
            "f(){ sh; }; say § | f",
            "f(){ sh; }; f <<EOF\n§\nEOF",
            "sh -c 'sh' <<EOF\n§\nEOF",
            "sh -c '$0' sh <<EOF\n§\nEOF",
            'say § | while read l; do sh -c "$l"; done',
            "say § | sh -s -",
            "say § | docker exec -i c sh",
            "time say § | sh",
            "! say § | sh",
            "say § | tee a >(sh)",
            "cat <(say §) | sh",
            "say § | env -i sh",
            "busybox sh <<< §",
            "say § | (sh)",
            "( sh ) <<< §",
            "if sh; then :; fi <<< §",
            "until sh; do :; done <<EOF\n§\nEOF",
            "say § | if true; then sh; fi",
            "function f { sh; }; say § | f",
            "f() { cat | sh; }; say § | f",
            "f() (sh); f <<< §",
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
            "python3 -m timeit §",
        ],
    ),
    "`python` would read the value as code, from its standard input": (
        "put the value in `env:` and read `os.environ`, or give it behind the code and read `sys.argv`",
        [
            "python3 - <<END\n§\nEND",
            "python3 <<END\n§\nEND",
            "python3 /dev/fd/0 <<EOF\n§\nEOF",
            "python3 <<< §",
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
            "say § | ssh h",
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
            "printf %s § | xargs -0 bash -c",
            "xargs -I{} sh -c {} <<< §",
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
            "git -c core.sshCommand=§ fetch",
            "git -c alias.x=§ x",
            "git config core.pager §",
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
            'env "BASH_ENV=§" bash -c :',
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
            "f(){ local v=$1; say $((v)); }; f §",
            "set -- §; m=$1; say $((m))",
            'f(){ g "$1"; }; g(){ say $(($1)); }; f §',
            'f(){ set -- "$1"; shift 0; eval "$1"; }; f §',
            'f(){ bash -c "$1"; }; f §',
            "f(){ $1; }; f §",
        ],
    ),
    "`x` is computed or run as code in this script, and this value could be anything": (
        "declare it as `integer`, or use another variable",
        [
            "x=§; say `say $((x))`",
            'x=§; f=$x; . "$f"',
            "select x in §; do eval $x; done",
            'x="$(say §)"; eval "$x"',
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
            "say § | crontab",
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
            "bash /proc/self/fd/0 <<EOF\n§\nEOF",
            "bash /dev/fd/3 3<<< §",
            "say § | bash /dev/stdin",
            "say § | env bash",
            "say § | command bash",
            "say § | sudo -u x bash",
            "bash < <(say §)",
            "say § | bash -",
        ],
    ),
    "`awk` would read the value as code, from its standard input": (
        'put the value in `env:` and read `ENVIRON["NAME"]`',
        [
            "awk -f - <<EOF\n§\nEOF",
            "awk -f- x <<EOF\n§\nEOF",
        ],
    ),
    "`make` would read the value as code, from its standard input": (
        "put the value in `env:` and read it in the recipe as `$$NAME`",
        [
            "make -f - <<EOF\n§\nEOF",
        ],
    ),
    "`source` would read the value as code, from its standard input": (
        "write the name of the file into the script",
        [
            "source /dev/stdin <<< §",
        ],
    ),
    "`.` would read the value as code, from its standard input": (
        "write the name of the file into the script",
        [
            ". /dev/fd/0 <<EOF\n§\nEOF",
            "say § | . /dev/stdin",
        ],
    ),
    "`exec` would read the value as code, from its standard input": (
        "give it as an argument behind the code, or put it in `env:`, and use it there as data",
        [
            "exec <<EOF\n§\nEOF",
            "exec 3<<EOF\n§\nEOF",
        ],
    ),
    "`the command` would read the value as code, from its standard input": (
        "give it as an argument behind the code, or put it in `env:`, and use it there as data",
        [
            'say § | "$BASH"',
            "say § | $SHELL",
            "say § | ${SHELL:-sh}",
        ],
    ),
    "shells read `ENV` as code": (
        "choose another variable",
        [
            "env ENV=§ sh -ic :",
        ],
    ),
    "shells read `GIT_SSH_COMMAND` as code": (
        "choose another variable",
        [
            "GIT_SSH_COMMAND=§ git fetch",
        ],
    ),
    "shells read `IFS` as code": (
        "choose another variable",
        [
            "IFS=§",
        ],
    ),
    "shells read `PATH` as code": (
        "choose another variable",
        [
            "export PATH=§",
        ],
    ),
    "`split` would read the value as code": (
        "give it as an argument behind the code, or put it in `env:`, and use it there as data",
        [
            "split --filter=§ x",
            "split --filter § x",
        ],
    ),
    "`scp` would read the value as code": (
        "give it as an argument behind the code, or put it in `env:`, and use it there as data",
        [
            "scp -o ProxyCommand=§ a b",
            "scp -oProxyCommand=§ a b",
        ],
    ),
    "`sftp` would read the value as code": (
        "give it as an argument behind the code, or put it in `env:`, and use it there as data",
        [
            "sftp -o ProxyCommand=§ a",
        ],
    ),
    "`sg` would read the value as code": (
        "give it as an argument behind the code, or put it in `env:`, and use it there as data",
        [
            "sg root -c §",
        ],
    ),
    "`capsh` would read the value as code": (
        "give it as an argument behind the code, or put it in `env:`, and use it there as data",
        [
            "capsh -- -c §",
        ],
    ),
    "`newgrp` would read the value as code, from its standard input": (
        "give it as an argument behind the code, or put it in `env:`, and use it there as data",
        [
            "newgrp <<< §",
        ],
    ),
    "`zip` would read the value as code": (
        "give it as an argument behind the code, or put it in `env:`, and use it there as data",
        [
            "zip -TT §",
        ],
    ),
    "`ed` would read the value as code, from its standard input": (
        "give it as an argument behind the code, or put it in `env:`, and use it there as data",
        [
            'ed f <<< "!§"',
        ],
    ),
    "`a` is computed or run as code in this script, and this value could be anything": (
        "declare it as `integer`, or use another variable",
        [
            "mapfile a <<< §; say $((a))",
            "IFS=, read -ra a <<< §; say ${x[a]}",
            'say § > f; mapfile a < f; eval "${a[@]}"',
        ],
    ),
    "`i` is computed or run as code in this script, and this value could be anything": (
        "declare it as `integer`, or use another variable",
        [
            'for i in §; do eval "$i"; done',
        ],
    ),
    "`@` is computed or run as code in this script, and this value could be anything": (
        "declare it as `integer`, or use another variable",
        [
            "f(){ local -i v=$1; }; f §",
        ],
    ),
    "`_` is computed or run as code in this script, and this value could be anything": (
        "declare it as `integer`, or use another variable",
        [
            ': §; eval "$_"',
        ],
    ),
    "`s.sh` would hold the value, and this script may run it as code": (
        'put the value in `env:` and write "$NAME"',
        [
            "cat > s.sh <<EOF\n§\nEOF\nsh s.sh",
            "cat > s.sh <<EOF\n§\nEOF\n. ./s.sh",
            "cat <<EOF > s.sh\n§\nEOF\npython3 s.sh",
            "sh s.sh\nsay § > s.sh",
            "tee s.sh <<EOF\n§\nEOF\nsh s.sh",
        ],
    ),
    "`f` would hold the value, and this script may run it as code": (
        'put the value in `env:` and write "$NAME"',
        [
            "say § > f; . ./f",
            "say § > f; sh < f",
            "say § >> f; sh f",
            "{ say §; } > f; sh f",
            "say § | tee f; sh f",
            "say § | cat > f; chmod +x f; ./f",
            "n=§; say $n > f; sh f",
            "say § > f; cat f | sh",
            'eval "$(cat f)"; say § > f',
            "say § >f;bash<f",
            "say § 1> f; sh f",
            "say § &> f; sh f",
            "say § | sponge f; sh f",
            "say § > d/f; cd d; sh f",
        ],
    ),
    "`g` would hold the value, and this script may run it as code": (
        'put the value in `env:` and write "$NAME"',
        [
            "f(){ say §; }; f > g; sh g",
            "say § > f; cp f g; sh g",
        ],
    ),
    "`$f` would hold the value, and this script may run it as code": (
        'put the value in `env:` and write "$NAME"',
        [
            'say § > "$f"; . "$f"',
        ],
    ),
    "`Makefile` would hold the value, and this script may run it as code": (
        'put the value in `env:` and write "$NAME"',
        [
            "say § > Makefile; make",
        ],
    ),
    "`l` is computed or run as code in this script, and this value could be anything": (
        "declare it as `integer`, or use another variable",
        [
            'while read -r l; do eval "$l"; done <<< §',
        ],
    ),
    "`OPTARG` is computed or run as code in this script, and this value could be anything": (
        "declare it as `integer`, or use another variable",
        [
            'getopts "a:" o -a§; eval $OPTARG',
        ],
    ),
    "`b` would hold the value, and this script may run it as code": (
        'put the value in `env:` and write "$NAME"',
        [
            "say § > a; mv a b; sh b",
        ],
    ),
    "`m` is computed or run as code in this script, and this value could be anything": (
        "declare it as `integer`, or use another variable",
        [
            "m=§ bash -c 'eval \"$m\"'",
            "say ${m:=$(say §)}; eval $m",
        ],
    ),
    "`$@` is computed or run as code in this script, and this value could be anything": (
        "declare it as `integer`, or use another variable",
        [
            'f(){ "$@"; }; f §',
            'f(){ sudo "$@"; }; f §',
        ],
    ),
    "`$*` is computed or run as code in this script, and this value could be anything": (
        "declare it as `integer`, or use another variable",
        [
            'f(){ eval "$*"; }; f §',
        ],
    ),
    "`.bashrc` would hold the value, and this script may run it as code": (
        'put the value in `env:` and write "$NAME"',
        [
            "say § >> ~/.bashrc; bash -lc x",
        ],
    ),
    "`at` would read the value as code, from its standard input": (
        "give it as an argument behind the code, or put it in `env:`, and use it there as data",
        [
            "say § | at now",
        ],
    ),
    "`tee` would hold the value, and this script may run it as code": (
        'put the value in `env:` and write "$NAME"',
        [
            "say § | sudo tee f; bash f",
        ],
    ),
    "`parallel` would read the value as code, from its standard input": (
        "give it as an argument behind the code, or put it in `env:`, and use it there as data",
        [
            "say § | parallel",
        ],
    ),
}
