"""`ringfence try` on this kernel, as root and as an ordinary user."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import time

import pytest

from tests.kernel.conftest import HERE
from tests.support import layer_ops, users
from tests.support.layer_rig import full_hash, inhabitants, leftovers, listed, product_of, sh, tried
from tests.support.product import TIMEOUT

pytestmark = pytest.mark.skipif(not (HERE.userns and HERE.overlay), reason=str(HERE.why_not))


@pytest.fixture
def product(who):
    with users.open_folder(who) as base:
        made = product_of(who, base)
        yield made
        deadline = time.monotonic() + 10
        while leftovers(made) and time.monotonic() < deadline:
            time.sleep(0.05)  # a holder that was killed just now needs a moment
        assert not leftovers(made)


def own(product, who):
    subprocess.run(["chown", "-hR", f"{who.uid}:{who.gid}", product.ws], check=True)


# ---- generated scripts: 300 for each account, in slices


SLICES = 12


def both(product, who, script, *, pair):
    """The tree after a direct run of the script, from the same start as the workspace."""
    direct = f"{product.base}/direct"
    for tree in (product.ws, direct):
        shutil.rmtree(tree, ignore_errors=True)
        os.mkdir(tree)
        layer_ops.plant(tree)
        if pair:
            layer_ops.link_pair(tree)
        subprocess.run(["chown", "-hR", f"{who.uid}:{who.gid}", tree], check=True)
    path = f"{product.base}/script.json"
    with open(path, "w", encoding="utf-8") as file:
        json.dump(script, file)
    os.chmod(path, 0o644)
    player = [who.python, "-I", os.path.join(who.checkout, "tests/support/layer_ops.py"), path]
    subprocess.run(player, cwd=direct, env=product.env, check=True, timeout=TIMEOUT, **who.popen())
    return player, layer_ops.snapshot(direct)


@pytest.mark.parametrize("part", range(SLICES))
def test_a_generated_script_does_the_same_with_keep_and_nothing_without(product, who, part):
    changed = played = 0
    for seed in range(part * 300 // SLICES, (part + 1) * 300 // SLICES):
        if who.is_root and seed % 4:
            continue  # an ordinary user plays all of them
        played += 1
        script = layer_ops.generate(seed)
        player, wanted = both(product, who, script, pair=False)
        before = layer_ops.snapshot(product.ws)
        whole = full_hash(product.ws)
        _, said = tried(product, *player)
        assert full_hash(product.ws) == whole, script
        assert {row for row in listed(product, said) if row[1] != "."} == layer_ops.difference(
            before, wanted
        ), script
        assert not said["limits"], script
        assert not said["unread"], script
        _, said = tried(product, *player, options=["--keep"])
        assert layer_ops.lasting(layer_ops.snapshot(product.ws)) == layer_ops.lasting(wanted), (seed, script)
        assert all(change["applied"] for change in said["changes"]), script
        changed += bool(said["changes"])
    assert changed > played / 2  # scripts that do nothing prove nothing


@pytest.mark.parametrize("part", range(4))
def test_what_an_overlay_cannot_do_is_never_silently_different(product, who, part):
    met = set()
    for seed in range(1000 + part * 25, 1000 + (part + 1) * 25):
        script = layer_ops.generate(seed, limits=True)
        player, wanted = both(product, who, script, pair=True)
        whole = full_hash(product.ws)
        tried(product, *player)
        assert full_hash(product.ws) == whole
        _, said = tried(product, *player, options=["--keep"])
        same = layer_ops.lasting(layer_ops.snapshot(product.ws)) == layer_ops.lasting(wanted)
        codes = {limit["code"] for limit in said["limits"]} | {
            change["code"] for change in said["changes"] if change["verdict"] != "allow"
        }
        met |= codes
        assert same or codes, (seed, script)
    assert met == {"layer.rename-folder", "layer.other-names"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another group")
def test_a_file_of_a_supplementary_group_is_named(product, who):
    if who.is_root:
        pytest.skip("root maps every id")
    path = f"{product.ws}/shared"
    with open(path, "w", encoding="ascii") as file:
        file.write("x\n")
    os.chown(path, who.uid, 4)
    more = {**product.popen, "extra_groups": [4]}
    product.popen = more
    direct = subprocess.run(["/bin/sh", "-c", "chmod 640 shared"], cwd=product.ws, **more)
    assert direct.returncode == 0
    _, said = sh(product, "echo y >> shared")
    assert [limit["code"] for limit in said["limits"]] == ["layer.owner"]
    assert said["status"] != 0
    assert not said["changes"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another group")
@pytest.mark.parametrize(("script", "kinds"), [("true", []), ("chmod 711 .", ["mode-changed"])])
def test_a_workspace_of_another_group_keeps_it(product, who, script, kinds):
    if who.is_root:
        pytest.skip("root maps every id")
    os.chown(product.ws, who.uid, 4)
    os.chmod(product.ws, 0o755)
    _, said = sh(product, script, "--keep")
    assert [change["kind"] for change in said["changes"]] == kinds
    seen = os.stat(product.ws)
    assert (seen.st_uid, seen.st_gid, seen.st_mode & 0o777) == (who.uid, 4, 0o711 if kinds else 0o755)


# ---- corners, in the manner of pjdfstest: (name, what stands there before, script, what it must leave)

CORNERS = [
    ("rename over a file", "echo a > one; echo b > two", "mv one two", "test ! -e one && grep -q a two"),
    ("rename over a link", "echo a > one; ln -s x two", "mv one two", "test ! -L two && grep -q a two"),
    ("link over nothing", "echo a > one", "ln one two", "test one -ef two"),
    ("two new names", "", "echo a > one; ln one two; ln one three", "test one -ef two && test one -ef three"),
    ("unlink what is open", "echo a > one", "exec 3<>one; rm one; echo b >&3", "test ! -e one"),
    ("folder made anew", "mkdir d; echo a > d/old", "rm -r d; mkdir d; echo b > d/new", "test ! -e d/old && grep -q b d/new"),
    ("opaque twice", "mkdir -p d/e; echo a > d/e/x", "rm -r d; mkdir -p d/e; echo b > d/e/y", "test ! -e d/e/x && grep -q b d/e/y"),
    ("file to folder", "echo a > one", "rm one; mkdir one; echo b > one/in", "grep -q b one/in"),
    ("folder to file", "mkdir -p one/in/deep; echo a > one/in/deep/f", "rm -r one; echo b > one", "grep -q b one"),
    ("folder to link", "mkdir one; echo a > one/f", "rm -r one; ln -s /etc one", 'test "$(readlink one)" = /etc'),
    ("link to folder", "ln -s /etc one", "rm one; mkdir one; echo a > one/passwd", "grep -q a one/passwd && test ! -L one"),
    ("sparse", "", "truncate -s 50M big; printf x | dd of=big bs=1 seek=30000000 conv=notrunc 2>/dev/null", "test $(stat -c %s big) = 52428800 && test $(stat -c %b big) -lt 1000"),
    ("sparse and changed", "truncate -s 20M big", "printf x | dd of=big bs=1 seek=5000000 conv=notrunc 2>/dev/null", "test $(stat -c %b big) -lt 1000"),
    ("fifo", "", "mkfifo p", "test -p p"),
    ("fifo over a file", "echo a > p", "rm p; mkfifo -m 620 p", "test -p p && test $(stat -c %a p) = 620"),
    ("mode alone", "echo a > one; chmod 644 one", "chmod 755 one", "test $(stat -c %a one) = 755"),
    ("set-id bits", "echo a > one", "chmod 6755 one", "test $(stat -c %a one) = 6755"),
    ("mode of the top", "", "chmod 711 .", "test $(stat -c %a .) = 711"),
    ("mode of a folder with a new file", "mkdir d", "echo a > d/f; chmod 555 d", "test $(stat -c %a d) = 555 && grep -q a d/f"),
    ("a closed folder", "", "mkdir d; echo a > d/f; chmod 000 d", "test $(stat -c %a d) = 0 && chmod 700 d && grep -q a d/f"),
    ("a closed file", "", "echo a > f; chmod 000 f", "test $(stat -c %a f) = 0 && chmod 600 f && grep -q a f"),
    ("time alone", "echo a > one", "touch -d @1000000 one", "test $(stat -c %Y one) = 1000000"),
    ("time of a link", "ln -s x one", "touch -h -d @1000000 one", "test $(stat -c %Y one) = 1000000"),
    ("dangling link", "", "ln -s nowhere/at/all one", "test -L one"),
    ("case", "echo a > Read", "echo b > read; echo c > READ", "grep -q a Read && grep -q b read && grep -q c READ"),
    ("odd names", "", "echo a > 'x,y:z=\\w'; echo b > \"$(printf 'n\\nl')\"; echo c > \"$(printf '\\377')\"", "grep -q a 'x,y:z=\\w' && grep -q c \"$(printf '\\377')\""),
    ("deep", "", "d=d; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do d=$d/ddddddddddddddddddddd; done; mkdir -p $d; echo a > $d/f", "grep -rq a d"),
    ("empty folder gone", "mkdir d", "rmdir d", "test ! -e d"),
    ("emptied tree", "mkdir -p a/b/c; echo x > a/b/c/f; echo y > a/g", "rm -r a", "test ! -e a"),
    ("truncated", "echo abcdef > one", "truncate -s 3 one", "test $(stat -c %s one) = 3"),
    ("made and removed", "", "echo a > one; rm one", "test ! -e one"),
    ("moved tree", "mkdir -p a/b; echo x > a/b/f", "mv a z", "test ! -e a && grep -q x z/b/f"),
]  # fmt: skip


@pytest.mark.parametrize("row", CORNERS, ids=lambda row: row[0])
def test_a_corner(product, who, row):
    _, before, text, holds = row
    # The check fails before and holds after a direct run, or it would prove nothing.
    direct = f"{product.base}/direct"
    os.mkdir(direct)
    for tree in (direct, product.ws):
        subprocess.run(["/bin/sh", "-ec", before], cwd=tree, check=True)
        subprocess.run(["chown", "-hR", f"{who.uid}:{who.gid}", tree], check=True)
    unprivileged = {**who.popen(), "env": product.env}
    check = ["/bin/sh", "-c", holds]
    if row[0] != "made and removed":
        assert (
            subprocess.run(check, cwd=direct, stderr=subprocess.DEVNULL, **unprivileged).returncode != 0
            or row[0] == "sparse and changed"
        )
    subprocess.run(["/bin/sh", "-ec", text], cwd=direct, check=True, **unprivileged)
    assert subprocess.run(check, cwd=direct, **unprivileged).returncode == 0
    whole = full_hash(product.ws)
    done, said = sh(product, text)
    assert done.status == 0, said
    assert full_hash(product.ws) == whole
    done, said = sh(product, text, "--keep")
    assert done.status == 0, said
    assert subprocess.run(check, cwd=product.ws, **unprivileged).returncode == 0, said


def test_a_socket_and_an_attribute(product, who):
    text = "import os, socket; socket.socket(socket.AF_UNIX).bind('s'); open('f','w').close(); os.setxattr('f','user.k',b'v')"
    done, said = tried(product, who.python, "-I", "-c", text, options=["--keep"])
    assert done.status == 0, said
    assert os.getxattr(f"{product.ws}/f", "user.k") == b"v"
    assert os.path.exists(f"{product.ws}/s")


# ---- verdicts


def test_guarded_places_stay_read_only_in_the_layer(product, who):
    subprocess.run(["git", "init", "-q", product.ws], check=True)
    own(product, who)
    hook = f"{product.ws}/.git/hooks/pre-commit"
    for text in (f"echo x > {hook}", "mv .git/hooks .git/away", "mv .git away"):
        assert (
            subprocess.run(
                ["/bin/sh", "-c", "cp -r .git ../copy && ( cd ../copy/.. && rm -rf copy )"], cwd=product.ws
            ).returncode
            == 0
        )
        _, said = sh(product, text)
        assert said["status"] != 0, text
        assert not said["changes"], text
    _, said = sh(product, f"echo x > {hook}")
    assert [row["path"] for row in said["refused"]] == [hook]
    assert said["refused"][0]["code"].startswith("guard.")


def test_a_guarded_place_that_is_made_anew_is_listed_and_never_applied(product, who):
    done, said = sh(product, "mkdir .claude; echo '{}' > .claude/settings.json; echo a > fine", "--keep")
    assert done.status == 1
    verdicts = {os.path.basename(c["path"]): (c["verdict"], c["applied"]) for c in said["changes"]}
    assert verdicts["settings.json"] == ("deny", False)
    assert verdicts["fine"] == ("allow", True)
    assert not os.path.exists(f"{product.ws}/.claude/settings.json")


def test_an_attempt_outside_is_refused_and_listed_with_what_made_it(product, who):
    outside = f"{product.out}/x"
    plain = subprocess.run(["/bin/sh", "-c", f"echo a > {outside}"], cwd=product.ws, **who.popen())
    assert plain.returncode == 0
    os.unlink(outside)
    # Nothing is said on stderr, and the link is made in the layer: no text tells.
    done, said = sh(product, f"ln -s {product.out} way; (echo a > way/x) 2>/dev/null; true")
    assert done.status == 1
    assert said["status"] == 0
    assert not os.path.exists(outside)
    assert [(row["path"], row["code"]) for row in said["refused"]] == [(outside, "outside.write")]
    _, said = tried(product, "/bin/sh", "-c", f"echo a > {outside}", options=["--no-attempts"])
    assert not said["refused"]
    assert any("--no-attempts" in note for note in said["notes"])


def test_a_new_config_key_that_names_code_is_put_back_after_keep(product, who):
    subprocess.run(["git", "init", "-q", product.ws], check=True)
    own(product, who)
    done, _ = sh(product, "git config user.name me", "--keep")
    with open(f"{product.ws}/.git/config", encoding="ascii") as file:
        config = file.read()
    assert (done.status, done.err) == (0, b"")
    assert "name = me" in config
    done, _ = sh(product, "git config core.fsmonitor /tmp/x", "--keep")
    with open(f"{product.ws}/.git/config", encoding="ascii") as file:
        assert file.read() == config
    assert b"after the fact" in done.err


def test_a_call_through_its_own_descriptor_is_no_attempt_outside(product):
    """glibc's lchmod, which mkfifo -m uses, goes through /proc/self/fd."""
    done, said = sh(product, "mkfifo -m 620 p")
    assert (done.status, said["refused"]) == (0, [])


