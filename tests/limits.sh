#!/bin/sh
# usage: tests/limits.sh    compiling where there is too little: of memory, of room for temporary files
#
# Whatever the limit is, the end is one of two: all was done, or exit code 6 with a sentence, the file that stood
# there before as it was, and nothing left over.
# shellcheck disable=SC3045,SC2015 # dash and bash have ulimit -v; pass cannot fail
. tests/common
about="limits: "
want plain # memory is AddressSanitizer's
cd "$tmp" || exit 1
export XDG_CACHE_HOME="$tmp/cache"

cat >m.g <<'END'
graph m(%x: f32[1,16,32,32]) -> %y {
  %w: f32[32,16,3,3] = weight 0
  %v: f32[8192,64] = weight 1
  %flat: i64[2] = {1, -1}
  %a = Conv(%x, %w) {strides=[2,2], pads=[1,1,1,1]}
  %b = Relu(%a)
  %c = Reshape(%b, %flat)
  %d = MatMul(%c, %v)
  %y = Softmax(%d) {axis=-1}
}
END
mkdir temporary
export TMPDIR="$tmp/temporary"

# whole WHAT RC: m.twb is what it was, or another bundle that is whole; by the exit code. A process that cannot
# even be loaded (127) has done nothing.
whole() {
	left=$(ls temporary; find . ! -name . -prune ! -name m.g ! -name m.twb ! -name temporary ! -name small \
		! -name cache ! -name said)
	case $2 in
	0) "$tw" check m.twb >/dev/null 2>&1 || { lose "$1: no bundle, but exit code 0"; return; } ;;
	6 | 127) [ "$(cat m.twb)" = before ] && [ -s said ] || { lose "$1: exit code $2, $(ls -l m.twb): $(cat said)"; return; } ;;
	*) lose "$1: exit code $2: $(cat said)"; return ;;
	esac
	[ -z "$left" ] && pass || lose "$1 leaves $left"
}

for level in 1 3; do
	for megabytes in 8 12 16 24 32 48 64 80 96 128 192; do
		echo before >m.twb
		(ulimit -v $((megabytes * 1024)) && within 100 "$tw" compile -q -O$level m.g -o m.twb) >said 2>&1
		whole "$megabytes MB at -O$level" $?
	done
done

# Temporary files have nowhere to go; a disk that is full, for them and for the bundle.
for folder in /nonexistent /dev/null /dev/full; do
	echo before >m.twb
	TMPDIR=$folder "$tw" compile -q m.g -o m.twb --config DeriveExpressions.seconds=1 >said 2>&1
	rc=$?
	whole "TMPDIR=$folder" $rc
	[ $rc = 0 ] || { grep -q "$folder" said && pass || lose "TMPDIR=$folder: $(cat said)"; }
done
mkdir small
if mount -t tmpfs -o size=16k none small 2>/dev/null; then
	echo before >m.twb
	rm -rf cache
	TMPDIR="$tmp/small" "$tw" compile -q -O1 m.g -o m.twb >said 2>&1
	whole "a full disk of temporary files" $?
	"$tw" compile -q -O1 m.g -o small/m.twb >said 2>&1
	[ $? = 6 ] && [ ! -e small/m.twb ] && grep -q 'cannot write small/m.twb' said && pass ||
		lose "a full disk: $(cat said)"
	umount small
else
	skip 2 mount
fi
finish
