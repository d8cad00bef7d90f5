"""Flags, environment, project, user, site: who wins, what adds up, what an untrusted file may say."""

from __future__ import annotations

import os

import pytest

from ringfence.errors import PolicyError, UsageError
from ringfence.model import Access, Op, Strength, Verdict, ZoneKind
from ringfence.policy import trust
from ringfence.policy.gather import KNOWN_VARIABLES
from tests.support.policy_rig import Rig, verdict


@pytest.fixture
def rig(tmp_path):
    return Rig(tmp_path)


def trusted(rig, text):
    path = rig.project(text)
    trust.trust(rig.folders.state, path, text.encode())
    return path


# --- restriction -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "env", "restricted"),
    [
        ({}, {}, False),
        ({"workspace": (".",)}, {}, True),
        ({"restrict": True}, {}, True),
        ({"no_restrict": True}, {}, False),
        ({"workspace": (".",), "no_restrict": True}, {}, False),
        ({}, {"RINGFENCE_WORKSPACE": "."}, True),
        ({}, {"RINGFENCE_RESTRICT_PATHS": "1"}, True),
        ({}, {"RINGFENCE_RESTRICT_PATHS": "0"}, False),
        ({"workspace": (".",)}, {"RINGFENCE_NO_RESTRICT_PATHS": "1"}, False),
        ({"restrict": True}, {"RINGFENCE_NO_RESTRICT_PATHS": "1"}, True),
        ({"no_restrict": True}, {"RINGFENCE_RESTRICT_PATHS": "1"}, False),
    ],
)
def test_when_a_fence_restricts(rig, flags, env, restricted):
    assert rig.policy(env=env, **flags).restricted is restricted


def test_restricting_without_a_workspace_fences_to_the_cwd(rig):
    policy = rig.policy(restrict=True, cwd="main")
    assert policy.workspace == (rig.path("main"),)
    assert policy.zones[0].rule.source == "--restrict-paths"
    assert verdict(policy, Op.WRITE, rig.path("main/x")) == "allow"
    assert verdict(policy, Op.WRITE, rig.path("ws/x")) == "deny"


def test_both_flags_are_a_usage_error(rig):
    with pytest.raises(UsageError) as caught:
        rig.load(restrict=True, no_restrict=True)
    assert (
        str(caught.value)
        == "--restrict-paths and --no-restrict-paths contradict each other\n  give one of the two"
    )
    assert caught.value.exit_code == 2
    with pytest.raises(UsageError):
        rig.load(env={"RINGFENCE_RESTRICT_PATHS": "1", "RINGFENCE_NO_RESTRICT_PATHS": "1"})


# --- environment -----------------------------------------------------------------------------------------

BAD_ENV = [
    (
        {"RINGFENCE_WORKSPCE": "/x"},
        'RINGFENCE_WORKSPCE: unknown variable; did you mean "RINGFENCE_WORKSPACE"?\n  correct or unset it',
    ),
    (
        {"RINGFENCE_WORKSPACE": ""},
        'RINGFENCE_WORKSPACE: the path is empty\n  write "." for the folder itself',
    ),
    (
        {"RINGFENCE_PROTECT": "/a::/b"},
        'RINGFENCE_PROTECT: the path is empty\n  write "." for the folder itself',
    ),
    ({"RINGFENCE_READS": "any"}, 'RINGFENCE_READS: reads = "any" is not known; one of: workspace, anywhere'),
    ({"RINGFENCE_TEMP": ""}, 'RINGFENCE_TEMP: temp = "" is not known; one of: none, private, shared'),
    ({"RINGFENCE_RESTRICT_PATHS": "true"}, 'RINGFENCE_RESTRICT_PATHS: takes "1" or "0", not "true"'),
    ({"RINGFENCE_NO_RESTRICT_PATHS": ""}, 'RINGFENCE_NO_RESTRICT_PATHS: takes "1" or "0", not ""'),
]


