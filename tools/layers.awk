# usage: awk -f tools/layers.awk src/LAYERS FILE ...    names every include that climbs
FILENAME == ARGV[1] {
	if (/^[a-z\/]+ *:/) {
		room[$1] = 1
		for (i = 3; i <= NF; i++)
			allowed[$1, $i] = 1
	}
	next
}
# The room of a path below src/: the folder in a folder if that is one, else the folder.
function room_of(path, part) {
	split(path, part, "/")
	return (part[1] "/" part[2]) in room ? part[1] "/" part[2] : part[1]
}
# Whether files of `from` may include `path`: their own room, a room of the row, all rooms of a
# folder of the row, or a header of it.
function may_include(from, path, to, part) {
	to = room_of(path)
	split(path, part, "/")
	return to == from || ((from, to) in allowed) || ((from, part[1]) in allowed) ||
	       ((from, path) in allowed)
}
/^#include "[a-z]+\// && FILENAME ~ /^src\// {
	split($0, quoted, "\"")
	from = room_of(substr(FILENAME, 5))
	if (!may_include(from, quoted[2])) {
		printf "%s:%d: %s may not include \"%s\" (src/LAYERS)\n", FILENAME, FNR, from, quoted[2]
		bad = 1
	}
}
END { exit bad }
