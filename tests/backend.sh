#!/bin/sh
# usage: tests/backend.sh [-a]
#
# The ONNX backend cases, compiled and interpreted, one of five, with -a all: those of the archive beside the repository when it
# is there, else Debian's libonnx-testdata (opset 17), which runs anywhere. On the way, the texts of
# all graphs, meanings and kernels must read back as themselves (--verify=texts).
# shellcheck disable=SC2015,SC2059,SC2012  # pass cannot fail; octal bytes; our own file names
. tests/common
program=${BUILD:-build}/test/cases
archive=$(ls ../shared/data/onnx-backend-*.tar.xz 2>/dev/null | tail -n 1)
if [ -n "$archive" ] && tar -C "$tmp" -xf "$archive" 2>/dev/null; then
	echo "backend cases of $(basename "$archive")"
	cases=$tmp
elif [ -n "$ONNX_TESTDATA" ]; then
	echo "backend cases of libonnx-testdata"
	cases=$ONNX_TESTDATA
else
	want cases
fi
# Without the cases of tests/backend.wrong. The data may be read-only: links to it.
grep -v '^#' tests/backend.wrong | (cd "$cases" && sha256sum -c 2>/dev/null) | sed -n 's/: OK$//p' >"$tmp/wrong"
if [ -s "$tmp/wrong" ]; then
	cp -rs "$(realpath "$cases")" "$tmp/cases"
	cases=$tmp/cases
	while read -r file; do rm -r "${cases:?}/${file%/*/*}"; done <"$tmp/wrong"
	echo "without $(wc -l <"$tmp/wrong") cases whose files are known to be wrong (tests/backend.wrong)"
fi

# One of five; of fifteen where a sanitizer makes the compiler slow.
SAMPLE=5
case $BUILD in */asan) SAMPLE=15 ;; esac
[ -z "$is_whole" ] || SAMPLE=1
export SAMPLE

# at_least LEAST NUMBER WHAT: of the last run, for all cases LEAST. Skips are decided from tables, so a
# table that loses rows would fail nothing.
at_least() {
	[ "${2:-0}" -ge $(($1 / SAMPLE)) ] && return
	echo "FAIL backend: $2 $3, expected $(($1 / SAMPLE)) or more"
	echo "0 passed, 1 failed, 0 skipped"
	failed=1
}
"$program" compiled --verify=texts "$cases" >"$tmp/out" || failed=1
cat "$tmp/out"
at_least 900 "$(sed -n 's/^\([0-9]*\) passed.*/\1/p' "$tmp/out")" "pass compiled"
at_least 550 "$(awk '/ emitted, / { print $1 + $3 }' "$tmp/out")" "are emitted or vendor's"

# And interpreted, but for whole models (light), which take a minute.
"$program" interpreted --only 'test_*' "$cases" >"$tmp/out" || failed=1
cat "$tmp/out"
at_least 900 "$(sed -n 's/^\([0-9]*\) passed.*/\1/p' "$tmp/out")" "pass interpreted"
exit $failed
