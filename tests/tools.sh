#!/bin/sh
# The project's own tools: the golden runner and lint must see what is wrong, and only that.
. tests/common
plain_only tools

# check NAME EXPECTED ACTUAL
check() {
	if [ "$2" = "$3" ]; then
		pass
	else
		lose "$1"
		printf 'expected: %s\nsaw: %s\n' "$2" "$3"
	fi
}

# A command that prints its arguments and input; the argument "bad" makes it fail with 3.
cat >"$tmp/tw" <<'END'
#!/bin/sh
for a; do
	[ "$a" = bad ] && { echo "in.t:1: bad" >&2; exit 3; }
	[ "$a" = files ] && { ls "$2"; exit; }
	echo "arg $a"
done
cat
END
chmod +x "$tmp/tw"

# golden NAME SUMMARY: run the test on standard input
golden() {
	cat >"$tmp/t.t"
	check "$1" "$2" "$(TILEWRIGHT=$tmp/tw tests/run "$tmp/t.t" 2>&1 | tail -n 1)"
}
ok="1 passed, 0 failed, 0 skipped"
no="0 passed, 1 failed, 0 skipped"

golden "equal output passes" "$ok" <<'END'
# a comment
-- args
x 'a b'
-- in
hello
-- out
arg x
arg a b
arg -
hello
END
golden "different output fails" "$no" <<'END'
-- args
x
-- out
arg y
END
golden "a missing last line fails" "$no" <<'END'
-- args
x y
-- out
arg x
END
golden "lines in order pass" "$ok" <<'END'
-- args
one two three
-- has
one
three
END
golden "lines out of order fail" "$no" <<'END'
-- args
one two three
-- has
three
one
END
golden "an expected error passes" "$ok" <<'END'
-- args
bad
-- err
in.t:1: bad
-- exit
3
END
golden "another exit code fails" "$no" <<'END'
-- args
bad
-- exit
4
END
golden "another message fails" "$no" <<'END'
-- args
bad
-- err
in.t:2: bad
END
golden "an unexpected error fails" "$no" <<'END'
-- args
bad
END
golden "success where an error is expected fails" "$no" <<'END'
-- args
x
-- err
END
golden "what is needed and missing skips" "0 passed, 0 failed, 1 skipped" <<'END'
-- needs
test -e /nonexistent
-- args
bad
END
golden "there is an empty folder" "$ok" <<'END'
-- args
files $T
-- out
END

cat >"$tmp/t.t" <<'END'
# kept
-- args
x
-- out
old
-- exit
0
END
TILEWRIGHT=$tmp/tw tests/run -a "$tmp/t.t" >/dev/null
check "accepting rewrites the output only" "$(printf '# kept\n-- args\nx\n-- out\narg x\n-- exit\n0')" \
	"$(cat "$tmp/t.t")"

# The debugger prints nodes of the three IRs.
cat >"$tmp/g.txt" <<'END'
graph g(%x: f32[N,8]) -> %y { %y = Relu(%x)  "act" }
END
# debug WORDS-OF-PRINT FUNCTION EXPRESSION...    at the first call of the function
debug() {
	words=$1 function=$2
	shift 2
	printf 'source tools/gdb.py\nset confirm off\ntbreak %s\nrun\n' "$function" >"$tmp/commands"
	printf 'debug %s\n' "$@" >>"$tmp/commands"
	# shellcheck disable=SC2086  # words
	gdb -batch -x "$tmp/commands" --args "$tw" print $words "$tmp/g.txt" 2>&1 |
		sed '1,/^Temporary breakpoint 1, /d; /^[0-9]*\t/d'
}
if has gdb; then
	check "a graph, a node, a value, an extent for the debugger" \
		'graph g(%x: f32[N,8]) -> %y {
  %y: f32[N,8] = Relu(%x)  "act"
}
%y: f32[N,8] = Relu(%x)  "act"
%x: f32[N,8]
f32[N,8]
N' "$(debug -O0 graph_print graph "graph->body->first" '*graph->body->params[0]' \
			'graph->body->params[0]->type' 'graph->body->params[0]->type.dims[0]')"
	check "a program, a stage, a scalar for the debugger" \
		'expr Relu(x: f32[N,8]) -> y {
  y[i0:N, i1:8]: f32 = max(x[i0, i1], 0)
}
y[i0:N, i1:8]: f32 = max(x[i0, i1], 0)
max(x[i0, i1], 0)' "$(debug --meaning program_print program '*program->stages[0]' 'program->stages[0]->body[0]')"
	check "a kernel and a statement for the debugger" \
		'kernel k0_act(N, x: f32[N*8], y: out f32[N*8]) flat "act" {
  for i0 in N*8 @vector
    y[i0] = max(x[i0], 0)
}
for i0 in N*8 @vector
  y[i0] = max(x[i0], 0)' "$(debug "-O0 --target cpu:x86-64-v3 --lower" kernel_print kernel "kernel->body")"
	check "what the debugger cannot print" 'debug: expected one of Graph, Node, Value, Type, Expr, Stage, Program, Stmt, Kernel, saw Buf *' \
		"$(debug -O0 graph_print buf | sed 1d)"
else
	skip 4 gdb
fi

# tools/test adds up and fails when a part fails.
suite="tools/test -u"
cat >"$tmp/unit" <<'END'
#!/bin/sh
echo "50%: Checks: 4, Failures: 1, Errors: 1"; exit 1
END
cat >"$tmp/dies" <<'END'
#!/bin/sh
kill -SEGV $$
END
chmod +x "$tmp/unit" "$tmp/dies"
check "unit tests are counted" "2 passed, 2 failed, 0 skipped" \
	"$($suite "$tmp/unit" | tail -n 1)"
