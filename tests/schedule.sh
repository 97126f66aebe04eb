#!/bin/sh
# All of the lesson in docs/schedules.md: its files are written as it says, its commands run. Each bundle
# is proved, and at small sizes the interpreter compares the loops before and behind the script.
. tests/common
plain_only texts

tests/lesson docs/schedules.md "$tmp"
cd "$tmp" || exit 1

# One command of the lesson, and what its output must hold.
try() {
	if sh -c "$1" >out 2>&1 && grep -q "$2" out; then
		pass
	else
		lose "schedule: $1"
		cat out
	fi
}

# Sizes at which the interpreter is done in seconds.
for graph in *.g; do
	sed 's/1024/128/g; s/f32\[1,64,56,56\]/f32[1,8,20,28]/; s/64,64,3/32,8,3/; s/256,/6,/' "$graph" \
		>"small_$graph"
done
while read -r command; do
	command="$tw ${command#build/tilewright }"
	try "$command" '^proved: '
	try "$(echo "$command" | sed 's/ \([a-z]*\.g\) / --verify=each small_\1 /')" '^proved: '
done <compile
[ $passed = 12 ] || failed=$((failed + 1))
# Kernels for a GPU print as they say; without NVRTC that is all.
while read -r command; do
	case $command in *--cubin*) "$tw" --version | grep -q NVRTC || continue ;; esac
	try "$tw ${command#build/tilewright }" '^kernel \|^k0_'
done <print
[ $passed -ge 13 ] || failed=$((failed + 1))
finish