def test_what_changed_meanwhile_is_left_alone(product, who):
    for name in ("one", "two"):
        with open(f"{product.ws}/{name}", "w", encoding="ascii") as file:
            file.write("old\n")
    own(product, who)
    time.sleep(0.05)
    words = product.words("try", "--json", "--keep", "--workspace", product.ws, "--", "/bin/sh", "-c",
                          "echo a > one; echo b > two; echo c > three; mkdir four; echo ready; read x")  # fmt: skip
    run = subprocess.Popen(
        words,
        cwd=product.ws,
        env=product.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **product.popen,
    )
    assert run.stderr.readline() == "ready\n"
    for name, text in (("one", "mine\n"), ("three", "mine\n")):
        with open(f"{product.ws}/{name}", "w", encoding="ascii") as file:
            file.write(text)
    out, _ = run.communicate("\n", timeout=TIMEOUT)
    said = json.loads(out)
    assert run.returncode == 1
    fate = {os.path.basename(c["path"]): (c["applied"], c["why_not"]) for c in said["changes"]}
    assert fate["one"][0] is False
    assert "changed while the program ran" in fate["one"][1]
    assert fate["three"][0] is False
    assert fate["two"] == fate["four"] == (True, None)
    for name, text in (("one", "mine\n"), ("two", "b\n"), ("three", "mine\n")):
        with open(f"{product.ws}/{name}", encoding="ascii") as file:
            assert file.read() == text


