"""git's subcommands, one function for each that is more than a reader: what of the repository it writes."""

from __future__ import annotations

from ringfence.model import Op
from ringfence.shell.effects import destination, nested
from ringfence.shell.gitwords import config_value, key_kind, may_store
from ringfence.shell.state import UNKNOWN, fold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ringfence.shell.gitcmd import Git

READS = frozenset(
    ("status", "rev-parse", "ls-files", "ls-tree", "cat-file", "describe", "blame", "annotate", "shortlog", "rev-list",
     "merge-base", "name-rev", "for-each-ref", "show-ref", "count-objects", "fsck", "check-ignore", "check-attr", "var",
     "version", "help", "whatchanged", "cherry", "range-diff", "ls-remote", "verify-commit", "verify-tag", "grep",
     "request-pull", "show-branch", "log", "diff", "show", "diff-tree", "diff-index", "diff-files", "check-mailmap",
     "check-ref-format", "column", "stripspace", "interpret-trailers", "patch-id", "merge-tree", "fmt-merge-msg",
     "get-tar-commit-id", "unpack-objects-dry", "--version", "--help", "-v", "-h", "--exec-path", "--man-path",
     "--html-path", "--info-path")
)  # fmt: skip
TREE = frozenset(
    ("checkout", "switch", "restore", "merge", "cherry-pick", "revert", "pull", "rebase", "bisect", "read-tree",
     "sparse-checkout", "reset")
)  # fmt: skip
META = frozenset(
    ("add", "stage", "update-index", "write-tree", "commit-tree", "notes", "gc", "repack", "pack-refs", "pack-objects",
     "maintenance", "replace", "rerere", "fetch", "mktag", "mktree", "index-pack", "commit-graph", "multi-pack-index",
     "commit", "unpack-objects", "merge-index", "merge-one-file", "credential")
)  # fmt: skip
UNREADABLE = frozenset(
    ("filter-branch", "filter-repo", "fast-import", "fast-export", "svn", "p4", "send-email", "difftool", "mergetool",
     "daemon", "instaweb", "gui", "citool", "subtree", "quiltimport", "mailsplit", "bugreport", "diagnose",
     "upload-pack",
     "receive-pack", "shell", "http-backend", "cvsimport", "archimport", "p4", "am", "mailinfo", "lfs", "absorb",
     "flow")
)  # fmt: skip


def read_subcommand(one: Git) -> None:
    one.scan(
        (
            "--output",
            "-O",
            "--trailer",
            "--grep",
            "--author",
            "-S",
            "-G",
            "-n",
            "--format",
            "--since",
            "--until",
        )
    )
    if "--output" in one.present:
        one.touch(Op.WRITE, one.present["--output"])
    if one.sub == "interpret-trailers" and one.has("--in-place"):
        for path in one.paths():
            one.touch(Op.WRITE, path)
    if one.sub == "fsck" and one.has("--lost-found"):
        one.meta()
    if one.sub == "grep" and one.has("-O", "--open-files-in-pager"):
        one.code(one.present.get("-O") or one.present.get("--open-files-in-pager") or "less", "grep -O")
    if "--no-index" in one.present:
        for path in one.paths():
            one.touch(Op.READ, path)
    if one.sub == "ls-remote":
        _transport(one, one.paths()[:1])
    if any(o in one.present for o in ("--upload-pack", "--exec")):
        one.code(one.present.get("--upload-pack") or one.present.get("--exec") or "", "--upload-pack")


def meta_subcommand(one: Git) -> None:
    one.scan(
        ("-m", "--message", "-F", "--file", "-C", "-c", "--author", "--date", "-t", "--template",
         "--pathspec-from-file",
         "--upload-pack", "--depth", "--fixup", "--squash", "--trailer", "--reuse-message", "--reedit-message",
         "--cleanup",
         "-o", "--object-dir", "--expire-to", "--filter-to", "--task", "--schedule",
         "--scheduler", "--config-file",
         "--separate-git-dir", "--output", "--server-option",
         "--refmap", "--negotiation-tip", "-j", "--jobs", "--cacheinfo", "--chmod",
         "--index-info")
    )  # fmt: skip
    if one.sub == "gc" and one.has("--prune", "--aggressive") and one.repo.linked:
        one.shared("objects/x")
    if one.sub in ("repack", "maintenance", "pack-objects") and one.repo.linked and one.has("-d", "-a", "-A"):
        one.shared("objects/x")
    _elsewhere(one)
    if "--upload-pack" in one.present:
        one.code(one.present["--upload-pack"], "--upload-pack")
    if one.sub == "fetch":
        _transport(one, [w for w in one.paths() if w][:1])
    one.meta()


