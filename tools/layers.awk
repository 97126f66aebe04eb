# usage: awk -f tools/layers.awk src/LAYERS FILE ...    names every include that climbs
FILENAME == ARGV[1] {
	if (/^[a-z]+ *:/)
		for (i = 3; i <= NF; i++)
			allowed[$1, $i] = 1
	next
}
/^#include "[a-z]+\// {
	split(FILENAME, path, "/")
	split($2, part, /["\/]/)
	if (path[1] == "src" && part[2] != path[2] && !((path[2], part[2]) in allowed) &&
	    !((path[2], part[2] "/" part[3]) in allowed)) {
		printf "%s:%d: %s may not include %s (src/LAYERS)\n", FILENAME, FNR, path[2], $2
		bad = 1
	}
}
END { exit bad }