# ---- ends


def test_a_full_layer_is_enospc_and_a_clear_line(product):
    done = product.run(
        "try",
        "--size",
        "1M",
        "--workspace",
        product.ws,
        "--",
        "dd",
        "if=/dev/zero",
        "of=big",
        "bs=64k",
        "count=64",
    )
    assert done.status == 1
    assert b"No space left on device" in done.err
    assert "THE LAYER WAS FULL (1.0 MiB in memory)" in done.text
    assert not os.path.exists(f"{product.ws}/big")


def test_what_outgrows_its_place_on_the_disk_is_ended(product):
    done, said = sh(
        product,
        "dd if=/dev/zero of=big bs=1M count=200 2>/dev/null; sleep 60",
        "--on",
        "disk",
        "--size",
        "20M",
    )
    assert done.status in (0, 1)
    assert said["signal"] == signal.SIGKILL
    assert any("outgrew 20 MiB on the disk" in note for note in said["notes"])


def test_the_programs_status_is_reported_and_decides_nothing(product):
    done, said = sh(product, "echo a > one; exit 7", "--keep")
    assert (done.status, said["status"], said["signal"]) == (0, 7, None)
    assert os.path.exists(f"{product.ws}/one")
    _, said = sh(product, "kill -9 $$")
    assert (said["status"], said["signal"]) == (None, 9)


