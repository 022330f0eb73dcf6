import { afterEach, expect, it, vi } from "vitest";
import type { ActionInput } from "../framework/command.ts";
import { consoleCommand, openCommand } from "../../modules/console/commands.ts";

afterEach(() => {
	vi.restoreAllMocks();
	vi.unstubAllEnvs();
});

it.each([consoleCommand, openCommand])(
	"D36: sluice $name prints no control characters of a service",
	async ({ run }) => {
		vi.stubEnv("BROWSER", "/nowhere/browser");
		const json = { path: "/console/\u009b2J\u001b[2J" };
		const service = {
			connection: () => ({ base: "http://127.0.0.1:8080" }),
			request: () => Promise.resolve({ json, text: JSON.stringify(json) }),
		};
		const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
		await run({ args: [], flags: {}, lists: {}, service } as unknown as ActionInput);
		expect(write.mock.calls).toEqual([["http://127.0.0.1:8080/console/?2J?[2J\n"]]);
	},
);
