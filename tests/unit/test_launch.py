"""`ringfence launch` and `render` as people start them, around an agent that is a small script.

The script knows `--version` and `--help`, notes what it was asked, and otherwise does what the test says. The real agents
are launched in tests/e2e/test_launch.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import types

import pytest

from ringfence.agents import registry
from ringfence.errors import FenceError, NotEnforcedError, UsageError
from ringfence.model import Access, Lane, Mode, Posture, ZoneKind
from ringfence.pipelines import binaries, compose, estate, launch, rendering, wiring
from ringfence.policy.asked import Flags
from ringfence.render.lanes import Ask, Estate, Grant, Places
from tests.support.product import TIMEOUT, Product, answer, needs_layer, needs_mounts, product_fixture  # noqa: F401 - a fixture

HELP = """Usage: claude [options]
  --settings <file>   --allowedTools, --allowed-tools <tools...>   --disallowedTools <tools...>
  --append-system-prompt <prompt>   --system-prompt-snapshot <on|off>
  --permission-mode <mode>  (choices: "acceptEdits", "bypassPermissions", "plan")
"""
FIVE = ("claude", "codex", "gemini", "opencode", "pi")


class Bench(Product):
    """A product with an agent of ours on PATH. `does` is the script's body; `$CFG` names the session's settings file."""

    def agent(
        self, does: str, helped: str = HELP, version: str = "2.1.332 (Claude Code)", name: str = "claude"
    ) -> None:
        folder = self.path("bin")
        os.makedirs(folder, exist_ok=True)
        self.asked = self.path("asked")
        script = f"""#!/bin/sh