def _elsewhere(one: Git) -> None:
    """Bookkeeping that the words send to another place than this repository."""
    if one.sub == "pack-objects":
        for name in one.paths():  # the base name, or the value of an option that is not listed
            one.touch(Op.CREATE, f"{name}-x.pack")
    elif one.sub == "index-pack":
        for name in one.paths()[:1]:  # beside the pack: .idx, .rev, .keep, and the pack itself with --stdin
            one.touch(Op.CREATE, name.removesuffix(".pack") + ".idx")
    elif one.sub == "maintenance" and one.paths()[:1] in (["register"], ["unregister"], ["start"], ["stop"]):
        # The list of repositories is the user's own configuration; start and stop also write a timer.
        for home in one.call.state.get("HOME"):
            one.touch(Op.WRITE, f"{home}/.gitconfig" if isinstance(home, str) else UNKNOWN)
    elif one.sub == "merge-index":
        nested(one.call, one.state, [w for w in one.paths() if not w.startswith("-")][:1])
    for option in ("--expire-to", "--filter-to"):
        if option in one.present:
            one.touch(Op.CREATE, f"{one.present[option]}-x.pack")
    for option in ("--object-dir", "--config-file", "--output"):
        if option in one.present:
            one.touch(Op.WRITE, one.present[option])
    if one.sub == "index-pack" and "-o" in one.present:
        one.touch(Op.WRITE, one.present["-o"])


def tree_subcommand(one: Git) -> None:
    one.scan(
        ("-b", "-B", "-c", "-C", "--orphan", "-s", "--source", "-m", "-X", "--strategy", "--strategy-option", "-F",
         "--file", "--pathspec-from-file", "--onto", "-x", "--exec", "--conflict", "--prefix", "--create",
         "--force-create", "--index-output", "--upload-pack")
    )  # fmt: skip
    for name in ("-x", "--exec"):
        if one.sub == "rebase" and name in one.present:
            one.code(one.present[name], "rebase --exec")
    if "--upload-pack" in one.present:
        one.code(one.present["--upload-pack"], "--upload-pack")
    if "--index-output" in one.present:
        one.touch(Op.WRITE, one.present["--index-output"])
    if one.sub == "bisect" and one.paths()[:1] == ["run"]:
        nested(one.call, one.state, one.args[one.args.index("run") + 1 :])
    if one.sub == "pull":
        _transport(one, one.paths()[:1])
    if one.sub in ("checkout", "switch"):
        for name in ("-B", "-C", "--force-create"):
            if name in one.present:
                one.ref(one.present[name])
    if one.sub == "reset" and not one.has("--hard", "--merge", "--keep"):
        one.meta()
        return
    if one.sub == "restore" and one.has("--staged", "-S") and not one.has("--worktree", "-W"):
        one.meta()
        return
    if one.sub in ("checkout", "restore"):
        named = (
            one.operands[one.operands.index("--") + 1 :]
            if "--" in one.operands
            else (one.paths() if one.sub == "restore" else [])
        )
        for path in named:
            one.touch(Op.RENAME, one.pathspec(path), entry=True) if one.pathspec(path) not in (
                ".",
                "./",
                one.repo.top,
            ) else None
        if named and not any(p in (".", "./", ":/", "..") or p.startswith(":") for p in named):
            one.touch(Op.WRITE, one.repo.top)
            one.meta()
            return
    one.tree()


def _clean(one: Git) -> None:
    one.scan(("-e", "--exclude"))
    if one.has("-n", "--dry-run"):
        return
    for path in one.paths() or ["."]:
        one.touch(Op.WRITE, one.pathspec(path), deep=True)
    one.touch(Op.WRITE, one.repo.top)


def _rm(one: Git) -> None:
    one.scan(("--pathspec-from-file",))
    if not one.has("--cached", "-n", "--dry-run"):
        for path in one.paths():
            one.touch(Op.DELETE, one.pathspec(path))
    one.meta()


def _mv(one: Git) -> None:
    one.scan()
    names = one.paths()
    if len(names) > 1:
        for name in names[:-1]:
            one.touch(Op.RENAME, name)
        destination(one.call, one.state, names[-1], names[:-1], deep=False, entry=True)
    one.meta()


