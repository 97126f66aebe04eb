#!/bin/sh
# usage: join.sh ANSWERS    copy the answers of all tasks into this machine's cache
set -eu
cache=${XDG_CACHE_HOME:-$HOME/.cache}/tilewright
mkdir -p "$cache"
for folder in "$1"/*/tilewright; do
	cp -R "$folder/." "$cache/"
done