def test_jobs_left_behind_are_ended_and_counted(product):
    _, said = sh(product, "sleep 1000 & sleep 1000 & true")
    assert said["ended"] == 2
    assert not inhabitants(product)


def test_two_at_once_do_not_meet(product):
    words = product.words(
        "try",
        "--json",
        "--workspace",
        product.ws,
        "--",
        "/bin/sh",
        "-c",
        "echo $0 > mine; sleep 0.3; ls; cat mine >&2",
    )
    runs = [
        subprocess.Popen(
            [*words, name],
            cwd=product.ws,
            env=product.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **product.popen,
        )
        for name in ("first", "second")
    ]
    for run, name in zip(runs, ("first", "second"), strict=True):
        out, err = run.communicate(timeout=TIMEOUT)
        assert [os.path.basename(c["path"]) for c in json.loads(out)["changes"]] == ["mine"]
        assert err.split() == ["mine", name]


@pytest.mark.parametrize("medium", ["memory", "disk"])
def test_killed_at_a_random_point_it_leaves_nothing_after_the_next_start(product, medium):
    """100 for each account and medium; the whole family is killed at every third."""
    words = product.words("try", "--keep", "--on", medium, "--workspace", product.ws, "--", "/bin/sh", "-c",
                          "for i in 1 2 3; do echo $i > g$i; echo x >> f; (sleep 100 &); done")  # fmt: skip
    quiet = {
        "cwd": product.ws,
        "env": product.env,
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
        **product.popen,
    }
    begin = time.monotonic()
    subprocess.run(words, **quiet, timeout=TIMEOUT)
    whole = time.monotonic() - begin
    dice = random.Random(20)  # noqa: S311 - points in time, no secret
    for count in range(50):
        run = subprocess.Popen(words, **quiet)
        time.sleep(dice.random() * whole * 1.1)
        children = []
        if run.poll() is None:
            with open(f"/proc/{run.pid}/task/{run.pid}/children", encoding="ascii") as file:
                children = [int(pid) for pid in file.read().split()]
        run.kill()
        for pid in children if count % 3 == 0 else ():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        run.wait()
    sh(product, "true")
    deadline = time.monotonic() + 10
    while leftovers(product) and time.monotonic() < deadline:
        time.sleep(0.1)  # a holder that is told of its caller's death needs a moment
    assert not leftovers(product)