@pytest.mark.parametrize(("env", "message"), BAD_ENV)
def test_a_bad_variable_is_an_exact_message(rig, env, message):
    with pytest.raises(PolicyError) as caught:
        rig.load(env=env)
    assert str(caught.value) == message


def test_every_known_variable_is_accepted(rig):
    rig.write("p.toml", "")
    values = {
        "RINGFENCE_WORKSPACE": "ws:main",
        "RINGFENCE_PROTECT": "site",
        "RINGFENCE_POLICY": "p.toml",
        "RINGFENCE_READS": "anywhere",
        "RINGFENCE_TEMP": "none",
        "RINGFENCE_RESTRICT_PATHS": "1",
        "RINGFENCE_NO_RESTRICT_PATHS": "0",
        "RINGFENCE_SESSION": "s",
        "RINGFENCE_FENCE": "f",
    }
    assert set(values) == set(KNOWN_VARIABLES)
    policy = rig.policy(cwd=".", env={**values, "PATH": "/bin", "RINGFENCED": "no key of ours"})
    assert policy.workspace == (rig.path("ws"), rig.path("main"))
    assert (policy.reads, policy.temp) == ("anywhere", "none")
    assert [z.rule.source for z in policy.zones if z.kind is ZoneKind.PROTECT] == ["RINGFENCE_PROTECT"]


# --- who wins --------------------------------------------------------------------------------------------


def test_the_highest_layer_that_sets_a_word_wins(rig):
    rig.write(
        "site/ringfence.toml", 'reads = "anywhere"\nopaque = "allow"\ntemp = "shared"\ncaches = "none"\n'
    )
    rig.user('opaque = "ask"\ntemp = "none"\nstrict = true\n')
    trusted(rig, 'temp = "shared"\nunattended = "allow"\n')
    loaded = rig.load(workspace=(".",), env={"RINGFENCE_TEMP": "private"}, settings=(("reads", "workspace"),))
    places = {key: (word.value, rig.short(word.place)) for key, word in loaded.compiled.words.items()}
    assert places == {
        "reads": ("workspace", "reads="),
        "shell_reads": ("anywhere", "built in"),
        "opaque": ("ask", "@/home/.config/ringfence/ringfence.toml:1"),
        "unattended": ("allow", "@/ws/ringfence.toml:2"),
        "minimum": ("kernel", "built in"),
        "strict": ("true", "@/home/.config/ringfence/ringfence.toml:3"),
        "temp": ("private", "RINGFENCE_TEMP"),
        "caches": ("none", "@/site/ringfence.toml:4"),
        "git_config": ("vet", "built in"),
    }
    policy = loaded.policy
    assert (policy.opaque, policy.unattended, policy.strict) == (Verdict.ASK, Verdict.ALLOW, True)


@pytest.mark.parametrize(
    ("system", "minimum"), [("linux", Strength.KERNEL), ("darwin", Strength.HOOK), ("win32", Strength.HOOK)]
)
def test_the_default_minimum_is_what_the_platform_can_hold(rig, system, minimum):
    assert rig.policy(system=system).minimum is minimum


@pytest.mark.parametrize(
    ("word", "minimum"), [("kernel", Strength.KERNEL), ("hook", Strength.HOOK), ("none", Strength.NOT_HERE)]
)
def test_minimum_words(rig, word, minimum):
    rig.user(f'minimum = "{word}"')
    assert rig.policy().minimum is minimum


def test_zones_protect_and_unguard_of_all_layers_add_up(rig):
    rig.write("site/ringfence.toml", f'protect = ["{rig.path("main")}"]\n')
    rig.user('unguard = ["husky"]\n[[zone]]\npath = "~/cache"\naccess = "write"\n')
    trusted(rig, 'protect = ["sub"]\nunguard = ["claude"]\n')
    loaded = rig.load(workspace=(".",), protect=("other",))
    policy = loaded.policy
    roots = {rig.short(z.root): z.access for z in policy.zones if z.kind in (ZoneKind.PROTECT, ZoneKind.ZONE)}
    assert roots == {
        "@/main": Access.READ,
        "@/ws/sub": Access.READ,
        "@/ws/other": Access.READ,
        "@/home/cache": Access.WRITE,
    }
    ids = {glob.rule.id for glob in policy.globs}
    assert "husky" not in ids
    assert "claude" not in ids
    assert "codex" in ids


