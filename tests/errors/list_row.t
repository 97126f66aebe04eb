# A row that does not exist.
-- args
list ops Conv4D
-- err
ops has no row 'Conv4D'
-- exit
2