def _stash(one: Git) -> None:
    action = one.args[0] if one.args and not one.args[0].startswith("-") else "push"
    if action in ("list", "show"):
        read_subcommand(one)
        return
    if action == "apply":
        one.tree()
        return
    one.shared("refs/stash")
    one.tree() if action not in ("drop", "clear", "store", "create") else one.meta()


def _branch(one: Git) -> None:
    one.scan(("-u", "--set-upstream-to", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at",
              "--sort", "--format", "--column", "--color"))  # fmt: skip
    names = one.paths()
    forces = one.has("-d", "-D", "-m", "-M", "-c", "-C", "-f", "--delete", "--move", "--copy", "--force")
    if one.has("-u", "--set-upstream-to", "--unset-upstream", "--edit-description"):
        one.shared("config")
        return
    if not names and not forces:
        return
    if (
        one.has(
            "--list",
            "-l",
            "-a",
            "-r",
            "--all",
            "--remotes",
            "--contains",
            "--merged",
            "--no-merged",
            "--show-current",
        )
        and not forces
    ):
        return
    for name in names[: None if forces else 1]:
        one.ref(name)
    one.meta()


def _tag(one: Git) -> None:
    one.scan(
        ("-m", "--message", "-F", "--file", "-u", "--sort", "--contains", "--format", "--points-at", "-n")
    )
    if one.paths() and not one.has("-l", "--list", "--contains", "--points-at", "-v"):
        one.meta()


def _update_ref(one: Git) -> None:
    one.scan(("-m",))
    if one.has("--stdin"):
        one.walk.unknown("opaque.paths-from-file", "git update-ref --stdin")
    for name in one.paths()[:1]:
        one.ref(name)


def _symbolic_ref(one: Git) -> None:
    one.scan(("-m",))
    names = one.paths()
    if len(names) > 1 or one.has("-d", "--delete"):
        for name in names:
            one.ref(name)  # also the branch that HEAD would follow: its next commit moves it


def _reflog(one: Git) -> None:
    one.scan(("--expire", "--expire-unreachable", "--output"))
    if "--output" in one.present:
        one.touch(Op.WRITE, one.present["--output"])
    if one.paths()[:1] in (["expire"], ["delete"]):
        one.shared("logs/HEAD")


def _prune(one: Git) -> None:
    one.shared("objects/x")


def _remote(one: Git) -> None:
    one.scan(("-t", "-m", "--mirror"))
    action = one.paths()[0] if one.paths() else ""
    if action in ("", "show", "get-url"):
        return
    if action in ("update", "prune"):
        one.meta()
        return
    one.shared("config")


def _config(one: Git) -> None:
    one.scan(("-f", "--file", "--blob", "--default", "--type", "--get", "--get-all", "--get-regexp", "--get-urlmatch",
              "--comment", "--value"))  # fmt: skip
    words = one.paths()
    if words[:1] and words[0] in ("list", "get", "set", "unset", "edit", "remove-section", "rename-section"):
        action = words.pop(0)
    else:
        action = "unset" if one.has("--unset", "--unset-all", "--remove-section", "--rename-section") else ""
        action = "edit" if one.has("-e", "--edit") else action
    if action in ("list", "get") or one.has(
        "-l", "--list", "--get", "--get-all", "--get-regexp", "--get-urlmatch"
    ):
        return
    if not action and len(words) == 1:
        return
    if action == "edit" and not one.has("--global", "--system"):
        one.touch(Op.WRITE, f"{one.repo.common}/config")
        return
    key = words[0] if words else ""
    file = one.present.get("-f") or one.present.get("--file")
    if file:
        one.touch(Op.WRITE, file)
    elif one.has("--global"):
        for home in one.call.state.get("HOME"):
            one.touch(Op.WRITE, f"{home}/.gitconfig" if isinstance(home, str) else UNKNOWN)
    elif one.has("--system"):
        one.touch(Op.WRITE, "/etc/gitconfig")
    elif one.has("--worktree"):
        one.touch(Op.WRITE, f"{one.repo.git_dir}/config.worktree")
    elif UNKNOWN in key:
        one.walk.unknown("opaque.dynamic-path", f"git config {key}")
    elif one.repo.linked or not may_store(key):
        one.touch(Op.WRITE, f"{one.repo.common}/config")
    else:
        one.meta()


