"""git as people use it, as data: commands, layouts of a repository, and what is due. docs/git.md shows the same table.

A command runs by `sh -c` in the workspace. `$W` is the workspace, `$G` its own git folder, `$C` the shared one, `$B`
the folder around everything. A check runs there afterwards, without a fence.
"""

from __future__ import annotations

from typing import NamedTuple

WORKS, REFUSED, REPORTED, PARTLY = "works", "refused", "reported", "in part"
"""`refused`: the command fails and changes nothing. `reported`: it ends well, and ringfence says on stderr what it did
not do. `in part`: it ends well, and git says itself what it could not write (the shared config)."""

LAYOUTS = {
    "plain": "an ordinary checkout",
    "linked": "a linked worktree, its main checkout beside it",
    "bare": "a worktree of a bare repository",
    "submodule": "a checkout with a submodule in it",
    "nested": "a checkout with another repository in it",
    "pointer": "a `.git` file that names a folder outside the workspace",
}

_START = """
set -e
export GIT_CONFIG_GLOBAL=$B/gitconfig GIT_AUTHOR_DATE='@1700000000 +0000' GIT_COMMITTER_DATE='@1700000000 +0000'
git config -f $B/gitconfig user.name n; git config -f $B/gitconfig user.email n@example.com
git config -f $B/gitconfig init.defaultBranch main; git config -f $B/gitconfig protocol.file.allow always
history() {
  echo a > a; echo old > .mcp.json; echo line > both; git add .; git commit -qm first
  git branch foreign; git branch packed; git tag v1; git pack-refs --all; git branch loose
  git switch -qc other; echo o > from-other; git add .; git commit -qm other
  git switch -qc ahead main; echo o > from-ahead; echo theirs > both; git add .; git commit -qm ahead
  git switch -qc upstream main; echo new > .mcp.json; git add .; git commit -qm upstream; git switch -q main
}
git init -q --bare origin.git
git init -q seed; cd seed; history; git push -q --all ../origin.git; git push -q --tags ../origin.git
git switch -q main; git commit -q --allow-empty -m later; cd ..
"""
_REMOTE = "git remote add origin $B/origin.git; git fetch -q origin; git -C $B/seed push -q $B/origin.git HEAD:refs/heads/news HEAD:main\n"

BUILD = {
    "plain": _START + "mkdir ws; cd ws; git init -q; history\n" + _REMOTE,
    "linked": _START
    + "mkdir main; cd main; git init -q; history\n"
    + _REMOTE
    + "git worktree add -q -b second ../second; git worktree add -q -b wt ../ws\n",
    "bare": _START
    + "mkdir tmp; cd tmp; git init -q; history\n"
    + _REMOTE
    + "cd ..; mv tmp/.git repo.git; git -C repo.git config core.bare true; rm repo.git/index; rm -r tmp; cd repo.git\n"
    + "git worktree add -q -b second ../second; git worktree add -q -b wt ../ws\n",
    "submodule": _START + "mkdir ws; cd ws; git init -q; history\n" + _REMOTE
    + "git submodule --quiet add $B/origin.git sub; git commit -qm sub\n",
    "nested": _START + "mkdir ws; cd ws; git init -q; history\n" + _REMOTE
    + "mkdir inner; cd inner; git init -q; history\n",
    "pointer": _START + "mkdir ws; cd ws; git init -q --separate-git-dir $B/elsewhere; history\n" + _REMOTE,
}  # fmt: skip


class Command(NamedTuple):
    """Everyday work. `check` is true where it worked; `but` names the layouts where something else is due.

    Two commands are two calls, each in a fence of its own.
    """

    id: str
    commands: tuple[str, ...]
    check: str
    but: dict[str, str] = {}  # noqa: RUF012 - data, never changed


_WRITES = {"pointer": REFUSED}
_SHARED = {"pointer": REFUSED, "linked": REFUSED, "bare": REFUSED}
_COMMIT = "echo n > new; git add new && git commit -qm msg"
_SOUND = " && git fsck --connectivity-only >/dev/null 2>&1"

