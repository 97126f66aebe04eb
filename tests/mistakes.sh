#!/bin/sh
# usage: tests/mistakes.sh            do the rows of tests/mistakes/table still fit the source and compile?
#        tests/mistakes.sh -a         try all of the table: some minutes
#        tests/mistakes.sh -l         try all of the laws of derivation: a quarter of an hour
#        tests/mistakes.sh -r         try all of the rules of graphs: a quarter of an hour
#        tests/mistakes.sh -g         try all of the runtime of GPUs: half an hour
#        tests/mistakes.sh -b         let bisect look for those of tests/mistakes/bisect in whole models
#        tests/mistakes.sh NAME ...   try these
#
# Whether proving finds mistakes of the compiler: each row of the table puts one into a copy of the
# tree, builds that, and compiles the models that meet it. A row counts as found when the compiler says
# that what it compiled is wrong. Rows that something else refuses, or whose text the source no longer
# has, are mistakes of the table, and fail. Models are compiled without DeriveExpressions: which calls
# there are would depend on times. Models: graphs beside the table, and programs of the zoo.
# Rows with `units` are found when one of these tests fails, those with `texts` when a golden test of one
# of these passes does, those with `scripts` when one of tests/*.sh does.
. tests/common
plain_only texts
about="mistakes: "
build=${BUILD:-build}
jobs=${JOBS:-$(nproc)}
here=$build/mistakes$1  # -a and -b may run side by side
rows="tests/mistakes/table tests/mistakes/derivation tests/mistakes/rules tests/mistakes/bisect tests/mistakes/gpu"
least=90 # percent
programs="build/test/cuda build/test/amend build/test/cases build/test/standin/libcudart.so.13"
programs="$programs build/test/standin/libcudnn.so.9 build/test/standin/libcublasLt.so.13" # of scripts

rm -rf "$here"
mkdir -p "$here/rows" "$here/models" "$here/said" || exit 1

# One file per row: name, kind, file, models or units, options, missed (why it is not found), then the
# texts in files of their own, without the signs that begin their lines.
# shellcheck disable=SC2086  # several files
awk -v to="$here/rows" '
	/^#/ { next }
	/^$/ { name = ""; next }
	name == "" && !/^row / { print "FAIL " FILENAME ": expected row NAME, saw " $0; exit 1 }
	/^row / { name = $2; file = to "/" name; printf "" >file; printf "" >(file ".old"); printf "" >(file ".new"); next }
	/^- / || /^-$/ { print substr($0, 3) >(file ".old"); next }
	/^\+ / || /^\+$/ { print substr($0, 3) >(file ".new"); next }
	{ print >file }' $rows || exit 1

# value ROW KEY
value() { sed -n "s/^$2  *//p" "$here/rows/$1"; }

# changed ROW TREE: its file with the mistake, which has one place.
changed() {
	OLD=$(cat "$here/rows/$1.old") NEW=$(cat "$here/rows/$1.new") awk '
		{ text = text $0 "\n" }
		END {
			old = ENVIRON["OLD"]
			at = index(text, old)
			rest = substr(text, at + length(old))
			if (!at || index(rest, old)) exit 1
			printf "%s%s%s", substr(text, 1, at - 1), ENVIRON["NEW"], rest
		}' "$2/$(value "$1" file)"
}

# fits ROW: whether its text is in the source, and whether the source then still compiles. Files that
# others include are not compiled here.
fits() {
	file=$(value "$1" file)
	changed "$1" . >"$here/$1.c" || { echo "its text is not in $file, or more than once"; return 1; }
	case $file in *.c) ;; *) return 0 ;; esac
	command=$(make -n V=1 -W "$file" "$build/obj/${file%.c}.o" | grep -m 1 -e ' -c ')
	${command%% -MMD*} -iquote "$(dirname "$file")" -fsyntax-only "$here/$1.c" 2>"$here/$1.errors" ||
		{ echo "it does not compile: $(grep -m 1 error "$here/$1.errors")"; return 1; }
}