# ---- where there can be none


@pytest.mark.parametrize("hidden", ["unshare", "fsopen", "fsmount"])
def test_a_kernel_without_unprivileged_overlays_runs_nothing(product, who, hidden):
    words = product.words("try", "--workspace", product.ws, "--", "/bin/sh", "-c", "echo ran > ran; echo ran")
    script = os.path.join(who.checkout, "scripts/fake_enosys.py")
    done = subprocess.run(
        [who.python, "-I", script, "--hide", hidden, "--errno", "EPERM", "--", *words],
        cwd=product.ws, env=product.env, capture_output=True, text=True, timeout=TIMEOUT, **product.popen,
    )  # fmt: skip
    assert done.returncode == 3
    assert "ran" not in done.stdout
    assert re.search("nothing was run: no throwaway layer could be built", done.stderr)
    assert not os.path.exists(f"{product.ws}/ran")


def test_where_nobody_can_listen_it_says_so(product, who):
    script = os.path.join(who.checkout, "scripts/fake_enosys.py")
    for options, status in (([], 3), (["--no-attempts"], 0)):
        words = product.words(
            "try", *options, "--workspace", product.ws, "--", "/bin/sh", "-c", "echo a > f; echo ran"
        )
        done = subprocess.run(
            [who.python, "-I", script, "--hide", "pidfd_getfd", "--", *words],
            cwd=product.ws, env=product.env, capture_output=True, text=True, timeout=TIMEOUT, **product.popen,
        )  # fmt: skip
        assert done.returncode == status, done
        assert ("ran" in done.stdout.split()) == (status == 0)
        assert ("--no-attempts" in done.stderr) == (status == 3)