COMMANDS = (
    Command("status", ("git status --short && git log --oneline && git diff && git worktree list",), "true"),
    Command("add", ("echo n > new; git add new",), "git ls-files --error-unmatch new" + _SOUND, _WRITES),
    Command("commit", (_COMMIT,), "git log -1 --format=%s | grep -qx msg" + _SOUND, _WRITES),
    Command("add, then commit", ("echo n > new; git add new", "git commit -qm msg"), "git show HEAD:new" + _SOUND, _WRITES),
    Command("commit --amend", (_COMMIT, "git commit -q --amend -m again"), "git log -1 --format=%s | grep -qx again" + _SOUND, _WRITES),
    Command("branch", ("git branch fresh",), "git rev-parse -q --verify refs/heads/fresh", _WRITES),
    Command("branch -d of its own", ("git branch fresh", "git branch -d fresh"), "! git rev-parse -q --verify refs/heads/fresh", _WRITES),
    Command("branch -m of its own", ("git branch fresh", "git branch -m fresh renamed"), "git rev-parse -q --verify refs/heads/renamed && ! git rev-parse -q --verify refs/heads/fresh", {**_WRITES, "linked": PARTLY, "bare": PARTLY}),
    Command("tag", ("git tag t1 && git tag -a -m t t2",), "git rev-parse -q --verify t1 && git rev-parse -q --verify t2", _WRITES),
    Command("switch", ("git switch -q other",), "test -f from-other && git status --short -uno | (! grep .)", _WRITES),
    Command("switch -c, then commit twice", ("git switch -qc topic", _COMMIT, "git commit -q --allow-empty -m two"), "git log -1 --format=%s topic | grep -qx two" + _SOUND, _WRITES),
    Command("switch and commit there", ("git switch -q other && " + _COMMIT,), "git log -1 --format=%s other | grep -qx msg" + _SOUND, _WRITES),
    Command("merge", (_COMMIT, "git merge -q -m merged other"), "git log -1 --format=%s | grep -qx merged && test -f from-other" + _SOUND, _WRITES),
    Command("merge --ff-only", ("git switch -qc ff loose && git merge -q --ff-only other",), "test -f from-other" + _SOUND, _WRITES),
    Command("rebase", (_COMMIT, "git rebase -q ahead"), "test -f from-ahead && test -f new" + _SOUND, _WRITES),
    Command("rebase, conflict, --continue", ("echo mine > both; git commit -qam mine", "git rebase ahead; test -d $(git rev-parse --git-path rebase-merge)", "echo done > both; git add both && GIT_EDITOR=true git rebase --continue"), "git log -1 --format=%s | grep -qx mine && test -f from-ahead" + _SOUND, _WRITES),
    Command("cherry-pick, revert, reset --hard", ("git cherry-pick other && git revert --no-edit HEAD && git reset -q --hard HEAD~1",), "test -f from-other" + _SOUND, _WRITES),
    Command("fetch", ("git fetch -q origin",), "git rev-parse -q --verify refs/remotes/origin/news && git log -1 --format=%s origin/main | grep -qx later" + _SOUND, _WRITES),
    Command("fetch and merge", ("git fetch -q origin && git merge -q -m m origin/news",), "git log --format=%s | grep -qx later" + _SOUND, _WRITES),
    Command("stash, stash pop", ("echo changed > a; git stash -q", "git stash pop -q"), "grep -qx changed a && ! git rev-parse -q --verify refs/stash", _SHARED),
    Command("config user.email", ("git config user.email me@example.com",), "git config user.email | grep -qx me@example.com", _SHARED),
    Command("remote add", ("git remote add more https://example.invalid/x.git",), "git config remote.more.url", _SHARED),
    Command("checkout -b x origin/y", ("git checkout -q -b x origin/other",), "git rev-parse -q --verify refs/heads/x && test -f from-other", {"pointer": REFUSED, "linked": PARTLY, "bare": PARTLY}),
    Command("gc", ("git gc -q",), "git fsck", _SHARED),
    Command("switch over a guarded file", ("git switch -q --detach upstream",), "true", {name: REPORTED for name in LAYOUTS} | _WRITES),
)  # fmt: skip


class Attack(NamedTuple):
    """What must not land. `landed` is true where it did; `landlock` where Landlock alone leaves it open."""

    id: str
    command: str
    landed: str
    layouts: tuple[str, ...]
    landlock: tuple[str, ...] = ()  # layouts where it lands under Landlock alone


_ALL = tuple(LAYOUTS)
_OWN = ("plain", "submodule", "nested")  # the repository lies in the workspace
_LINKED = ("linked", "bare")
_HOOK = "printf '#!/bin/sh\\n' > {0} && chmod +x {0}"