check "a crash is a failure" "0 passed, 1 failed, 0 skipped" \
	"$($suite "$tmp/dies" | tail -n 1)"
check "failures give an exit code" 1 "$($suite "$tmp/unit" >/dev/null; echo $?)"

# The layers, and the shape of the text.
mkdir -p "$tmp/src/base" "$tmp/src/expr/index" "$tmp/src/passes"
echo '#include "expr/scalar/expr.h"' >"$tmp/src/base/up.c"
printf '#include "base/map.h"\n#include "expr/index/dim.h"\n#include <x.h>\n' >"$tmp/src/expr/index/fine.c"
echo '#include "expr/stage/stage.h"' >"$tmp/src/expr/index/up.c"
layers=$PWD/src/LAYERS tools=$PWD/tools
cd "$tmp" || exit 1
check "an include that climbs is named" \
	'src/base/up.c:1: base may not include "expr/scalar/expr.h" (src/LAYERS)
src/expr/index/up.c:1: expr/index may not include "expr/stage/stage.h" (src/LAYERS)' \
	"$(awk -f "$tools/layers.awk" "$layers" src/base/up.c src/expr/index/*.c)"
{ echo '/* HA''CK */'; printf '%0101d\n' 0; echo 'case OP_Relu:'; } >src/passes/bad.c
yes '' | head -n 601 >src/passes/long.c
{ echo '{'; yes 'x' | head -n 101; echo '}'; } >src/passes/function.c
check "lint counts and finds words" 5 \
	"$(awk -f "$tools/lint.awk" src/passes/bad.c src/passes/long.c src/passes/function.c |
		grep -cE 'columns|mark for later|operator|601 lines|function of 102')"

# Names: in comments, and those that all can see.
cat >src/passes/names.c <<'END'
/* known() and NAME_this() in names.c, index/up.c, x.h; but gone(), gone.c
 * and docs/gone.md, in src/gone/; src/expr/index/ is there. */
#include <x.h>
static int text; // it's "once() here" and not() nor it's
const char *shown = "lost() lost.c /* lost() */";
int line;
char *two_words;

__attribute__((unused)) static int
known(int a)
{
	return a;
}

int
varies(void)
{
	int kept = known(1);
	return kept;
}
END
echo 'int warn(void) { return 0; }' >src/base/words.c
check "names that nothing has, and those of one word" \
	'src/passes/names.c:5: a name for all of one word: const char *shown = "lost() lost.c /* lost() */";
src/passes/names.c:6: a name for all of one word: int line;
src/passes/names.c:16: a name for all of one word: varies
src/passes/names.c:1: there is no gone()
src/passes/names.c:1: there is no gone.c
src/passes/names.c:2: there is no docs/gone.md
src/passes/names.c:2: there is no src/gone
src/passes/names.c:4: there is no once()
src/passes/names.c:4: there is no not()' \
	"$(find . -type f | awk -f "$tools/names.awk" - src/passes/names.c src/base/words.c)"

# The runner of all tests: what fails is counted, shown and its exit code.
runner() { # NAME SUMMARY OPTION...: entries on standard input
	name=$1 summary=$2
	shift 2
	sh "$tools/test" "$@" >"$tmp/said" 2>&1
	code=$?
	check "$name" "$summary" "exit code $code: $(tail -n 1 "$tmp/said")"
}
runner "commands that pass" "exit code 0: 4 passed, 0 failed, 1 skipped" -c <<'END'
# a comment
true

exit 77
echo 3 passed, 0 failed, 0 skipped
END
runner "a test that need not be skipped" "exit code 1: 1 passed, 3 failed, 1 skipped" -c <<'END'
echo skipped 2 for want of cc; echo skipped 1 for want of no-such-word; echo 1 passed, 0 failed, 4 skipped
END
runner "a command that fails" "exit code 1: 1 passed, 1 failed, 0 skipped" -c <<'END'
echo bad; exit 3
true
END
check "what fails is shown" "FAIL echo bad; exit 3
bad" "$(head -n 2 "$tmp/said")"
runner "a command that says that it failed" "exit code 1: 2 passed, 1 failed, 0 skipped" -c <<'END'
echo 2 passed, 1 failed, 0 skipped
END
runner "a command that fails behind what it says" "exit code 1: 2 passed, 1 failed, 0 skipped" -c <<'END'
echo 2 passed, 0 failed, 0 skipped; exit 1
END
runner "a command that dies" "exit code 1: 0 passed, 1 failed, 0 skipped" -c <<'END'
kill -9 $$
END
for unit in "echo 100%: Checks: 2, Failures: 0, Errors: 0" "echo 50%: Checks: 2, Failures: 1, Errors: 0; exit 1" \
	"echo 100%: Checks: 2, Failures: 0, Errors: 0; exit 1" "kill -9 \$\$"; do
	n=$((n + 1))
	printf '#!/bin/sh\n%s\n' "$unit" >"$tmp/unit$n"
	chmod +x "$tmp/unit$n"
done
runner "a unit test that passes" "exit code 0: 2 passed, 0 failed, 0 skipped" -u "$tmp/unit1" </dev/null
runner "a unit test that fails" "exit code 1: 3 passed, 1 failed, 0 skipped" -u "$tmp/unit1" "$tmp/unit2" </dev/null
runner "a unit test that leaks" "exit code 1: 1 passed, 1 failed, 0 skipped" -u "$tmp/unit3" </dev/null
runner "a unit test that dies" "exit code 1: 0 passed, 1 failed, 0 skipped" -u "$tmp/unit4" </dev/null
runner "a unit test that is not there" "exit code 1: 0 passed, 1 failed, 0 skipped" -u "$tmp/none" </dev/null

finish
