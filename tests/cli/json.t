# --json gives one object, numbers in full.
-- args
list dtypes --json
-- has
"verb":	"list"
"name":	"f32"
"bits":	32