def test_inside_a_fence_it_runs_nothing(product):
    inner = product.words("try", "--workspace", product.ws, "--", "true")
    done = product.run("run", "--workspace", product.ws, "--", *inner)
    assert done.status == 3
    assert "stands in a fence" in done.complaint


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_mount_below_the_workspace_is_named(product):
    os.mkdir(f"{product.ws}/m")
    subprocess.run(["mount", "-t", "tmpfs", "none", f"{product.ws}/m"], check=True)
    try:
        done = product.run("try", "--workspace", product.ws, "--", "true")
        assert done.status == 3
        assert f"{product.ws}/m is a mount below the workspace" in done.complaint
    finally:
        subprocess.run(["umount", f"{product.ws}/m"], check=True)


def test_without_a_workspace_it_is_a_usage_error(product):
    assert product.run("try", "--", "true").status == 2
    assert product.run("try", "--workspace", product.ws).status == 2
    assert product.run("try", "--keep", "--ask", "--workspace", product.ws, "--", "true").status == 2


def test_the_exported_diff_applies(product, who):
    subprocess.run(
        "printf 'a\\nb\\n' > one; echo gone > two; mkdir d; printf 'no newline' > d/three; echo 'to be moved' > four",
        shell=True,
        cwd=product.ws,
        check=True,
    )
    own(product, who)
    copy = f"{product.base}/copy"
    shutil.copytree(product.ws, copy, symlinks=True)
    text = "echo c >> one; rm two; printf ' at all' >> d/three; echo new > 'd/f o'; chmod 755 one; ln -s one link; mv four five"
    done, _ = sh(product, text, "--export", f"{product.out}/x.diff", "--keep")
    assert done.status == 0
    subprocess.run(["git", "apply", "-p1", f"{product.out}/x.diff"], cwd=copy, check=True)
    assert subprocess.run(["diff", "-r", "--no-dereference", product.ws, copy]).returncode == 0
    assert os.stat(f"{copy}/one").st_mode & 0o111
