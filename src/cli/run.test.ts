/** Every command explains itself, and reports what is wrong with how it was called (D36). */
import { afterEach, describe, expect, it, vi } from "vitest";
import { synopsisOf } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { run } from "./run.ts";

const NOUNS = COMMANDS.flatMap((command) => ("actions" in command ? [command] : []));
const ACTIONS = NOUNS.flatMap(({ name, actions }) =>
	actions.map((action) => [`${name} ${action.name}`, action] as const),
);

afterEach(() => void vi.restoreAllMocks());

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
				expect(stdout).toContain(
					`  ${name} ${action.name}${action.args.map((each) => ` ${each}`).join("")}  `,
				);
		},
	);

	it.each(ACTIONS)(
		"D36: sluice %s --help prints its arguments and flags",
		async (words, action) => {
			const { stdout, ...rest } = await sluice(...words.split(" "), "--help");
			expect(rest).toEqual({ code: 0, stderr: "" });
			expect(stdout.split("\n")[0]).toBe(`sluice ${words} ${synopsisOf(action)}`);
			for (const [flag, { summary }] of Object.entries(action.flags))
				expect(stdout).toMatch(
					new RegExp(
						`^  (?:-\\w, )?--${flag}\\b.*${summary.slice(0, 20).replace(/[(),.]/g, ".")}`,
						"m",
					),
				);
		},
	);
});

it.each<[string, RegExp]>([
	["frobnicate", /^Unknown command 'frobnicate'\.\n\nsluice <command> \[options\]\n/],
	["jobs", /^Missing argument ENDPOINT\. Usage: sluice jobs list ENDPOINT \[options\]\n$/],
	["jobs get words", /^Missing argument JOB\. Usage: sluice jobs get ENDPOINT JOB \[options\]\n$/],
	["jobs get words id more", /^Unexpected argument 'more'\. Usage: sluice jobs get/],
	["jobs stop", /^Unknown command 'jobs stop'\..*jobs cancel ENDPOINT JOB/s],
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
