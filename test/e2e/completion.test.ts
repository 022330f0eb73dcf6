/** Completion in the real shells, where they are installed (D36). */
import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, type TestContext } from "vitest";
import { folder } from "../support/service.ts";
import { SLUICE } from "./command.ts";

const has = (shell: string): boolean => spawnSync(shell, ["-c", "true"]).status === 0;

/** The file of a shell's script. */
function scriptOf({ onTestFinished }: TestContext, shell: string): string {
	const place = folder();
	onTestFinished(() => place.remove());
	const file = join(place.path, `completion.${shell}`);
	writeFileSync(file, execFileSync(process.execPath, [SLUICE, "completion", shell]));
	return file;
}

/** What is typed, and one offer of many, with one that must be missing. */
const CASES: [string, string[], string][] = [
	["sluice jo", ["jobs"], "keys"],
	["sluice jobs ", ["submit", "cancel"], "serve"],
	["sluice jobs list --st", ["--status"], "--wait"],
	["sluice jobs submit hello --wa", ["--wait"], "--worker"],
	["sluice --x serve --po", ["--port"], "--url"],
	["sluice completion f", ["fish"], "bash"],
	["sluice help wor", ["workers", "worker-env"], "doctor"],
];

describe.skipIf(!has("bash"))("bash", () => {
	it("D36: completes commands and flags", (test) => {
		const file = scriptOf(test, "bash");
		for (const [typed, offered, missing] of CASES) {
			const words = typed.split(" ");
			const said = execFileSync(
				"bash",
				[
					"-c",
					`source ${file}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sluice; printf '%s\\n' "\${COMPREPLY[@]}"`,
					"bash",
					...words,
				],
				{ encoding: "utf8" },
			).split("\n");
			expect(said, typed).toEqual(expect.arrayContaining(offered));
			expect(said, typed).not.toContain(missing);
		}
	});
});

describe.skipIf(!has("fish"))("fish", () => {
	it("D36: completes commands and flags, with what they do", (test) => {
		const file = scriptOf(test, "fish");
		for (const [typed, offered, missing] of CASES) {
			const said = execFileSync("fish", ["-c", `source ${file}; complete -C "$argv"`, typed], {
				encoding: "utf8",
			});
			const words = said.split("\n").map((line) => line.split("\t")[0]);
			expect(words, typed).toEqual(expect.arrayContaining(offered));
			expect(words, typed).not.toContain(missing);
		}
	});
});

describe.skipIf(!has("zsh"))("zsh", () => {
	it("D36: completes commands and flags at a terminal", (test) => {
		const file = scriptOf(test, "zsh");
		// A terminal of its own: zsh completes in its line editor only.
		const typist = `
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.environ["TERM"] = "dumb"
    os.execvp("zsh", ["zsh", "-f", "-i"])
def read_until(*marks):
    said = b""
    while any(mark not in said for mark in marks):
        said += os.read(terminal, 4096)
    return said
setup = "PS1=''; autoload -Uz compinit; compinit -u -D; source " + sys.argv[1]
os.write(terminal, (setup + "; LISTMAX=1000; unsetopt LIST_AMBIGUOUS; echo rea''dy\\n").encode())
read_until(b"ready\\r\\n")
os.write(terminal, sys.argv[2].encode() + b"\\t")
sys.stdout.buffer.write(read_until(*[word.encode() for word in sys.argv[3:]]))
os.write(terminal, b"\\x15echo do''ne\\n")
sys.stdout.buffer.write(read_until(b"done\\r\\n"))
os.kill(pid, 9)
`;
		for (const [typed, offered, missing] of CASES) {
			const said = execFileSync("python3", ["-c", typist, file, typed, ...offered], {
				encoding: "utf8",
			});
			for (const word of offered) expect(said, typed).toContain(word);
			expect(said, typed).not.toMatch(new RegExp(`(?<![\\w-])${missing}(?![\\w-])`));
		}
	});
});
