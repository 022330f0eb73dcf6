/** Every command explains itself, and reports what is wrong with how it was called (D36). */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Action, flagsOf } from "./command.ts";
import { COMMAND_GROUPS, COMMANDS } from "../commands/commands.ts";
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
		expect(stdout.match(/^\w+$/gm)).toEqual(Object.keys(COMMAND_GROUPS));
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

it.each([["completion"], ["worker-env", "hello", "--format"]])(
	"D36: %s refuses a name that every object has",
	async (...words) => {
		const { code, stderr } = await sluice(...words, "constructor");
		expect(code).toBe(2);
		expect(stderr).toContain("must be one of");
	},
);

const ALL = COMMANDS.flatMap((command): [string, Action][] =>
	"actions" in command
		? command.actions.map((action) => [`${command.name} ${action.name}`, action])
		: [[command.name, command]],
);

describe("examples", () => {
	it.each(ALL)("D36: those of sluice %s have its arguments and flags", (name, action) => {
		const { args, examples = [] } = action;
		expect(examples.length > 0 || args.length === 0, "one that takes arguments has an example").toBe(true);
		for (const line of examples) {
			const found = new RegExp(`sluice ${name}( [^#<>|&)]*)?`).exec(line);
			expect(found, line).not.toBeNull();
			for (const [, flag = ""] of (found![1] ?? "").matchAll(/ --([a-z-]+)/g))
				expect(Object.keys(flagsOf(action)), line).toContain(flag);
		}
	});
});

it.each<[string, RegExp]>([
	["frobnicate", /^Unknown command 'frobnicate'\.\nAll commands: sluice --help\n$/],
	["jobs", /^Missing argument ENDPOINT\. Usage: sluice jobs list ENDPOINT \[options\]\n$/],
	["jobs get words", /^Missing argument JOB\. Usage: sluice jobs get ENDPOINT JOB \[options\]\n$/],
	["jobs get words id more", /^Unexpected argument 'more'\. Usage: sluice jobs get/],
	["jobs stop", /^Unknown command 'jobs stop'\.\nAll commands: sluice jobs --help\n$/],
	["jobs lst", /^Unknown command 'jobs lst'\. Did you mean 'jobs list'\?\n/],
	["endpoints list --colour", /^Unknown option '--colour'\.\nAll options: sluice endpoints list --help\n$/],
	["--url http://127.0.0.1:1 jobs --key k get words", /^Missing argument JOB\. Usage: sluice jobs get/],
	["--key=k keys revoke a b", /^Unexpected argument 'b'\./],
	["endpoints list -o yml", /^--output must be table, .*, not 'yml'\. Did you mean 'yaml'\?\n$/],
	["jobs get words abc", /^'abc' is not the id of a job: pass the whole id, or its last 6 or more characters\.\n$/],
	["keys revoke a b", /^Unexpected argument 'b'\./],
	["endpoints delete words", /--yes/],
])("D36: sluice %s exits 2 with a sentence, before a service is asked", async (words, says) => {
	expect(await sluice(...words.split(" "))).toEqual({
		code: 2,
		stdout: "",
		stderr: expect.stringMatching(says),
	});
});

it("D36: a misspelt variable of Sluice is named with the one that is meant, others are not", async () => {
	vi.stubEnv("SLUICE_API_KYE", "secret-value");
	vi.stubEnv("SLUICE_SERVICE_HOST", "10.0.0.1");
	vi.stubEnv("SLUICE_PORT_8080_TCP", "tcp://10.0.0.1:8080");
	const { stderr } = await sluice("endpoints", "delete", "words");
	expect(stderr).toMatch(/^SLUICE_API_KYE is no variable of Sluice\. Did you mean SLUICE_API_KEY\?\nDelete endpoint/);
	expect(stderr).not.toContain("secret-value");
});

it("D30: a misspelt scope is named as the flag, before a service is asked", async () => {
	expect(await sluice("keys", "create", "--name", "a", "--scope", "read,wrtie")).toEqual({
		code: 2,
		stdout: "",
		stderr: "--scope must be read, write or admin, not 'wrtie'. Did you mean 'write'?\n",
	});
});

const MAKES_A_KEY = [
	["create", "--name", "a"],
	["rotate", "3f2a91c4"],
];

it.each(MAKES_A_KEY)(
	"D30: keys %s refuses -o name, which would lose the key, before a service is asked",
	async (...words) => {
		expect(await sluice("keys", ...words, "-o", "name")).toEqual({
			code: 2,
			stdout: "",
			stderr: "-o name would lose the key, which is shown only once. Use -o json or no -o.\n",
		});
	},
);

it.each(MAKES_A_KEY)(
	"D30: keys %s names a span of --expires that no date has, before a service is asked",
	async (...words) => {
		expect(await sluice("keys", ...words, "--expires", "999999999d")).toEqual({
			code: 2,
			stdout: "",
			stderr: "Option --expires must be at most 36500d, not '999999999d'. Without it the key does not expire.\n",
		});
	},
);