# model NAME: a file to compile.
model() {
	case $1 in
	*.g) echo "tests/mistakes/$1" ;;
	*) echo "$here/models/$1.onnx" ;;
	esac
}

# bisect ROW TREE: whether it finds the mistake in a whole model, and a model that is small enough
bisect() {
	begun=$(date +%s)
	# shellcheck disable=SC2046  # several options
	within 300 "$2/build/tilewright" bisect --disable DeriveExpressions $(value "$1" options) \
		"$(model "$(value "$1" models)")" -o "$2/smallest.onnx" >"$says.out" 2>&1
	blamed=$(sed -n 's/^to blame  *//p' "$says.out") nodes=$(sed -n 's/^nodes of it  *//p' "$says.out")
	text="$blamed; ${nodes:-no} nodes; $(($(date +%s) - begun)) s"
	case $blamed in
	*"$(value "$1" blame)"*) [ "${nodes:-0}" -gt "$(value "$1" nodes)" ] || echo "found $text" >"$says" ;;
	esac
	grep -q found "$says" || echo "missed $text $(tail -n 1 "$says.out")" >"$says"
}

# script NAME TREE: whether tests/NAME.sh fails there.
script() {
	# shellcheck disable=SC2086  # several targets
	make -s -C "$2" BUILD=build all $programs >"$says.make" 2>&1 ||
		{ echo "refused it does not build: $(grep -m 1 error "$says.make")" >"$says"; return; }
	(cd "$2" && STOP=1 BUILD=build TILEWRIGHT=build/tilewright ZOO=$zoo within 300 sh "tests/$1.sh") >"$says.out" 2>&1 ||
		echo "found $1, $(($(date +%s) - begun)) s: $(grep -m 1 FAIL "$says.out" | cut -c 1-120)" >"$says"
}

# try ROW TREE: one line "found|missed|refused TEXT" in said/ROW.
try() {
	says=$here/said/$1
	changed "$1" "$2" >"$says.new" ||
		{ echo "refused its text is not in the source, or more than once" >"$says"; return; }
	cat "$says.new" >"$2/$(value "$1" file)"
	units=$(value "$1" units) texts=$(value "$1" texts)
	# shellcheck disable=SC2046,SC2086  # several targets
	make -s -C "$2" BUILD=build $([ -n "$units" ] && [ -z "$texts" ] || echo build/tilewright) \
		$(printf 'build/test/%s\n' $units | grep '[a-z]$') >"$says.make" 2>&1 ||
		{ echo "refused it does not build: $(grep -m 1 error "$says.make")" >"$says"; return; }
	echo missed >"$says"
	begun=$(date +%s)
	for name in $units; do
		(cd "$2" && within 300 "build/test/$name") >"$says.out" 2>&1
		rc=$?
		[ $rc != 0 ] || continue
		[ $rc -le 128 ] || { echo "refused $name takes too long" >"$says"; return; }
		echo "found $name, $(($(date +%s) - begun)) s: $(grep -m 1 ':[EF]:' "$says.out" | cut -d : -f 5-6)" >"$says"
		return
	done
	for name in $texts; do
		TILEWRIGHT=$2/build/tilewright sh tests/run tests/passes/"$name"*.t >"$says.out" 2>&1 ||
			{ echo "found $name, $(($(date +%s) - begun)) s: $(grep -m 1 FAIL "$says.out")" >"$says"; return; }
	done
	for name in $(value "$1" scripts); do
		script "$name" "$2"
		grep -q missed "$says" || return
	done
	[ -z "$(value "$1" blame)" ] || { bisect "$1" "$2"; return; }
	for name in $(value "$1" models); do
		# shellcheck disable=SC2046  # several options
		within 120 "$2/build/tilewright" compile -q --tune none --disable DeriveExpressions $(value "$1" options) \
			"$(model "$name")" -o "$2/out.twb" >"$says.out" 2>&1
		rc=$?
		if grep -q "what was compiled is wrong" "$says.out"; then
			echo "found $name: $(grep -m 1 "value\|compiled plan" "$says.out" | sed 's/^[^ ]*: //')" >"$says"
			return
		fi
		[ $rc = 0 ] || { echo "refused $name: exit code $rc: $(tail -n 1 "$says.out")" >"$says"; return; }
	done
}