def test_the_workspace_is_the_highest_layers_alone(rig):
    rig.user('workspace = ["~"]')
    trusted(rig, 'workspace = [".", "../main"]')
    assert rig.policy().workspace == (rig.path("ws"), rig.path("main"))
    assert rig.policy(env={"RINGFENCE_WORKSPACE": rig.path("ws")}).workspace == (rig.path("ws"),)
    assert rig.policy(workspace=("../main",), env={"RINGFENCE_WORKSPACE": "."}).workspace == (
        rig.path("main"),
    )
    assert rig.policy(cwd="main").workspace == (rig.path("home"),)


def test_among_files_of_several_workspaces_the_strictest_counts(rig):
    trusted(rig, 'reads = "anywhere"\nopaque = "allow"\n')
    other = rig.write("main/ringfence.toml", 'opaque = "deny"\n')
    trust.trust(rig.folders.state, other, b'opaque = "deny"\n')
    policy = rig.policy(workspace=(".", "../main"))
    assert (policy.reads, policy.opaque) == ("anywhere", Verdict.DENY)


# --- which project file ----------------------------------------------------------------------------------


def test_every_file_upward_counts_and_a_nearer_one_takes_nothing_away(rig):
    """An agent can plant one in a folder below: it must not hide the outer one's rules."""
    rig.project('opaque = "deny"\nworkspace = ["."]')
    os.makedirs(rig.path("ws/a/b"))
    assert rig.policy(cwd="ws/a/b").opaque is Verdict.DENY
    rig.write("ws/a/ringfence.toml", "")
    policy = rig.policy(cwd="ws/a/b")
    assert policy.opaque is Verdict.DENY
    assert policy.workspace == (rig.path("ws"),)
    rig.write("ws/a/ringfence.toml", 'workspace = ["."]')
    assert rig.policy(cwd="ws/a/b").workspace == (rig.path("ws/a"),)
    rig.write("ws/a/ringfence.toml", 'workspace = [".."]')
    assert rig.policy(cwd="ws/a/b").workspace == (rig.path("ws"),)


def test_a_given_workspace_decides_where_the_project_file_is(rig):
    rig.project('opaque = "deny"')
    assert rig.policy(cwd="ws", workspace=("../main",)).opaque is Verdict.ASK
    assert rig.policy(cwd="main", workspace=("../ws",)).opaque is Verdict.DENY
    assert rig.policy(cwd="ws", files=False).opaque is Verdict.ASK


def test_a_named_policy_replaces_the_project_and_is_trusted(rig):
    rig.project('opaque = "deny"')
    rig.write("main/p.toml", 'reads = "anywhere"\nworkspace = ["../ws"]\n')
    for given in ({"policy": "../main/p.toml"}, {"env": {"RINGFENCE_POLICY": rig.path("main/p.toml")}}):
        policy = rig.policy(**given)
        assert (policy.reads, policy.opaque, policy.workspace) == ("anywhere", Verdict.ASK, (rig.path("ws"),))
        assert policy.notes == ()


def test_a_named_policy_that_is_missing(rig):
    rig.write("main/policy.toml", "")
    with pytest.raises(PolicyError) as caught:
        rig.load(policy="../main/polcy.toml")
    assert (
        str(caught.value) == '--policy: there is no file "../main/polcy.toml"\n  did you mean "policy.toml"?'
    )
    with pytest.raises(PolicyError) as caught:
        rig.load(env={"RINGFENCE_POLICY": "/nowhere/at/all.toml"})
    assert str(caught.value) == (
        'RINGFENCE_POLICY: there is no file "/nowhere/at/all.toml"\n  there is no folder /nowhere/at either'
    )


