"""Writes the start-up file with a call before each of its statements: fault(k), which raises if k is FAULT in the
environment. Prints how many there are. Left out are the guard itself and the functions that torch or the program calls
in place of its own, down to where they call the guard: what these do themselves cannot fail."""
import ast
import sys

GUARDS = {
    "enter", "attempt", "called", "pending_look", "before_fork", "after_fork", "in_child", "at_exit", "setup_guarded",
    "imported", "import_failed", "ask_main_quietly", "after_optimizer", "__enter__", "__exit__", "leave", "_lazy_init",
    "_prepare_profiler", "_enable_profiler", "_disable_profiler", "_add_metadata_json", "_run_on_profiler_stop", "save",
    "marked", "clear_way", "ours_to_touch", "_hook_for_profile", "counted", "__init__", "start_ticks",
}  # fmt: skip
FIRST = {"_imported", "_failed", "_at_exit", "exec_module", "find_spec", "_second_part"}

FAULT = """
import os as _os
def fault(k, wanted=int(_os.environ.get("FAULT", -1))):
    if k == wanted:
        _os.environ["FAULT_HIT"] = "1"
        raise RuntimeError("fault %d" % k)
"""

count = 0


class Insert(ast.NodeTransformer):
    def __init__(self, guards):
        self.guards = guards

    def block(self, body):
        global count
        out = []
        for each in body:
            if not isinstance(each, (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal)):
                out.append(ast.parse("fault(%d)" % count).body[0])
                count += 1
            out.append(each)
        return out

    def visit_FunctionDef(self, node):
        if node.name in self.guards:
            for each in node.body:  # functions inside may be others
                self.generic_visit(each)
            return node
        doc = node.body[:1] if ast.get_docstring(node) else []
        node.body = node.body[len(doc) :]
        self.inside(node)
        node.body = doc + node.body
        return node

    def inside(self, node):
        for name in ("body", "orelse", "finalbody"):
            part = getattr(node, name, None)
            if isinstance(part, list):
                for each in part:
                    if isinstance(each, ast.FunctionDef):
                        self.visit(each)
                    else:
                        self.inside(each)
                setattr(node, name, self.block(part) if part else part)
        for handler in getattr(node, "handlers", []):
            self.inside(handler)


def transform(source, guards):
    tree = Insert(guards).visit(ast.parse(source))
    return FAULT + ast.unparse(ast.fix_missing_locations(tree))


source = open(sys.argv[1]).read()
head, _, rest = source.partition("_LATER = r'''")
later, _, tail = rest.partition("'''\n")
later = transform(later, GUARDS)
first = transform(head + "_LATER = None\n" + tail, FIRST)
assert "'''" not in later
first = first.replace("_LATER = None\n", "_LATER = r'''" + later + "'''\n")
with open(sys.argv[2], "w") as f:
    f.write(first)
print(count)
