"""A module's code without what no door looks at: for the bundle (bundle.py). Cold: used when the bundle is written.

Left out: docstrings and asserts (as `python -OO` does), annotations of functions, what stands under `if TYPE_CHECKING`,
and the import of `__future__`. A third of what a process would have to read, and nothing that it runs. The fields of
records are class annotations and stay. So do line numbers: a traceback names file, function and line.
"""

from __future__ import annotations
import __future__

import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType


def compiled(source: bytes, path: str) -> CodeType:
    """The code of the module at `path`. Raises SyntaxError as the compiler does."""
    tree = ast.fix_missing_locations(_Slim().visit(ast.parse(source, path)))
    code: CodeType = compile(
        tree, path, "exec", __future__.annotations.compiler_flag, dont_inherit=True, optimize=2
    )
    return code


class _Slim(ast.NodeTransformer):
    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return node.orelse or ast.Pass()
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        return None if node.module == "__future__" else node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.returns = None
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node