def _worktree(one: Git) -> None:
    action = one.args[0] if one.args else "list"
    one.args = one.args[1:]
    one.scan(("-b", "-B", "--reason", "--expire"))
    names = one.paths()
    if action == "list":
        return
    if action == "add":
        for name in names[:1]:
            one.touch(Op.CREATE, name)
            one.touch(Op.WRITE, name, deep=True, soft=True)
        if "-B" in one.present:
            one.ref(one.present["-B"])
        one.meta()
    elif action == "remove":
        for name in names:
            one.touch(Op.DELETE, name)
        one.shared("worktrees/x")
    elif action == "move":
        for name in names[:1]:
            one.touch(Op.RENAME, name)
        for name in names[1:]:
            one.touch(Op.CREATE, name)
        one.shared("worktrees/x")
    else:
        one.shared("worktrees/x")


def _submodule(one: Git) -> None:
    action = next((w for w in one.args if not w.startswith("-")), "status")
    if action in ("status", "summary"):
        return
    if action == "foreach":
        rest = one.args[one.args.index("foreach") + 1 :]
        while rest and rest[0].startswith("-"):
            rest.pop(0)
        one.code(" ".join(rest), "submodule foreach")
    if action == "add":
        one.args = one.args[one.args.index("add") + 1 :]
        one.scan(("-b", "--branch", "--name", "--depth", "--reference"))
        _transport(one, one.paths()[:1])
        for name in one.paths()[1:2]:
            one.touch(Op.CREATE, name)
    one.shared("modules/x")
    one.tree()


def _clone(one: Git) -> None:
    one.scan(("-b", "--branch", "-o", "--origin", "--depth", "-c", "--config", "-u", "--upload-pack", "--template",
              "--reference", "--separate-git-dir", "-j", "--jobs", "--filter", "--shallow-since", "--server-option",
              "--bundle-uri", "--reference-if-able"))  # fmt: skip
    for name in ("-c", "--config"):
        if name in one.present and key_kind(one.present[name].partition("=")[0]) != "harmless":
            one.walk.unknown("opaque.environment", f"git clone -c {one.present[name]}")
    for name in ("-u", "--upload-pack"):
        if name in one.present:
            one.code(one.present[name], f"clone {name}")
    if "--template" in one.present:
        one.walk.unknown("opaque.environment", "git clone --template")
    if "--separate-git-dir" in one.present:
        one.touch(Op.CREATE, one.present["--separate-git-dir"])
    names = one.paths()
    if not names:
        return
    source = names[0]
    _transport(one, [source], reading=True)
    if len(names) > 1:
        folder = names[1]
    else:
        base = source.rstrip("/").removesuffix("/.git").rpartition("/")[2].rpartition(":")[2]
        folder = base.removesuffix(".git") or "repository"
        if one.has("--bare", "--mirror"):
            folder += ".git"
    one.touch(Op.CREATE, folder)
    if UNKNOWN not in folder:
        one.state.folders |= {fold(one.state.cwds[0], folder)}


def _init(one: Git) -> None:
    one.scan(
        ("--template", "--separate-git-dir", "-b", "--initial-branch", "--object-format", "--ref-format")
    )
    if one.present.get("--template"):
        one.walk.unknown("opaque.environment", "git init --template")
    if "--separate-git-dir" in one.present:
        one.touch(Op.CREATE, one.present["--separate-git-dir"])
    for name in one.paths()[:1] or ["."]:
        one.touch(Op.WRITE, name)


def _transport(one: Git, remotes: list[str], *, reading: bool = False) -> None:
    """Addresses that run a program or are a folder of this machine."""
    del reading
    for remote in remotes:
        if remote.startswith(("ext::", "-")) or "::" in remote.split("/", 1)[0]:
            one.walk.unknown("opaque.dynamic-code", f"git {one.sub} {remote}")


