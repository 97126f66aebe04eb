# A row that does not exist.
-- args
list ops Conv4D
-- err
there is no operator 'Conv4D'; did you mean 'Conv'? (tilewright list ops shows all)
-- exit
2
