#!/bin/sh
# A signal that ends the compiler is a failure like others: where it was at work, that it is our
# bug, exit code 5. Neither it nor being killed leaves files: by SIGKILL, which nobody can answer,
# since nothing has a name before it is complete.
# shellcheck disable=SC2015  # pass cannot fail
. tests/common
want plain # signals are AddressSanitizer's
cd "$tmp" || exit 1
mkdir temporary
export TMPDIR="$tmp/temporary" XDG_CACHE_HOME="$tmp/cache"
echo 'graph g(%x: f32[N,300]) -> %y { %y = Relu(%x) "relu" }' >m.txt
cat >slow <<'TEXT'
#!/bin/sh
case $1 in --version) exec cc "$@" ;; esac
echo $$ >starting && mv starting started
sleep 2
exec cc "$@"
TEXT
chmod +x slow

# A compilation whose C compiler is at work: $pid.
begin() {
	rm -rf started cache
	CC=./slow "$tw" compile m.txt -o m.twb 2>err &
	pid=$!
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		[ ! -e started ] || break
		sleep 0.2
	done
}

# Send it the signal.
interrupted() {
	begin
	kill "-$1" $pid
	wait $pid 2>/dev/null
	rc=$?
}

# Whether the C compiler ended, too: it would go on writing files. Nobody may wait for it any more.
ended_too() {
	for _ in 1 2 3 4 5; do
		grep -q "^State:.[^Z]" "/proc/$(cat started)/status" 2>/dev/null || return 0
		sleep 0.1
	done
	return 1
}

for signal in SEGV ABRT FPE ILL; do
	interrupted $signal
	[ $rc = 5 ] && pass || lose "$signal: exit code $rc"
	grep -q "^m.txt: .*SIG$signal" err && pass || lose "$signal has no place: $(cat err)"
	grep -q "this is a bug in Tilewright; a way round it may be" err && pass ||
		lose "$signal gives no advice: $(cat err)"
	[ -z "$(ls temporary)" ] && [ ! -e m.twb ] && pass || lose "$signal leaves $(ls . temporary)"
	ended_too && pass || lose "$signal: the C compiler runs on"
done
for signal in TERM HUP; do # a shell lets no background process see SIGINT
	interrupted $signal
	[ $rc -gt 128 ] && pass || lose "$signal: exit code $rc"
	[ -z "$(ls temporary)" ] && [ ! -e m.twb ] && pass || lose "$signal leaves $(ls . temporary)"
	ended_too && pass || lose "$signal: the C compiler runs on"
done

# What SIGKILL leaves in the temporary folder goes with the next compilation, unless it is in use.
interrupted KILL
[ $rc -gt 128 ] && [ -n "$(ls temporary)" ] && pass || lose "SIGKILL: exit code $rc, $(ls temporary)"
[ ! -e m.twb ] && pass || lose "SIGKILL leaves m.twb"
begin
"$tw" compile -q m.txt -o other.twb 2>err2 && pass || lose "beside another: $(cat err2)"
set -- temporary/*
[ $# = 1 ] && pass || lose "one is at work, but there are $(ls temporary)"
wait $pid && pass || lose "with another beside: $(cat err)"
[ -z "$(ls temporary)" ] && pass || lose "left are $(ls temporary)"
rm -f m.twb other.twb

# Names that show themselves in the folder while a model is compiled: nothing but the bundle. What is
# there while it is proved is seen: that takes a while without any optimisation.
mkdir beside
echo 'graph g(%x: f32[1,64,56,56], %w: f32[64,64,3,3]) -> %y { %y = Conv(%x, %w) }' >beside/m.txt
"$tw" compile -q -O0 --no-vendor beside/m.txt -o beside/m.twb 2>err &
pid=$!
while kill -0 $pid 2>/dev/null; do echo beside/*; done >seen
wait $pid && pass || lose "compile: $(cat err)"
names=$(tr ' ' '\n' <seen | sort -u | tr '\n' ' ')
case $names in "beside/m.txt " | "beside/m.twb beside/m.txt ") pass ;; *) lose "there was $names" ;; esac

finish
