#!/bin/sh
# Progress on a terminal (script of util-linux makes one): a long compile shows what it does, how far
# it is and the time left, on one line that is gone at the end, of a failure too; nothing of it where
# standard error is no terminal, or with -q.
# shellcheck disable=SC2015  # pass cannot fail
. tests/common
want script
cd "$tmp" || exit 1
# Thirty kernels that differ, each compiled alone, and their table; a compiler that takes its time.
i=0
{
	echo 'graph g(%x0: f32[N,300]) -> %x30 {'
	for op in Exp Sin Cos Tan Sqrt Abs Neg Relu Sigmoid Tanh Erf Floor Ceil Round Sign Reciprocal Log \
		Softplus Softsign Elu Selu HardSigmoid HardSwish Mish Atan Asin Acos Sinh Cosh Asinh; do
		echo "  %x$((i + 1)) = $op(%x$i)"
		i=$((i + 1))
	done
	echo '}'
} >m.txt
cat >slow <<'TEXT'
#!/bin/sh
case " $* " in *" -c "*) sleep 0.2 ;; esac
exec cc "$@"
TEXT
cat >broken <<'TEXT'
#!/bin/sh
case $1 in --version) echo none ;; *) sleep 0.3; printf "error: no"; exit 1 ;; esac
TEXT
chmod +x slow broken
export XDG_CACHE_HOME="$tmp/cache" TERM=xterm

# Compile on a terminal with a compiler: what was written is in "seen", what stays on it in "left".
on_terminal() {
	rm -rf cache
	script -qec "CC=$1 $tw compile $2 -O0 m.txt -o m.twb" typescript </dev/null >/dev/null 2>&1
	rc=$?
	tr -d '\r' <typescript | awk 'NF && NR > 1 && !/^Script done/' >seen
	esc=$(printf '\033')
	sed "s/.*$esc\[K//" seen >left
}

on_terminal "$tmp/slow"
[ $rc = 0 ] && [ -s m.twb ] && pass || lose "compile on a terminal: exit code $rc: $(cat left)"
grep -Eq "compiling kernels for cpu:[^ ]* [0-9]+/31, [0-9]+ s left" seen && pass ||
	lose "no count of kernels with the time left: $(cat -v seen)"
grep -Eq "lowering [0-9]+/30" seen && pass || lose "no count of nodes: $(cat -v seen)"
grep -q "^wrote m.twb" left && pass || lose "the result does not stand alone: $(cat -v left)"
grep -Eq "compiling|lowering|InferShapes|s left" left &&
	lose "progress is left on the terminal: $(cat -v left)" || pass

on_terminal "$tmp/broken"
[ $rc = 6 ] && [ "$(cat left)" = "the C compiler '$tmp/broken' failed: error: no" ] && pass ||
	lose "a failure leaves progress, exit code $rc: $(cat -v left)"

on_terminal cc -q
[ $rc = 0 ] && [ ! -s seen ] && pass || lose "-q shows something: $(cat -v seen)"

rm -rf cache
CC=cc "$tw" compile -O0 m.txt -o m.twb >out 2>err && pass || lose "compile: $(cat err)"
[ ! -s err ] && pass || lose "progress without a terminal: $(cat -v err)"
script -qec "CC=cc $tw compile -O0 m.txt -o m.twb 2>err" typescript </dev/null >/dev/null 2>&1
[ ! -s err ] && pass || lose "progress in a file: $(cat -v err)"

finish
