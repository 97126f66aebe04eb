# Turns the files named on the command line into prelude.c: an array of {name, text}.
BEGIN { print "#include \"expr/scalar/prelude.h\"\n\nconst PreludeText prelude_texts[] = {" }
FNR == 1 {
	if (count++)
		print "\t},"
	name = FILENAME
	sub(/.*\//, "", name)
	printf "\t{\"%s\",\n", name
}
{
	gsub(/\\/, "&&")
	gsub(/"/, "\\\"")
	gsub(/\t/, "\\t")
	printf "\t\t\"%s\\n\"\n", $0
}
END { print (count ? "\t},\n" : "") "};\n\nconst int prelude_count = " count + 0 ";" }