def test_a_policy_that_cannot_be_read_is_not_an_absent_one(rig):
    os.mkfifo(rig.path("ws/ringfence.toml"))
    with pytest.raises(PolicyError) as caught:
        rig.load(workspace=(".",))
    assert rig.short(caught.value) == "@/ws/ringfence.toml: cannot be read: not a regular file"


def test_a_link_loop_is_not_an_absent_file(rig):
    os.symlink("ringfence.toml", rig.path("ws/ringfence.toml"))
    with pytest.raises(PolicyError) as caught:
        rig.load(workspace=(".",))
    assert rig.short(caught.value) == (
        "@/ws/ringfence.toml: cannot be read: Too many levels of symbolic links\n"
        "  a policy that cannot be read is never taken for an absent one"
    )


# --- before trust ----------------------------------------------------------------------------------------

WIDENING = [
    ('reads = "anywhere"', 'reads = "anywhere"', "it widens the fence and the file is not trusted"),
    ('opaque = "allow"', 'opaque = "allow"', "it widens the fence and the file is not trusted"),
    ('unattended = "allow"', 'unattended = "allow"', "it widens the fence and the file is not trusted"),
    ('minimum = "hook"', 'minimum = "hook"', "it widens the fence and the file is not trusted"),
    ('temp = "shared"', 'temp = "shared"', "it widens the fence and the file is not trusted"),
    ('caches = "shared"', 'caches = "shared"', "it widens the fence and the file is not trusted"),
    ('git_config = "open"', 'git_config = "open"', "it widens the fence and the file is not trusted"),
    ('unguard = ["claude"]', 'unguard = ["claude"]', "it widens the fence and the file is not trusted"),
    (
        '[[zone]]\npath = "../main"\naccess = "write"',
        'zone "../main" (write)',
        "it grants writing and the file is not trusted",
    ),
    (
        '[[zone]]\npath = "sub"\naccess = "write"',
        'zone "sub" (write)',
        "it grants writing and the file is not trusted",
    ),
    (
        '[[zone]]\npath = "../main"\naccess = "read"',
        'zone "../main" (read)',
        "it grants reading what could not be read and the file is not trusted",
    ),
]


@pytest.mark.parametrize(("text", "what", "why"), WIDENING)
def test_what_widens_is_left_out_and_said(rig, text, what, why):
    plain = rig.policy(workspace=(".",))
    path = rig.project(text)
    line = text[: text.find("path")].count("\n") + 1 if "path" in text else 1
    policy = rig.policy(workspace=(".",))
    assert policy.notes == (
        f"{path}:{line}: left out {what}: {why}; to accept the file: ringfence policy trust {path}",
    )
    assert policy._replace(notes=()) == plain
    trust.trust(rig.folders.state, path, text.encode())
    accepted = rig.policy(workspace=(".",))
    assert accepted.notes == ()
    assert accepted != plain


def test_what_narrows_is_applied_before_trust(rig):
    rig.user('reads = "anywhere"\nopaque = "allow"\ntemp = "shared"\nstrict = false\n')
    rig.project(
        'protect = ["keep"]\nreads = "workspace"\nopaque = "deny"\ntemp = "private"\nstrict = true\n'
        'git_config = "guard"\nshell_reads = "system"\n'
        '[[zone]]\npath = "**/.env"\naccess = "none"\n[[zone]]\npath = "docs"\naccess = "read"\n'
    )
    policy = rig.policy(workspace=(".",))
    assert policy.notes == ()
    assert (policy.reads, policy.opaque, policy.temp, policy.strict) == (
        "workspace",
        Verdict.DENY,
        "private",
        True,
    )
    assert (policy.git_config, policy.shell_reads) == ("guard", "system")
    assert verdict(policy, Op.WRITE, rig.path("ws/keep/x")) == "deny"
    assert verdict(policy, Op.READ, rig.path("ws/a/.env")) == "deny"
    assert verdict(policy, Op.WRITE, rig.path("ws/docs/x")) == "deny"
    assert verdict(policy, Op.READ, rig.path("ws/docs/x")) == "allow"