case "$1" in
  --version) echo --version >> {self.asked}; echo '{version}'; exit 0;;
  --help) echo --help >> {self.asked}; cat <<'END'
{helped}
END
exit 0;;
esac
for word; do [ "$last" = --settings ] && CFG=$word; last=$word; done
{does}
"""
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            file.write(script)
        os.chmod(f"{folder}/{name}", 0o755)
        self.env["PATH"] = f"{folder}:{self.env['PATH']}"

    def read(self, name: str) -> str:
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def launch(self, *words: str, env: dict[str, str] | None = None, **more):
        fence = more.pop("fence", ("--workspace", self.ws))
        return self.run("launch", "claude", *fence, *words, env=env, **more)

    def sessions(self) -> list[str]:
        folder = f"{self.state}/sessions"
        return os.listdir(folder) if os.path.isdir(folder) else []


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


# --- words ------------------------------------------------------------------------------------------


def test_the_agent_gets_the_tables_flags_and_then_its_own_words(bench):
    bench.agent('printf "%s\\n" "$@"')
    done = bench.launch("--", "-p", "--odd=word", "", "two words")
    assert done.status == 0, done
    words = done.text.split("\n")[:-1]
    assert words[:2] == ["--settings", words[1]]
    assert words[2:4] == ["--permission-mode", "bypassPermissions"]
    assert words[-4:] == ["-p", "--odd=word", "", "two words"]


def test_without_a_terminal_the_session_is_unattended_and_says_so(bench):
    bench.agent('printf "%s\\n" "$@"')
    done = bench.launch()
    assert "this session is unattended" in done.complaint
    done = bench.launch("--attended")
    assert "bypass" not in done.text
    assert "unattended" not in done.complaint
    assert "acceptEdits" in done.text


def test_at_a_terminal_the_session_is_attended_and_the_agent_has_it(bench):
    bench.agent('test -t 0 && test -t 1 && echo "has a terminal"; printf "%s\\n" "$@"')
    controller, terminal = os.openpty()
    try:
        agent = subprocess.Popen(
            bench.words("launch", "claude", "--workspace", bench.ws),
            stdin=terminal,
            stdout=terminal,
            stderr=subprocess.PIPE,
            env=bench.env,
            cwd=bench.ws,
            start_new_session=True,
        )
        os.close(terminal)
        said = b""
        with contextlib.suppress(OSError):  # EIO: the last one has closed its side
            while part := os.read(controller, 4096):
                said += part
        _, complaint = agent.communicate(timeout=TIMEOUT)
    finally:
        os.close(controller)
    assert agent.returncode == 0, complaint
    assert b"has a terminal" in said
    assert b"acceptEdits" in said
    assert b"bypass" not in said
    assert b"unattended" not in complaint


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--mode", "yolo"), "'yolo' is not one of 'safe', 'power'"),
        (("--lane", "wide"), "'wide' is not one of 'full', 'reviewer'"),
        (("--attended", "--unattended"), "contradict each other"),
        (("--allow-all-tools",), "--allow-all-tools is no longer an option"),
        (("--allow-all-tools-reason", "because"), "--allow-all-tools-reason is no longer an option"),
        (("--allow-all-tools-reason=because",), "--allow-all-tools-reason is no longer an option"),
        (("--engine", "wishes"), "'wishes' is not one of"),
        (("--no-such-option",), "No such option"),
        (("--", "--bare"), "launch does not pass --bare to Claude Code"),
    ],
)
def test_unknown_and_retired_words_fail_fast(bench, words, says):
    bench.agent("touch ran")
    done = bench.launch(*words)
    assert done.status == 2
    assert says in done.complaint
    assert done.out == b""
    assert not os.path.exists(f"{bench.ws}/ran")
    if words[0] not in ("--", "--engine"):  # those are launch's alone
        done = bench.run("render", "claude", *words)
        assert done.status == 2
        assert says in done.complaint
        assert done.out == b""


def test_the_retired_options_name_what_replaced_them(bench):
    for name in ("--allow-all-tools", "--allow-all-tools-reason"):
        done = bench.run("render", "claude", name)
        assert "the fence is the boundary: name it with --workspace" in done.complaint


@pytest.mark.parametrize("name", ["ALLOW_ALL_TOOLS", "ALLOW_ALL_TOOLS_REASON"])
@pytest.mark.parametrize("prefix", ["", "RINGFENCE_", "HARNESS_"])
@pytest.mark.parametrize("command", ["launch", "render"])
def test_the_retired_environment_keys_fail_fast(bench, command, prefix, name):
    bench.agent("touch ran")
    done = bench.run(
        command,
        "claude",
        *(("--workspace", bench.ws) if command == "launch" else ()),
        env={prefix + name: "1"},
    )
    assert done.status == 2
    assert prefix + name in done.complaint
    assert "--mode power --lane full" in done.complaint
    assert not os.path.exists(f"{bench.ws}/ran")


@pytest.mark.parametrize(
    "make",
    [
        lambda: rendering.ask_of("wide", "full", Posture.ATTENDED),
        lambda: rendering.ask_of("safe", "", Posture.ATTENDED),
        lambda: rendering.row_of("nobody"),
    ],
)
def test_the_library_has_no_fallback_either(make):
    with pytest.raises(UsageError):
        make()


REFUSED = [
    ("claude", ["--bare"]), ("claude", ["-p", "go", "--dangerously-skip-permissions"]), ("claude", ["--settings=x"]),
    ("claude", ["--permission-mode", "plan"]), ("claude", ["--bg"]), ("claude", ["attach", "x"]),
    ("codex", ["--dangerously-bypass-approvals-and-sandbox"]), ("codex", ["exec", "-s", "danger-full-access"]),
    ("codex", ["-sdanger-full-access"]), ("codex", ["--sandbox=read-only"]), ("codex", ["--ignore-user-config"]),
    ("codex", ["-c", 'sandbox_mode="x"']), ("codex", ["-csandbox_mode=x"]), ("codex", ["--config=features.hooks=false"]),
    ("codex", ["--config", "features.hooks=false"]), ("codex", ["--disable", "hooks"]), ("codex", ["--enable", "shell_tool"]),
    ("codex", ["-c", "features.hooks=false"]), ("codex", ["--remote", "ws://x"]),
    ("gemini", ["-y"]), ("gemini", ["--approval-mode=yolo"]), ("gemini", ["--yolo"]),
    ("opencode", ["run", "--pure"]), ("opencode", ["attach", "http://x"]), ("opencode", ["run", "--attach=http://x"]),
    ("pi", ["--tools", "bash"]), ("pi", ["-t", "bash"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("agent", "words"), REFUSED, ids=lambda value: value if isinstance(value, str) else " ".join(value)
)
def test_words_that_would_switch_the_fence_off_are_not_passed_on(agent, words):
    lanes = rendering.lanes_of(registry.ROWS[agent])
    with pytest.raises(UsageError):
        launch.refuse_words(lanes, words)


PASSED = [
    ("claude", ["-p", "fix --bare words"]), ("claude", ["-p", "go", "--", "--bare"]), ("claude", ["--model", "opus"]),
    ("codex", ["exec", "--skip-git-repo-check", "go"]), ("codex", ["-c", 'model="x"', "exec", "go"]),
    ("gemini", ["-p", "go", "-m", "x"]), ("opencode", ["run", "go"]), ("pi", ["-p", "go", "--mode", "json"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("agent", "words"), PASSED, ids=lambda value: value if isinstance(value, str) else " ".join(value)
)
def test_everyday_words_are(agent, words):
    launch.refuse_words(rendering.lanes_of(registry.ROWS[agent]), words)


# --- no fence ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("posture", ["--attended", "--unattended"])
def test_without_a_workspace_nothing_is_run(bench, posture):
    bench.agent("touch ran")
    done = bench.launch(posture, fence=())
    assert done.status == 3
    assert "nothing was run: no workspace is named" in done.complaint
    assert not os.path.exists(f"{bench.ws}/ran")


def test_no_restrict_paths_runs_and_warns_loudly(bench):
    bench.agent(f"echo x > {bench.out}/ran")
    done = bench.launch(fence=("--no-restrict-paths",))
    assert done.status == 0, done
    assert "NOBODY IS THERE AND NOTHING IS FENCED" in done.complaint
    assert os.path.exists(f"{bench.out}/ran")


def test_a_reviewer_is_not_run_without_a_fence(bench):
    bench.agent("touch ran")
    done = bench.launch("--lane", "reviewer", fence=("--no-restrict-paths",))
    assert done.status == 3
    assert not os.path.exists(f"{bench.ws}/ran")


def test_in_a_fence_already(bench):
    bench.agent("echo")
    inner = [sys.executable, "-I", "-S", bench.start, "launch", "claude", "--workspace", bench.ws]
    done = bench.run("run", "--workspace", bench.ws, "--", *inner)
    assert done.status == 2
    assert "this is a fence already" in done.complaint


# --- what the installed program knows ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("helped", "missing"),
    [
        (HELP.replace("--system-prompt-snapshot", "--no-longer"), "--system-prompt-snapshot"),
        (HELP.replace("bypassPermissions", "everything"), "--permission-mode bypassPermissions"),
        (HELP.replace("--settings", "--settings-file"), "--settings"),
    ],
)
def test_a_flag_that_the_program_does_not_know_is_not_rendered(bench, helped, missing):
    bench.agent("touch ran", helped, "9.8.7 (Claude Code)")
    done = bench.launch()
    assert done.status == 3
    assert "Claude Code 9.8.7" in done.complaint
    assert f"does not know {missing}" in done.complaint
    assert "2.1.332" in done.complaint
    assert not os.path.exists(f"{bench.ws}/ran")


def test_the_program_is_asked_once(bench):
    bench.agent("echo")
    assert bench.launch().status == 0
    assert bench.launch().status == 0
    with open(bench.asked, encoding="utf-8") as file:
        assert file.read().split() == ["--version", "--help"]
    os.utime(f"{bench.path('bin')}/claude", (1, 1))  # another file, as far as anybody can tell
    assert bench.launch().status == 0
    with open(bench.asked, encoding="utf-8") as file:
        assert file.read().split() == ["--version", "--help"] * 2


def test_a_forgotten_answer_is_asked_again(bench):
    bench.agent("echo")
    assert bench.launch().status == 0
    folder = f"{bench.cache}/agents"
    (name,) = os.listdir(folder)
    for text in ("", "[]", '{"--version": 1}', '{"--version": ["0", "x"]}'):
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
        assert bench.launch().status == 0


def test_codex_words_that_this_version_dropped_are_swapped_and_said(tmp_path):
    lanes = rendering.lanes_of(registry.ROWS["codex"])
    made = lanes.render(Ask(Mode.SAFE, Lane.FULL, Posture.ATTENDED), Places())
    helped = "--no-daemon -c, --config --disable"
    binary = _codex(tmp_path, 'case "$*" in *untrusted*) echo "Error: no longer supported"; exit 1;; esac')
    fit = binaries.fitting(lanes, binary._replace(help=helped), made)
    assert 'approval_policy="on-request"' in fit.flags
    assert not any("untrusted" in word for word in fit.flags)
    assert any("Codex 7.7.7 does not take" in note for note in fit.notes)
    binary = _codex(tmp_path, 'echo "Error: all is new"; exit 1')
    with pytest.raises(
        NotEnforcedError, match=r"Codex 7\.7\.7 .*does not take these flags: Error: all is new"
    ):
        binaries.fitting(lanes, binary._replace(help=helped), made)
    fit = binaries.fitting(lanes, _codex(tmp_path, "exit 0")._replace(help=helped), made)
    assert 'approval_policy="untrusted"' in fit.flags


def _codex(folder, body):
    path = folder / "codex"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return binaries.Binary(str(path), "7.7.7", "", "", {"PATH": "/usr/bin:/bin"})


# --- the session ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("does", "status"), [("exit 7", 7), ("kill -TERM $$", -15), ("kill -KILL $$", -9)])
def test_status_and_signal_pass_through_and_nothing_is_left(bench, does, status):
    bench.agent(f'echo x > "$TMPDIR"/t; ls {bench.state}/sessions; {does}')
    done = bench.launch()
    assert done.status == status, done
    assert len(done.text.split()) == 1  # while it ran, there was one
    assert bench.sessions() == []


def test_the_session_of_a_killed_launch_is_swept_by_the_next(bench):
    bench.agent("echo")
    ended = subprocess.Popen(["true"])
    ended.wait()
    os.makedirs(f"{bench.state}/sessions/{ended.pid}-aaaa/config")
    os.makedirs(f"{bench.state}/sessions/{os.getpid()}-bbbb")
    assert bench.launch().status == 0
    assert bench.sessions() == [f"{os.getpid()}-bbbb"]


def test_the_hook_and_the_launcher_stand_in_the_sessions_settings(bench):
    bench.agent('cat "$CFG"')
    done = bench.launch("--mode", "safe", "--protect", f"{bench.out}")
    value = json.loads(done.out)
    assert value["disableAllHooks"] is False
    (handler,) = value["hooks"]["PreToolUse"][0]["hooks"]
    assert handler["onFailure"] == "block"
    words = handler["args"]
    # The workspace is fixed at launch: neither a payload's folder nor a sub-agent's worktree moves it.
    assert words[words.index("--workspace") + 1] == bench.ws
    assert words[words.index("--protect") + 1] == bench.out
    assert words[words.index("--mode") + 1] == "safe"
    assert words[words.index("--lane") + 1] == "full"
    assert words[words.index("--posture") + 1] == "unattended"
    prefix = value["env"]["CLAUDE_CODE_SHELL_PREFIX"]
    assert words[words.index("--launcher") + 1] == prefix
    assert prefix.startswith(f"{bench.state}/sessions/")


def test_a_workspace_from_the_project_file_is_fixed_too(bench):
    bench.write("ws/ringfence.toml", 'workspace = ["."]\n')
    assert bench.run("policy", "trust", cwd=bench.ws).status == 0
    bench.agent('cat "$CFG"')
    done = bench.launch(fence=())
    assert done.status == 0, done
    words = json.loads(done.out)["hooks"]["PreToolUse"][0]["hooks"][0]["args"]
    assert words[words.index("--workspace") + 1] == bench.ws


@needs_mounts
def test_what_the_agent_may_write_of_its_own(bench):
    for name in (".claude/settings.json", ".claude/.credentials.json", ".claude.json"):
        bench.write(f"home/{name}", "{}\n")
    slug = bench.ws.replace("/", "-").replace("_", "-").replace(".", "-")
    bench.agent(
        f"""