# What the copies are made from: sources, objects, and nothing that tests made.
copy_tree() {
	mkdir -p "$1/build/obj"
	mkdir "$1/tests"
	cp -a Makefile src tools proto "$1"
	cp -a tests/unit tests/standin_driver "$1/tests"
	cp -a "$build/obj/src" "$1/build/obj"
	[ ! -d "$build/obj/tests" ] || cp -a "$build/obj/tests" "$1/build/obj"
	cp -a "$build/gen" "$build/libcore.a" "$build/tilewright" "$1/build"
	[ ! -d build/deps ] || ln -s "$PWD/build/deps" "$1/build/deps"
	[ -z "$scripts" ] || cp -a tests/common tests/has tests/*.sh tests/amend tests/cases tests/cuda tests/standin* "$1/tests"
}

# work NUMBER ROW ...: each row in a fresh copy.
work() {
	tree=$here/tree$1
	shift
	for row; do
		rm -rf "$tree"
		cp -a "$here/tree" "$tree"
		try "$row" "$tree"
	done
}

# shellcheck disable=SC2086  # several files
names=$(sed -n 's/^row //p' $rows)
if [ $# = 0 ]; then
	for row in $names; do
		if why=$(fits "$row"); then pass; else lose "$row: $why"; fi
	done
	finish
	exit
fi

case $1 in
-a) names=$(sed -n 's/^row //p' tests/mistakes/table) ; shift ;;
-l) names=$(sed -n 's/^row //p' tests/mistakes/derivation) ; shift ;;
-r) names=$(sed -n 's/^row //p' tests/mistakes/rules) ; shift ;;
-b) names=$(sed -n 's/^row //p' tests/mistakes/bisect) ; shift ;;
-g) names=$(sed -n 's/^row //p' tests/mistakes/gpu) ; shift ;;
esac
want oneDNN
names=${*:-$names}
scripts=$(for row in $names; do value "$row" scripts; done | sort -u)
copy_tree "$here/tree"
# shellcheck disable=SC2086  # several targets
[ -z "$scripts" ] || make -s -C "$here/tree" BUILD=build all $programs || exit 1

# The compiler as it is finds nothing in any of the models.
for name in $(for row in $names; do value "$row" models | tr ' ' '\n'; done | sort -u); do
	case $name in
	*.g) ;;
	*) "$build/zoo" "$name" -o "$here/models/$name.onnx" || exit 1 ;;
	esac
	"$build/tilewright" compile -q --tune none "$(model "$name")" -o "$here/right.twb" >"$here/right" 2>&1 || {
		lose "$name without any: $(tail -n 1 "$here/right")"
		exit 1
	}
	! grep -q "is wrong" "$here/right" || { lose "$name without any"; cat "$here/right"; exit 1; }
done

for name in $scripts; do # nor do these
	says=$here/right
	echo right >"$says"
	script "$name" "$here/tree"
	grep -q '^right' "$says" || { lose "without any: $(cat "$says")"; exit 1; }
done

number=0
while [ $number -lt "$jobs" ]; do
	# shellcheck disable=SC2046,SC2086  # names
	work $number $(printf '%s\n' $names | awk -v n=$number -v jobs="$jobs" 'NR % jobs == n') &
	number=$((number + 1))
done
wait

found=0 all=0
for row in $names; do
	said=$(cat "$here/said/$row")
	why=$(value "$row" missed)
	all=$((all + 1))
	printf '%-24s %-10s %s\n' "$row" "$(value "$row" kind)" "$said"
	case $said in
	found*)
		found=$((found + 1))
		pass
		[ -z "$why" ] || echo "     and the table says that it is not: $why" ;;
	missed*)
		if [ -n "$why" ]; then pass; else lose "$row is not found"; fi ;;
	*) lose "$row says nothing about proving" ;;
	esac
done
echo "$found found of $all"
[ $((100 * found)) -ge $((least * all)) ] || lose "less than $least %"
rm -rf "$here"/tree*
finish