def test_an_untrusted_read_pattern_over_somebodys_none_rule_is_left_out(rig):
    rig.user(f'[[zone]]\npath = "{rig.path("ws/secret")}"\naccess = "none"\n')
    path = rig.project('[[zone]]\npath = "**/x"\naccess = "read"\n')
    policy = rig.policy(workspace=(".",))
    assert verdict(policy, Op.READ, rig.path("ws/secret/x")) == "deny"
    assert policy.notes == (
        (
            f'{path}:2: left out zone "**/x" (read): it is a pattern over a tree with `none` rules of other files and'
            f" the file is not trusted; to accept the file: ringfence policy trust {path}"
        ),
    )
    # The same rule, were it applied, would show the secret: this is what the law forbids.
    trust.trust(rig.folders.state, path, b'[[zone]]\npath = "**/x"\naccess = "read"\n')
    assert verdict(rig.policy(workspace=(".",)), Op.READ, rig.path("ws/secret/x")) == "allow"


@pytest.mark.parametrize(
    ("user", "text", "cwd", "roots", "why"),
    [
        ("", '["."]', "ws", ["@/ws"], ""),
        ("", '["sub"]', "ws", ["@/ws/sub"], ""),
        ("", '[".."]', "ws", [], "it lies outside the file's own folder and the file is not trusted"),
        ("", '["/"]', "ws", [], "it lies outside the file's own folder and the file is not trusted"),
        ("", '["link"]', "ws", [], "it lies outside the file's own folder and the file is not trusted"),
        ('["@/ws"]', '["sub"]', "ws", ["@/ws/sub"], ""),
        (
            '["@/main"]',
            '["."]',
            "ws",
            ["@/main"],
            "it lies outside the workspace that there would be without the file, and the file is not trusted",
        ),
    ],
)
def test_the_workspace_of_an_untrusted_file(rig, user, text, cwd, roots, why):
    os.makedirs(rig.path("ws/sub"))
    os.symlink(rig.path("main"), rig.path("ws/link"))
    if user:
        rig.user(f"workspace = {user}".replace("@", rig.base))
    rig.project(f"workspace = {text}")
    if not roots:
        # Going on without any fence would be the last thing that whoever wrote the file expects.
        with pytest.raises(PolicyError, match=why):
            rig.policy(cwd=cwd)
        return
    policy = rig.policy(cwd=cwd)
    assert [rig.short(root) for root in policy.workspace] == roots
    assert policy.restricted is bool(roots)
    assert [why in note for note in policy.notes] == [True] * bool(why)


def test_an_untrusted_workspace_may_not_grow_a_fence_around_the_cwd(rig):
    os.makedirs(rig.path("ws/sub/deeper"))
    rig.project('workspace = ["."]')
    policy = rig.policy(cwd="ws/sub", restrict=True)
    assert policy.workspace == (rig.path("ws/sub"),)
    assert "it lies outside the workspace that there would be without the file" in policy.notes[0]
    rig.project('workspace = ["sub/deeper"]')
    assert rig.policy(cwd="ws/sub", restrict=True).workspace == (rig.path("ws/sub/deeper"),)


def test_an_untrusted_protect_may_not_make_anything_readable(rig):
    """Naming a tree as protected grants reading it: a clone must not open the home to file tools that way."""
    path = rig.project('protect = ["~", "../main", "keep"]\n')
    policy = rig.policy(workspace=(".",))
    assert verdict(policy, Op.READ, rig.path("home/.ssh/id")) == "deny"
    assert verdict(policy, Op.WRITE, rig.path("main/x")) == "deny"
    assert verdict(policy, Op.WRITE, rig.path("ws/keep/x")) == "deny"
    assert [note.split(": ", 1)[1].split(";")[0] for note in policy.notes] == [
        f'left out protect "{text}": it grants reading what could not be read and the file is not trusted'
        for text in ("~", "../main")
    ]
    trust.trust(rig.folders.state, path, b'protect = ["~", "../main", "keep"]\n')
    assert verdict(rig.policy(workspace=(".",)), Op.READ, rig.path("home/.ssh/id")) == "allow"