for file in "$HOME/.claude/settings.json" "$HOME/.claude/.credentials.json" "$HOME/.claude.json" "$HOME/.claude/new" \\
  "$CFG" "{bench.out}/x" "{bench.state}/x" "{bench.cache}/x"; do
  if echo x >> "$file"; then echo "WRITTEN $file"; fi
done
for folder in "$HOME/.claude/projects/{slug}" "$HOME/.claude/plans" "$TMPDIR" "{bench.ws}"; do
  if echo x > "$folder/t"; then echo "ok"; fi
done
"""
    )
    done = bench.launch()
    assert done.text.split() == ["ok"] * 4, done
    assert bench.read("home/.claude/settings.json") == "{}\n"


def test_closed_reads_are_the_commands_and_not_the_agents(bench):
    bench.write("site/ringfence/ringfence.toml", 'shell_reads = "system"\n')
    bench.write("out/secret", "secret\n")
    program = f'P={bench.out}; python3 -c "import sys; print(open(sys.argv[1]).read())" "$P"/secret'
    bench.agent(
        f"cat {bench.out}/secret; \"${{CFG%/*}}/ringfence-claude-session\" '{program}' || echo refused"
    )
    done = bench.launch()
    assert (done.status, done.text) == (0, "secret\nrefused\n"), done
    assert 'shell_reads = "system" holds for commands, not for the agent itself' in done.complaint
    bench.write("site/ringfence/ringfence.toml", "")
    assert bench.launch().text.split() == ["secret", "secret"]


def test_background_workers_stay_fenced(bench):
    """MCP servers, workers and what an agent leaves behind start inside the fence."""
    mark = f"{bench.ws}/worker"
    bench.agent(
        f"(sleep 0.3; echo x > {bench.out}/late; echo $? > {mark}) </dev/null >/dev/null 2>&1 & exit 0"
    )
    assert bench.launch().status == 0
    for _ in range(200):
        if os.path.exists(mark) and os.path.getsize(mark):
            break
        subprocess.run(["sleep", "0.05"], check=True)
    assert bench.read("ws/worker") != "0\n"
    assert not os.path.exists(f"{bench.out}/late")
    bench.agent(f"echo x > {bench.out}/late")
    assert bench.launch(fence=("--no-restrict-paths",)).status == 0
    assert os.path.exists(f"{bench.out}/late")  # it would have


REVIEW = """
echo x > {ws}/new || echo refused
sh -c 'rm -f {ws}/kept' || echo refused
(cd {ws} && mkdir made) || echo refused
echo x > "$TMPDIR"/built && cat "$TMPDIR"/built
ls {ws}
"""


@needs_layer
def test_a_reviewer_and_its_children_write_to_a_throwaway_layer(bench):
    bench.write("ws/kept", "kept\n")
    bench.agent(REVIEW.format(ws=bench.ws))
    done = bench.launch("--lane", "reviewer")
    assert done.text.split() == ["x", "made", "new"], done
    assert os.listdir(bench.ws) == ["kept"]
    assert bench.launch().text.split() == ["x", "made", "new"]
    assert sorted(os.listdir(bench.ws)) == ["made", "new"]


def test_a_reviewer_without_a_layer_finds_the_tree_read_only(bench):
    bench.write("ws/kept", "kept\n")
    bench.agent(REVIEW.format(ws=bench.ws))
    done = bench.launch("--lane", "reviewer", "--engine", "landlock")
    assert done.text.split() == ["refused", "refused", "refused", "x", "kept"], done
    assert "no layer (the landlock engine cannot build one): the workspace is READ-ONLY" in done.complaint
    assert os.listdir(bench.ws) == ["kept"]


def test_variables_that_switch_hooks_off_are_taken_out_and_said(bench):
    bench.agent('echo "[$CLAUDE_CODE_SIMPLE$CLAUDE_CODE_SAFE_MODE]"')
    done = bench.launch(env={"CLAUDE_CODE_SIMPLE": "1", "CLAUDE_CODE_SAFE_MODE": "1"})
    assert done.text == "[]\n"
    assert "CLAUDE_CODE_SIMPLE is not passed on" in done.complaint
    assert "CLAUDE_CODE_SAFE_MODE is not passed on" in done.complaint


@pytest.mark.parametrize("name", ["ws/.claude/settings.json", "home/.claude/settings.json"])
def test_settings_that_switch_hooks_off_refuse_the_start(bench, name):
    bench.write(name, '{"disableAllHooks": true}\n')
    bench.agent("touch ran")
    done = bench.launch()
    assert done.status == 3
    assert bench.path(name) in done.complaint
    assert not os.path.exists(f"{bench.ws}/ran")


def test_report_prints_each_promise_with_its_strength(bench):
    bench.agent("echo")
    done = bench.launch("--report", "--lane", "reviewer")
    assert "kernel: the workspace is not changed" in done.complaint
    assert "none: network, secrets in the environment" in done.complaint


# --- a reviewer's children share its lane ------------------------------------------------------------


@pytest.mark.parametrize("more", [{}, {"agent_id": "a1", "agent_type": "general-purpose"}])
def test_the_hook_holds_the_lane_for_sub_agents_too(bench, more):
    given = {"file_path": f"{bench.ws}/x", "content": "x"}
    words = ("--workspace", bench.ws, "--lane", "reviewer")
    decision, reason = answer(bench.hook(bench.payload("Write", given, **more), *words))
    assert decision == "deny"
    assert "deny.lane" in reason


def test_the_shell_takes_mode_and_lane(bench):
    bench.write("ws/kept", "kept\n")
    shell = ("shell", "--workspace", bench.ws)
    made = 'python3 -c \'open("x", "w")\''
    bench.run(*shell, "--lane", "reviewer", "-c", made)
    assert os.listdir(bench.ws) == ["kept"]
    assert bench.run(*shell, "--lane", "full", "-c", made).status == 0
    assert sorted(os.listdir(bench.ws)) == ["kept", "x"]
    done = bench.run(*shell, "--mode", "safe", "-c", ":")
    assert done.status == 2
    assert "safe mode, which has no shell" in done.complaint
    assert bench.run(*shell, "--lane", "wide", "-c", ":").status == 2


# --- state folders ----------------------------------------------------------------------------------


def _lay(bench, what, **more):
    env = {**bench.env, **more}
    policy = compose.fence_for(Flags((bench.ws,), (bench.path("ws/main"),)), env, bench.ws).policy
    private = bench.path("private")
    os.makedirs(private)
    return estate.lay(what, env, private, bench.ws, policy, ["ours.json"])


def test_a_private_settings_folder_reads_through_and_keeps_its_own(bench):
    for name in ("auth.json", "config.toml", "ours.json", "sessions/old"):
        bench.write(f"home/.agent/{name}", f"{name}\n")
    what = Estate(".agent", "AGENT_HOME", moved=True, kept=("sessions",), sealed=("config.toml",))
    ground = _lay(bench, what)
    private = bench.path("private")
    assert dict(ground.env) == {"AGENT_HOME": private}
    assert os.path.islink(f"{private}/auth.json")
    assert not os.path.islink(f"{private}/config.toml")  # a link cannot be mounted on
    assert not os.path.lexists(f"{private}/ours.json")
    assert os.readlink(f"{private}/sessions") == bench.path("home/.agent/sessions")
    access = {zone.root: zone.access for zone in ground.zones}
    assert access == {
        bench.path("home/.agent/sessions"): Access.WRITE,
        private: Access.WRITE,
        f"{private}/config.toml": Access.READ,
    }


def test_a_variable_of_the_users_names_the_real_folder(bench):
    bench.write("elsewhere/auth.json", "x")
    what = Estate(".agent", "AGENT_HOME", moved=True)
    _lay(bench, what, AGENT_HOME=bench.path("elsewhere"))
    assert os.readlink(f"{bench.path('private')}/auth.json") == bench.path("elsewhere/auth.json")


def test_a_state_folder_that_leads_elsewhere_is_not_granted(bench):
    os.makedirs(bench.path("home/.agent"))
    os.symlink(bench.out, bench.path("home/.agent/sessions"))
    ground = _lay(bench, Estate(".agent", kept=("sessions",)))
    assert ground.zones == ()
    assert "is a link to" in ground.notes[0]


def test_a_state_folder_in_a_protected_checkout_is_not_granted(bench):
    os.makedirs(bench.path("ws/main"))
    ground = _lay(bench, Estate(".agent", "AGENT_HOME", kept=("sessions",)), AGENT_HOME=bench.path("ws/main"))
    assert ground.zones == ()
    assert "which the policy closes" in ground.notes[0]


def test_what_others_run_stays_sealed_in_a_granted_folder(bench):
    what = Estate(".agent", grants=(Grant("XDG_DATA_HOME", ".local/share", "agent", ("auth.json", "bin")),))
    ground = _lay(bench, what)
    data = bench.path("home/.local/share/agent")
    access = {zone.root: (zone.access, zone.kind) for zone in ground.zones}
    assert access[data] == (Access.WRITE, ZoneKind.SCRATCH)
    assert access[f"{data}/bin"] == (Access.READ, ZoneKind.OWN)
    assert access[f"{data}/auth.json"] == (Access.READ, ZoneKind.OWN)
    assert os.path.isdir(f"{data}/bin")


def test_every_agent_keeps_its_credentials_and_settings(bench):
    """None of these may be granted, in place or below."""
    closed = {
        "claude": (
            "settings.json",
            ".credentials.json",
            "hooks",
            "plugins",
            "agents",
            "skills",
            "shell-snapshots",
        ),
        "codex": ("auth.json", "config.toml", "hooks.json", "skills", "plugins"),
        "gemini": ("settings.json", "oauth_creds.json", "trustedFolders.json", "extensions", "policies"),
        "opencode": ("opencode.json", "plugins", "agent"),
        "pi": ("auth.json", "settings.json", "extensions", "bin", "npm"),
    }
    assert set(closed) == set(FIVE)
    for agent, names in closed.items():
        what = rendering.lanes_of(registry.ROWS[agent]).ESTATE
        for name in names:
            assert not any(kept == name or kept.startswith(f"{name}/") for kept in what.kept)
        for grant in what.grants:
            assert grant.tail != what.base.rpartition("/")[2] or grant.home != ".config"


# --- settings that are merged -----------------------------------------------------------------------


def test_a_users_settings_stay_and_lists_are_added_to(bench):
    text = '{\n  // mine\n  "ui": {"theme": "x"},\n  "context": {"fileName": "NOTES.md"}\n}\n'
    bench.write("mine.json", text)
    made = wiring.merged(
        bench.path("mine.json"), '{"a": {"b": true}, "context": {"fileName": ["GEMINI.md"]}}'
    )
    assert "// mine" in made
    assert '"theme": "x"' in made
    value = json.loads(made.replace("// mine", ""))
    assert value["context"]["fileName"] == ["NOTES.md", "GEMINI.md"]
    assert value["a"] == {"b": True}
    assert bench.read("mine.json") == text


@pytest.mark.parametrize("text", ["{", "[]", '"x"'])
def test_settings_that_are_no_object_refuse_the_start(bench, text):
    bench.write("mine.json", text)
    with pytest.raises(FenceError, match=r"mine\.json is no"):
        wiring.merged(bench.path("mine.json"), "{}")


# --- render -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", rendering.PARTS)
@pytest.mark.parametrize("agent", FIVE)
def test_render_prints_each_part(product, agent, part):
    done = product.run(
        "render", agent, "--mode", "safe", "--lane", "reviewer", "--unattended", "--part", part
    )
    assert done.status == 0, done
    assert done.err == b""
    if (agent, part) not in {("opencode", "flags"), *((name, "env") for name in ("claude", "codex", "pi"))}:
        assert done.text.strip()


def test_render_json_is_whole_and_stable(product):
    done = product.run("render", "claude", "--mode", "safe", "--json")
    value = done.json
    assert list(value) == [
        "version", "agent", "mode", "lane", "posture", "flags", "env", "config", "agent_definition", "prompt",
        "hooks", "promises", "notes", "holes",
    ]  # fmt: skip
    assert value["hooks"] == [
        "ringfence",
        "hook",
        "claude",
        "--mode",
        "safe",
        "--lane",
        "full",
        "--posture",
        "attended",
    ]
    assert {p["held"] for p in value["promises"]} <= {"kernel", "tool", "hook", "prompt", "none"}
    one = product.run("render", "claude", "--mode", "safe", "--json", "--part", "flags").json
    assert one == {"version": 1, "flags": value["flags"]}


def test_render_writes_and_starts_nothing(product):
    before = sorted(os.listdir(product.home))
    assert product.run("render", "codex", env={"PATH": "/nonexistent"}).status == 0
    assert sorted(os.listdir(product.home)) == before


def test_render_puts_a_snapshot_between_the_same_words(product):
    product.write("context.md", "You have a shell.\n")
    words = ("render", "pi", "--part", "prompt")
    plain = product.run(*words).text.rstrip("\n")
    done = product.run(*words, "--snapshot", product.path("context.md"))
    assert done.text.startswith(plain)
    assert done.text.rstrip("\n").endswith(plain)
    assert "You have a shell." in done.text


def test_an_agent_without_lanes_is_said_to_have_none(product):
    done = product.run("render", "nobody")
    assert done.status == 2
    assert "unknown agent 'nobody'" in done.complaint


# --- one more agent ---------------------------------------------------------------------------------


def test_a_sixth_agent_is_a_row_and_a_module(monkeypatch):
    from ringfence.render import lanes_pi

    module = types.ModuleType("ringfence.render.lanes_sixth")
    module.__dict__.update({name: getattr(lanes_pi, name) for name in vars(lanes_pi)})
    monkeypatch.setitem(sys.modules, "ringfence.render.lanes_sixth", module)
    monkeypatch.setitem(registry.ROWS, "sixth", registry.Row("sixth", "Sixth", "sixth", "sixth"))
    made = rendering.rendered("sixth", Ask(Mode.SAFE), {})
    assert made.prompt
    monkeypatch.setitem(registry.ROWS, "bare", registry.Row("bare", "Bare", "bare", "bare"))
    with pytest.raises(UsageError, match="Bare has no modes and lanes"):
        rendering.rendered("bare", Ask(), {})
