#!/bin/sh
# The example is built against the installed library alone, as C and as C++, static and shared, and
# runs a bundle with its own buffers.
. tests/common
# A library built with sanitizers is not what is installed.
want plain
[ -f docs/tilewright.1 ] || { echo "no man page to install"; exit 1; }
make --no-print-directory install PREFIX="$tmp/usr" >"$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
"$zoo" squeezenet -o "$tmp/m.onnx" && "$tw" compile -q "$tmp/m.onnx" -o "$tmp/m.twb" || exit 1
set -e
cp examples/run.c "$tmp" # away from our headers
cd "$tmp"
export PKG_CONFIG_PATH="$tmp/usr/lib/pkgconfig" LD_LIBRARY_PATH="$tmp/usr/lib:$LD_LIBRARY_PATH"
# shellcheck disable=SC2046  # flags are words
cc -std=c11 -Wall -Wextra -D_GNU_SOURCE run.c $(pkg-config --cflags --libs tilewright) -o shared
# shellcheck disable=SC2046
cc -std=c11 -D_GNU_SOURCE run.c $(pkg-config --cflags tilewright) usr/lib/libtilewright.a \
	$(pkg-config --static --libs-only-l tilewright | sed 's/-ltilewright//') -o static
# Without any shared library: the vendor's calls run their fallback kernels. The linker warns of dlopen().
# shellcheck disable=SC2046
cc -static -std=c11 -D_GNU_SOURCE run.c $(pkg-config --cflags --static --libs tilewright) \
	-o whole 2>/dev/null
if readelf -l whole | grep INTERP; then exit 1; fi
# A program's own functions may have any name that does not begin with tw_.
if nm -g --defined-only usr/lib/libtilewright.a | awk 'NF == 3 && $3 !~ /^tw_/' | grep .; then exit 1; fi
echo '#include <tilewright.h>
int main() { return tw_version() != TW_VERSION_MAJOR * 10000 + TW_VERSION_MINOR * 100 + TW_VERSION_PATCH; }' >v.cc
# shellcheck disable=SC2046
c++ -Wall -Wextra -Wpedantic -Werror v.cc $(pkg-config --cflags --libs tilewright) -o v && ./v
# The program in the README is the example.
awk '/^```$/ { is_in = 0 } is_in { print } /^```c$/ { is_in = 1 }' "$root/README.md" | diff - "$root/examples/scores.c"
cp "$root/examples/scores.c" .
cp m.twb resnet18.twb
# shellcheck disable=SC2046  # flags are words
cc -std=c11 -Wall -Wextra -Wpedantic -Werror scores.c $(pkg-config --cflags --libs tilewright) -o scores
./scores | grep -q '^[0-9.e-]*$'
# The same by CMake.
if command -v cmake >/dev/null; then
	mkdir project && cp scores.c m.twb project && cp m.twb project/resnet18.twb
	cat >project/CMakeLists.txt <<'TEXT'
cmake_minimum_required(VERSION 3.13)
project(p C)
find_package(tilewright 0.1 REQUIRED)
foreach(kind tilewright static)
  add_executable(by_${kind} scores.c)
  target_link_libraries(by_${kind} tilewright::${kind})
endforeach()
TEXT
	if ! { cmake -S project -B project/b -DCMAKE_PREFIX_PATH="$tmp/usr" && cmake --build project/b; } >"$tmp/log" 2>&1; then
		cat "$tmp/log"
		exit 1
	fi
	(cd project && b/by_tilewright | grep -q '^[0-9.e-]*$' && b/by_static | grep -q '^[0-9.e-]*$')
else
	skip 1 cmake
fi
# Completion says what the program does.
completed() {
	PATH="$tmp/usr/bin:$PATH" bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tilewright
		printf "%s\n" "${COMPREPLY[@]}"' "$tmp/usr/share/bash-completion/completions/tilewright" "$@"
}
[ "$(completed tilewright insp)" = inspect ]
completed tilewright compile --acc | grep -qx -e --accuracy
completed tilewright compile --target cpu:x | grep -qx cpu:x86-64-v3
[ -z "$(completed tilewright compile m)" ]
./shared m.twb | grep -v ' ms$' >one
./static m.twb | grep -v ' ms$' >two
cmp one two
./whole m.twb | grep -v ' ms$' | cut -c 1-40 >three
cut -c 1-40 one | cmp - three
# The same where there is nothing but the program and the bundle: no /proc, no /tmp.
if mkdir root && cp whole m.twb root && chroot root /whole m.twb >four 2>/dev/null; then
	grep -v ' ms$' four | cut -c 1-40 | cmp - three
else
	echo "chroot is not permitted: not tried without /proc" >&2
fi
grep -q '^output output: f32\[1,1000\]' one
if ./shared run.c 2>err; then exit 1; fi
grep -q '^run: run.c: the file is not a bundle' err

# Without symbols it runs as well; and what was installed goes, all of it.
cd "$root"
make --no-print-directory install-strip PREFIX="$tmp/usr" >"$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
[ "$(nm "$tmp/usr/bin/tilewright" 2>/dev/null | wc -l)" = 0 ]
"$tmp/usr/bin/tilewright" run -q "$tmp/m.twb"
make --no-print-directory uninstall PREFIX="$tmp/usr" >"$tmp/log" 2>&1
[ -z "$(find "$tmp/usr" ! -type d)" ]