@pytest.mark.parametrize(("system", "hidden"), [("linux", False), ("darwin", True), ("win32", True)])
def test_where_names_fold_another_case_does_not_pass(rig, system, hidden):
    rig.user(f'[[zone]]\npath = "{rig.path("ws/Secret")}"\naccess = "none"\n')
    rig.project('[[zone]]\npath = "secret/x"\naccess = "read"\n')
    assert bool(rig.policy(workspace=(".",), system=system).notes) is hidden


def test_another_copy_or_one_more_byte_is_not_trusted(rig):
    text = 'reads = "anywhere"\n'
    trusted(rig, text)
    assert rig.policy(workspace=(".",)).reads == "anywhere"
    rig.project(text + "#")
    assert rig.policy(workspace=(".",)).reads == "workspace"
    rig.project(text)
    assert rig.policy(workspace=(".",)).reads == "anywhere"
    rig.write("main/ringfence.toml", text)
    assert rig.policy(workspace=("../main",)).reads == "workspace"
    assert trust.distrust(rig.folders.state, rig.path("ws/ringfence.toml"), text.encode())
    assert rig.policy(workspace=(".",)).reads == "workspace"


# --- the library's words ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ((("reads", "all"),), 'reads=: reads = "all" is not known; one of: workspace, anywhere'),
        ((("temp", "privat"),), 'temp=: temp = "privat" is not known; did you mean "private"?'),
        ((("read", "anywhere"),), 'read=: unknown setting "read"; did you mean "reads"?'),
        (
            (("workspace", "x"),),
            'workspace=: unknown setting "workspace"; one of: reads, shell_reads, opaque, unattended, minimum, strict, temp, caches, git_config',
        ),
    ],
)
def test_a_bad_setting_is_an_exact_message(rig, settings, message):
    with pytest.raises(PolicyError) as caught:
        rig.load(settings=settings)
    assert str(caught.value) == message


# --- who may have written it -----------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["user", "site", "named"])
def test_a_believed_file_that_others_may_write_stops_everything(rig, where):
    given = {"policy": "p.toml"} if where == "named" else {}
    names = {
        "user": "home/.config/ringfence/ringfence.toml",
        "site": "site/ringfence.toml",
        "named": "ws/p.toml",
    }
    path = rig.write(names[where], 'reads = "anywhere"\n')
    assert rig.policy(**given).reads == "anywhere"
    os.chmod(path, 0o666)
    with pytest.raises(PolicyError) as caught:
        rig.load(**given)
    assert str(caught.value) == (
        f"{path}: cannot be believed: everybody may write it\n"
        "  make it yours (or root's) and writable by you alone: chmod go-w"
    )
    os.chmod(path, 0o644)
    os.chmod(os.path.dirname(path), 0o777)
    with pytest.raises(PolicyError) as caught:
        rig.load(**given)
    assert f"of the folder {os.path.dirname(path)}: everybody may write it" in str(caught.value)


def test_the_folders_behind_a_link_count_too(rig):
    path = rig.write("dotfiles/ringfence.toml", 'reads = "anywhere"\n')
    os.symlink(path, rig.path("home/.config/ringfence/ringfence.toml"))
    assert rig.policy().reads == "anywhere"
    os.chmod(rig.path("dotfiles"), 0o777)
    with pytest.raises(PolicyError) as caught:
        rig.load()
    assert f"of the folder {rig.path('dotfiles')}: everybody may write it" in str(caught.value)


def test_a_projects_file_needs_no_owner_because_it_is_not_believed(rig):
    path = rig.project('opaque = "deny"\n')
    os.chmod(path, 0o666)
    assert rig.policy(workspace=(".",)).opaque is Verdict.DENY
