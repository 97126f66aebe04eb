# An operator that is known but cannot run says so.
-- args
list ops --json
-- has
"name":	"StringSplit"
"meaning":	"none yet"
