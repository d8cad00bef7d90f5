"""Generated plugins: small JavaScript files that ask `ringfence hook` about every tool call, for agents without hooks.

The file has no dependency, so that it loads wherever the agent runs, and a mark with its version. It blocks when
ringfence is missing, fails, is slow, or says anything that is not its answer: `{"verdict", "reason", "input"?}`,
exit status 0. Cold.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from typing import Any

from ringfence.agents import answers
from ringfence.agents.wiring import Answered, Found, Site, Wiring, names_us, read_text
from ringfence.errors import FenceError

VERSION = 1  # of the file's text; `status` names an older one
WAIT = 20.0  # seconds the plugin waits; the hook's own deadline is far below
_MARK = (
    "// ringfence-plugin {name} {version}: made by `ringfence install {name}`, anew each time; do not edit."
)

# How ringfence is asked. A rejected promise would be for others to treat: every way out is a verdict.
_ASK = """\
import { spawn } from "node:child_process";

const WAIT = %(wait)d;
const LONGEST = 16 * 1024 * 1024;

function ask(event) {
  return new Promise((resolve) => {
    let timer;
    let child;
    let said = "";
    let told = "";
    const end = (verdict) => {
      clearTimeout(timer);
      resolve(verdict);
    };
    const refuse = (why) => {
      end({ verdict: "deny", reason: `ringfence refused this call, because it could not be judged: ${why}` });
      try {
        child?.kill("SIGKILL");
      } catch {}
    };
    timer = setTimeout(() => refuse(`no answer within ${WAIT / 1000} seconds`), WAIT);
    try {
      const text = JSON.stringify(event);
      child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "pipe"] });
      child.on("error", (error) => refuse(`ringfence cannot be run: ${error.message}`));
      child.stdin.on("error", () => {});
      child.stdout.setEncoding("utf8");
      child.stderr.setEncoding("utf8");
      child.stdout.on("data", (part) => {
        said += part;
        if (said.length > LONGEST) refuse("its answer is too long");
      });
      child.stderr.on("data", (part) => {
        told = (told + part).slice(-2000);
      });
      child.on("close", (status, signal) => {
        if (status !== 0) return refuse(`it ended with ${signal ?? `status ${status}`} ${told}`.trim());
        let answer;
        try {
          answer = JSON.parse(said);
        } catch {
          return refuse("its answer is not JSON");
        }
        if (answer === null || typeof answer !== "object" || !["allow", "deny", "ask"].includes(answer.verdict))
          return refuse("its answer holds no verdict");
        if (answer.input !== undefined && (answer.input === null || typeof answer.input !== "object"))
          return refuse("its answer holds no usable input");
        end(answer);
      });
      child.stdin.end(text);
    } catch (error) {
      refuse(String(error?.message ?? error));
    }
  });
}

function replace(target, input) {
  for (const key of Object.keys(target)) if (!(key in input)) delete target[key];
  Object.assign(target, input);
}

"""


def text_of(name: str, body: str, wiring: Wiring) -> str:
    """The plugin's whole text. `body`: what the agent's own interface asks for."""
    command = json.dumps([wiring.command, *wiring.args])
    head = f"{_MARK.format(name=name, version=VERSION)}\nconst COMMAND = {command};\n"
    return head + _ASK % {"wait": round(WAIT * 1000)} + body


def install_text(name: str, body: str, path: str, text: str | None, wiring: Wiring) -> str:
    """The new text. Raises FenceError where the file is somebody else's."""
    if text is not None and text.strip() and version_of(name, text) is None:
        raise FenceError(f"{path} exists and is not ours", "move it away first; nothing was changed")
    return text_of(name, body, wiring)


def uninstall_text(name: str, text: str) -> str:
    """ "" for a file of ours, which is to be removed; another's stays."""
    return text if version_of(name, text) is None else ""


def version_of(name: str, text: str) -> int | None:
    """The version in the mark; None for a file that is not ours."""
    lead = f"// ringfence-plugin {name} "
    number = text[len(lead) :].partition(":")[0] if text.startswith(lead) else ""
    return int(number) if number.isdigit() else None


def inspect(name: str, event: str, path: str, body: str) -> Found:
    """What the plugin's file says. A text that is not what we would write now is named as a problem."""
    text = read_text(path)
    if text is None:
        return Found(path, False, (), None, "", False)
    version = version_of(name, text)
    if version is None:
        return Found(path, True, (), None, "", False, f"{path} is not ours")
    lead = "const COMMAND = "
    line = next((one for one in text.split("\n") if one.startswith(lead)), "")
    try:
        words = [str(word) for word in json.loads(line[len(lead) :].rstrip(";"))]
    except ValueError:
        words = []
    if not names_us(words, name):
        return Found(path, True, (), None, "", False, f"{path} does not call ringfence")
    wiring = Wiring(words[0], tuple(words[1:]))
    if text != text_of(name, body, wiring):
        what = (
            f"has version {version} of the plugin, this is {VERSION}" if version != VERSION else "was edited"
        )
        return Found(path, True, (), None, "", False, f"{path} {what}: install again")
    return Found(path, True, (event,), wiring, "", False)


def denial(answer: Answered) -> str | None:
    """The reason, if the plugin takes this answer for a refusal."""
    value = answers.loaded(answer)
    if answer.status or value.get("verdict") not in ("deny", "ask"):
        return None
    return str(value.get("reason", ""))


def rewritten(answer: Answered) -> str:
    """The command that the answer puts in the place of the call's own; "" if none."""
    return answers.flat_rewrite(answer, "input")


_DRIVER = """\
const [text, given] = process.argv.slice(1);
const plugin = await import("data:text/javascript;base64," + text);
const { tool, args, cwd } = JSON.parse(given);
let said;
%s
console.log(JSON.stringify(said));
process.exit(0);
"""


def drive(path: str, driver: str, call: dict[str, Any], site: Site) -> Answered | None:
    """Run the generated file as the agent would, with Node; None where there is none.

    `driver` sets `said` to `{verdict, reason?, input?}` from `tool`, `args` and `cwd`.
    """
    node = shutil.which("node", path=site.env.get("PATH"))
    text = read_text(path)
    if node is None or text is None:
        return None
    coded = base64.b64encode(text.encode()).decode()
    words = [node, "--input-type=module", "-e", _DRIVER % driver, coded, json.dumps(call)]
    try:
        done = subprocess.run(words, capture_output=True, timeout=2 * WAIT, env=dict(site.env), check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Answered(1, "", str(error))
    return Answered(
        done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    )