def _push(one: Git) -> None:
    one.scan(("--repo", "--receive-pack", "--exec", "-o", "--push-option"))
    for name in ("--receive-pack", "--exec"):
        if name in one.present:
            one.code(one.present[name], f"push {name}")
    names = one.paths()
    remote = one.present.get("--repo") or (names[0] if names else "origin")
    if UNKNOWN in remote:
        one.walk.unknown("opaque.dynamic-path", f"git push {remote}")
        return
    _transport(one, [remote])
    urls = [remote]
    config = one.walk.disk.read_text(f"{one.repo.common}/config") or ""
    configured = config_value(config, f"remote.{remote}.pushurl") or config_value(
        config, f"remote.{remote}.url"
    )
    if configured:
        urls = configured
    elif "/" not in remote and not remote.startswith(".") and ":" not in remote:
        urls = []  # a name that nothing configures: git fails
    for url in urls:
        _transport(one, [url])
        path = url.removeprefix("file://")
        if path == ".":
            for spec in names[1:]:
                one.ref(spec.rpartition(":")[2].lstrip("+"))
        elif "://" not in path and (":" not in path.split("/", 1)[0]):
            # Relative addresses start at the top of the work tree.
            whole = path if path.startswith(("/", "~")) else f"{one.repo.top}/{path}"
            one.touch(Op.WRITE, whole)
            one.touch(Op.WRITE, whole, deep=True, soft=True)
    one.meta()


def _apply(one: Git) -> None:
    from ringfence.shell.editing import patch_source
    from ringfence.shell.patchtext import patched_names

    one.scan(("-p", "--directory", "-C", "--exclude", "--include", "--whitespace", "--build-fake-ancestor"))
    if one.has("--check", "--stat", "--numstat", "--summary") and not one.has("--apply"):
        return
    if "--build-fake-ancestor" in one.present:
        one.touch(Op.WRITE, one.present["--build-fake-ancestor"])
    folder = one.present.get("--directory", "")
    if folder:
        one.touch(Op.WRITE, folder)
    one.touch(Op.WRITE, one.repo.top if one.repo.found else ".")
    strip = one.present.get("-p", "1")
    for name in one.paths() or ["-"]:
        one.touch(Op.READ, name)
        text = patch_source(one.call, name)
        files = None if text is None else patched_names(text, int(strip) if strip.isdigit() else 1)
        if files is None:
            one.walk.unknown("opaque.paths-from-file", f"git apply: names from {name}")
            continue
        for file in files:
            one.touch(Op.WRITE, f"{folder}/{file}" if folder else file)
    one.meta()


def _archive(one: Git) -> None:
    one.scan(("-o", "--output", "--format", "--prefix", "--add-file", "--remote", "--exec"))
    for name in ("-o", "--output"):
        if name in one.present:
            one.touch(Op.WRITE, one.present[name])
    if "--exec" in one.present:
        one.code(one.present["--exec"], "archive --exec")


def _bundle(one: Git) -> None:
    one.scan()
    names = one.paths()
    if names[:1] == ["create"] and len(names) > 1 and names[1] != "-":
        one.touch(Op.WRITE, names[1])
    elif names[:1] == ["unbundle"]:
        one.meta()


def _format_patch(one: Git) -> None:
    one.scan(("-o", "--output-directory", "--output", "--subject-prefix", "--signature-file", "--start-number",
    "--base",
              "--to", "--cc", "--suffix", "-v"))  # fmt: skip
    if "--output" in one.present:
        one.touch(Op.WRITE, one.present["--output"])
    elif not one.has("--stdout"):
        one.touch(Op.WRITE, one.present.get("-o") or one.present.get("--output-directory") or ".")


def _checkout_index(one: Git) -> None:
    one.scan(("--prefix", "--stage"))
    if "--prefix" in one.present:
        one.touch(Op.CREATE, one.present["--prefix"] + "x")
    else:
        one.tree()


def _hash_object(one: Git) -> None:
    one.scan(("-t", "--path"))
    if one.has("-w"):
        one.meta()


def _merge_file(one: Git) -> None:
    one.scan(("-L",))
    if not one.has("-p", "--stdout"):
        for name in one.paths()[:1]:
            one.touch(Op.WRITE, name)


SUBCOMMANDS: dict[str, Callable[[Git], None]] = {
    "clean": _clean,
    "rm": _rm,
    "mv": _mv,
    "stash": _stash,
    "branch": _branch,
    "tag": _tag,
    "update-ref": _update_ref,
    "symbolic-ref": _symbolic_ref,
    "reflog": _reflog,
    "prune": _prune,
    "remote": _remote,
    "config": _config,
    "worktree": _worktree,
    "submodule": _submodule,
    "clone": _clone,
    "init": _init,
    "push": _push,
    "apply": _apply,
    "archive": _archive,
    "bundle": _bundle,
    "format-patch": _format_patch,
    "checkout-index": _checkout_index,
    "hash-object": _hash_object,
    "merge-file": _merge_file,
}
