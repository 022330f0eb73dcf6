/** Every command explains itself, and reports what is wrong with how it was called (D36). */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Action, flagsOf } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { synopsisOf } from "./help.ts";
import { run } from "./run.ts";

const NOUNS = COMMANDS.flatMap((command) => ("actions" in command ? [command] : []));
const ACTIONS = NOUNS.flatMap(({ name, actions }) =>
	actions.map((action) => [`${name} ${action.name}`, action] as const),
);

beforeEach(() => void vi.stubEnv("FORCE_COLOR", "0"));
afterEach(() => {
	vi.restoreAllMocks();
	vi.unstubAllEnvs();
});

/** Runs `sluice` with these words in this process. */
async function sluice(...words: string[]) {
	const written = { stdout: "", stderr: "" };
	for (const name of ["stdout", "stderr"] as const)
		vi.spyOn(process[name], "write").mockImplementation((text) => {
			written[name] += String(text);
			return true;
		});
	const code = await run(words);
	vi.restoreAllMocks();
	return { code, ...written };
}

describe("--help", () => {
	it("D36: the overview names every command; without one it is an error", async () => {
		const { code, stdout } = await sluice("--help");
		expect(code).toBe(0);
		for (const { name, summary } of COMMANDS)
			expect(stdout).toMatch(new RegExp(`^  ${name} +${summary.replaceAll("(", "\\(")}$`, "m"));
		expect(await sluice()).toEqual({ code: 2, stdout, stderr: "" });
	});

	it.each(NOUNS.map(({ name, actions }) => [name, actions] as const))(
		"D36: sluice %s names everything that can be done",
		async (name, actions) => {
			const { stdout, ...rest } = await sluice(name, "--help");
			expect(rest).toEqual({ code: 0, stderr: "" });
			for (const action of actions)
				expect(stdout).toContain(`  ${name} ${action.name}${action.args.map((each) => ` ${each}`).join("")}  `);
		},
	);

	it.each(ACTIONS)("D36: sluice %s --help prints its arguments and flags", async (words, action) => {
		const { stdout, ...rest } = await sluice(...words.split(" "), "--help");
		expect(rest).toEqual({ code: 0, stderr: "" });
		expect(stdout.split("\n")[0]).toBe(`sluice ${words} ${synopsisOf(action)}`);
		for (const [flag, { summary }] of Object.entries(flagsOf(action)))
			expect(stdout).toMatch(
				new RegExp(`^  (?:-\\w, )?--${flag}\\b.*${summary.slice(0, 20).replace(/[(),.]/g, ".")}`, "m"),
			);
	});
});

it("D36: help COMMAND prints what --help does, in a group too", async () => {
	for (const words of ["serve", "jobs", "jobs cancel", "completion"]) {
		const { stdout } = await sluice(...words.split(" "), "--help");
		expect(await sluice("help", ...words.split(" "))).toEqual({ code: 0, stdout, stderr: "" });
	}
	expect(await sluice("help", "jobz")).toMatchObject({
		code: 2,
		stderr: expect.stringContaining("Did you mean 'jobs'"),
	});
});

it("D36: help of a command that calls a service has its flags, variables and examples", async () => {
	const { stdout } = await sluice("jobs", "cancel", "--help");
	for (const text of ["--url URL", "--context NAME", "SLUICE_API_KEY", "NO_COLOR", "sluice jobs cancel"])
		expect(stdout).toContain(text);
	expect((await sluice("serve", "--help")).stdout).not.toContain("--context");
});

const ALL = COMMANDS.flatMap((command): [string, Action][] =>
	"actions" in command
		? command.actions.map((action) => [`${command.name} ${action.name}`, action])
		: [[command.name, command]],
);

describe("examples", () => {
	it.each(ALL.filter(([, { examples }]) => examples !== undefined))(
		"D36: those of sluice %s have its arguments and flags",
		(name, action) => {
			for (const line of action.examples!) {
				const found = new RegExp(`sluice ${name}( [^#<>|&)]*)?`).exec(line);
				expect(found, line).not.toBeNull();
				for (const [, flag = ""] of (found![1] ?? "").matchAll(/ --([a-z-]+)/g))
					expect(Object.keys(flagsOf(action)), line).toContain(flag);
			}
		},
	);
});

it.each<[string, RegExp]>([
	["frobnicate", /^Unknown command 'frobnicate'\.\n\nsluice <command> \[options\]\n/],
	["jobs", /^Missing argument ENDPOINT\. Usage: sluice jobs list ENDPOINT \[options\]\n$/],
	["jobs get words", /^Missing argument JOB\. Usage: sluice jobs get ENDPOINT JOB \[options\]\n$/],
	["jobs get words id more", /^Unexpected argument 'more'\. Usage: sluice jobs get/],
	["jobs stop", /^Unknown command 'jobs stop'\..*jobs cancel ENDPOINT \[JOB\.\.\.\]/s],
	["endpoints list --colour", /^Unknown option '--colour'\.\n\nsluice endpoints list/],
	["keys revoke a b", /^Unexpected argument 'b'\./],
	["endpoints delete words", /--yes/],
])("D36: sluice %s exits 2 with a sentence, before a service is asked", async (words, says) => {
	expect(await sluice(...words.split(" "))).toEqual({
		code: 2,
		stdout: "",
		stderr: expect.stringMatching(says),
	});
});
