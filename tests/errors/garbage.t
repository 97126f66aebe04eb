# Bytes that are no model.
-- args
print
-- in
neither a model nor a text
-- exit
3
