# For gdb: `source tools/gdb.py`, then `debug EXPRESSION` prints any node of the three IRs as its text:
# what a Graph, Node, Value or Type is, an Expr (scalars, indices, dims), Stage or Program, a Stmt with
# those behind it, or a Kernel. The project's own printers say it, so the process must live and be
# outside of them.
import gdb

PRINTERS = {
    "Graph": "graph_print",
    "Node": "node_print",
    "Value": "value_print",
    "Type": "type_print",
    "Expr": "expr_print",
    "Stage": "stage_print",
    "Program": "program_print",
    "Stmt": "stmt_print",
    "Kernel": "kernel_print",
}


def call(text):
    return gdb.parse_and_eval(text)


class Debug(gdb.Command):
    """debug EXPRESSION: print a node of an IR, or what a pointer to one points to."""

    def __init__(self):
        super().__init__("debug", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        value = given = gdb.parse_and_eval(argument)
        kind = value.type.strip_typedefs()
        if kind.code == gdb.TYPE_CODE_PTR:
            kind = kind.target().strip_typedefs()
        else:
            value = value.address
        name = kind.unqualified().tag
        if name not in PRINTERS or value is None:
            raise gdb.GdbError("debug: expected one of %s, saw %s" % (", ".join(PRINTERS), given.type))
        arena = "((struct Arena *) %d)" % int(call('(long) arena_new("debug")'))
        buf = "((struct Buf *) %d)" % int(call("(long) arena_alloc(%s, sizeof(struct Buf))" % arena))
        gdb.execute("set var %s->arena = %s" % (buf, arena))
        call("(void) %s(%s, (struct %s *) %d)" % (PRINTERS[name], buf, name, int(value)))
        gdb.write(call("(const char *) buf_text(%s)" % buf).string().rstrip("\n") + "\n")
        call("(void) arena_free(%s)" % arena)


Debug()