KEYS = (
    "core.fsmonitor", "core.hooksPath", "core.sshCommand", "core.editor", "core.pager", "core.gitProxy",
    "core.askPass", "core.attributesFile", "core.alternateRefsCommand", "filter.x.clean", "filter.x.smudge",
    "filter.x.process", "alias.st", "diff.x.command", "diff.x.textconv", "diff.external", "merge.x.driver",
    "include.path", "includeIf.gitdir:/.path", "remote.origin.uploadpack", "remote.origin.receivepack",
    "remote.origin.vcs", "credential.helper", "gpg.program", "gpg.ssh.program", "sequence.editor",
    "url./x.insteadOf", "submodule.x.update", "interactive.diffFilter", "uploadpack.packObjectsHook",
    "difftool.x.cmd", "mergetool.x.cmd", "browser.x.cmd", "pager.log", "sendemail.smtpServer", "trailer.x.command",
    "tar.x.command", "web.browser", "init.templateDir", "receive.procReceiveRefs", "extensions.worktreeConfig",
)  # fmt: skip

ATTACKS = (
    Attack("a hook", _HOOK.format("$C/hooks/post-commit"), "test -e $C/hooks/post-commit", _ALL, _OWN),
    Attack("a key in config", "git config core.fsmonitor ./x", "git config core.fsmonitor", _ALL),
    Attack("a key through a rewritten config", "printf '[core]\\nfsmonitor=./x\\n' >> $C/config", "git config core.fsmonitor", _ALL),
    Attack("config.worktree", "git config extensions.worktreeConfig true; printf '[core]\\nfsmonitor=./x\\n' > $G/config.worktree", "test -e $G/config.worktree", _ALL),
    Attack("commondir", "mkdir evil && echo $W/evil > $G/commondir", "grep -q evil $G/commondir", _ALL),
    Attack("info/attributes", "mkdir -p $C/info && echo '* filter=x' > $C/info/attributes", "test -e $C/info/attributes", _ALL),
    Attack("a rebase state with exec", "mkdir -p $G/rebase-merge && echo 'exec touch evil' > $G/rebase-merge/git-rebase-todo", "grep -q '^exec' $G/rebase-merge/git-rebase-todo", _ALL),
    Attack("a strategy of one's own", "mkdir -p $G/rebase-merge && echo evil > $G/rebase-merge/strategy", "grep -q evil $G/rebase-merge/strategy", _ALL),
    Attack("the .git file", 'rm -f .git; mkdir evil; echo "gitdir: $W/evil" > .git', "grep -q evil .git", ("linked", "bare", "pointer"), ("linked", "bare", "pointer")),
    Attack(".git moved away and rebuilt", "mv .git old && git init -q . && " + _HOOK.format(".git/hooks/post-commit"), "test -e .git/hooks/post-commit", _OWN),
    Attack("a submodule's hook", _HOOK.format("$C/modules/sub/hooks/post-commit"), "test -e $C/modules/sub/hooks/post-commit", ("submodule",), ("submodule",)),
    Attack("a submodule's config", "git -C sub config core.fsmonitor ./x", "git -C sub config core.fsmonitor", ("submodule",)),
    Attack("a nested repository's hook", _HOOK.format("inner/.git/hooks/post-commit"), "test -e inner/.git/hooks/post-commit", ("nested",), ("nested",)),
    Attack("a nested repository's config", "git -C inner config core.fsmonitor ./x", "git -C inner config core.fsmonitor", ("nested",)),
    Attack("a nested .git moved away and rebuilt", "cd inner && mv .git old && git init -q . && " + _HOOK.format(".git/hooks/post-commit"), "test -e inner/.git/hooks/post-commit", ("nested",), ("nested",)),
    Attack("rm -rf of the shared objects", "rm -rf $C/objects/*", "! git -C $C fsck", (*_LINKED, "pointer")),
    Attack("an object overwritten", "f=$(find $C/objects -type f -path '*/??/*' | head -1); chmod u+w $f; : > $f", "! git -C $C fsck", (*_LINKED, "pointer")),
    Attack("an object under a wrong name", "mkdir -p $C/objects/ab && echo x > $C/objects/ab/cdefabcdefabcdefabcdefabcdefabcdefabcd", "test -e $C/objects/ab/cdefabcdefabcdefabcdefabcdefabcdefabcd", (*_LINKED, "pointer")),
    Attack("alternates", "echo $W > $C/objects/info/alternates", "test -e $C/objects/info/alternates", (*_LINKED, "pointer")),
    Attack("another tree's branch", "git update-ref refs/heads/second $(git commit-tree -p HEAD -m x HEAD^{tree})", "git log -1 --format=%s second | grep -qx x", _LINKED),
    Attack("the main checkout's branch", "git update-ref refs/heads/main $(git commit-tree -p HEAD -m x HEAD^{tree})", "git log -1 --format=%s main | grep -qx x", ("linked",)),
    Attack("a foreign branch, loose", "git update-ref refs/heads/loose $(git commit-tree -m x HEAD^{tree})", "git log -1 --format=%s loose | grep -qx x", _LINKED),
    Attack("a foreign branch, packed", "git update-ref refs/heads/packed $(git commit-tree -m x HEAD^{tree})", "git log -1 --format=%s packed | grep -qx x", _LINKED),
    Attack("a foreign branch through packed-refs", 'c=$(git commit-tree -m x HEAD^{tree}); sed -i "s,^[0-9a-f]* refs/heads/packed,$c refs/heads/packed," $C/packed-refs', "git log -1 --format=%s packed | grep -qx x", _LINKED),
    Attack("a foreign branch deleted, loose", "git branch -D loose", "! git rev-parse -q --verify refs/heads/loose", _LINKED),
    Attack("a foreign branch deleted, packed", "git branch -D packed", "! git rev-parse -q --verify refs/heads/packed", _LINKED),
    Attack("a foreign branch through HEAD", "git symbolic-ref HEAD refs/heads/loose; git update-ref refs/heads/loose $(git commit-tree -m x HEAD^{tree})", "git log -1 --format=%s loose | grep -qx x", _LINKED),
    Attack("HEAD on another tree's branch", "git symbolic-ref HEAD refs/heads/second", "git symbolic-ref HEAD | grep -qx refs/heads/second", _LINKED),
    Attack("all refs removed", "rm -rf $C/refs/* $C/packed-refs", "! git -C $C rev-parse -q --verify refs/heads/foreign", (*_LINKED, "pointer")),
    Attack("an existing tag", "git tag -f v1 $(git commit-tree -m x HEAD^{tree})", "git log -1 --format=%s v1 | grep -qx x", _LINKED),
    Attack("refs/stash", "git update-ref --create-reflog refs/stash $(git stash create || git rev-parse HEAD) || git update-ref refs/stash HEAD", "git rev-parse -q --verify refs/stash", _LINKED),
    Attack("a remote-tracking ref rewound", "git update-ref refs/remotes/origin/main $(git commit-tree -m x HEAD^{tree})", "git log -1 --format=%s origin/main | grep -qx x", _LINKED),
    Attack("the shared HEAD", "echo ref: refs/heads/evil > $C/HEAD", "grep -q evil $C/HEAD", _LINKED),
    Attack("the main checkout's index", "echo > $C/index", "! git -C $B/main status", ("linked",)),
    Attack("another worktree's HEAD", "echo ref: refs/heads/evil > $C/worktrees/second/HEAD", "grep -q evil $C/worktrees/second/HEAD", _LINKED),
    Attack("another worktree's rebase", "mkdir $C/worktrees/second/rebase-merge", "test -e $C/worktrees/second/rebase-merge", _LINKED),
    Attack("its own gitdir", "echo /evil/.git > $G/gitdir", "grep -q evil $G/gitdir", _LINKED),
    Attack("its own folder moved away", "mv $G $C/worktrees/moved", "test -e $C/worktrees/moved", _LINKED),
    Attack("a replace ref", "git replace HEAD $(git commit-tree -m x HEAD^{tree})", "git replace -l | grep -q .", _LINKED),
    Attack("grafts and shallow", "git rev-parse HEAD > $C/shallow", "test -s $C/shallow", _LINKED),
)  # fmt: skip


def table() -> list[str]:
    """The table in docs/git.md."""
    lines = ["| command | " + " | ".join(LAYOUTS) + " |", "|---|" + "---|" * len(LAYOUTS)]
    lines += [
        f"| `{row.id}` | " + " | ".join(row.but.get(name, WORKS) for name in LAYOUTS) + " |"
        for row in COMMANDS
    ]
    lines += ["", "| attack | where it was tried | Landlock alone |", "|---|---|---|"]
    for row in ATTACKS:
        where = "everywhere" if row.layouts == _ALL else ", ".join(row.layouts)
        lines.append(
            f"| {row.id} | {where} | {'open: ' + ', '.join(row.landlock) if row.landlock else 'held'} |"
        )
    return lines
