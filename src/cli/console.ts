/** `sluice console`: a sign-in link for the web console (D31). */
import type { Action } from "./command.ts";
import { JSON_FLAG, printAnswer } from "./common-flags.ts";

export const consoleCommand: Action = {
	name: "console",
	summary: "print a single-use sign-in link for the web console, valid for 10 minutes",
	args: [],
	flags: JSON_FLAG,
	examples: ["sluice console"],
	async run(input) {
		const { service } = input;
		const answer = await service.request("POST", "/v1/console-link");
		const link = answer.json as { path: string };
		return printAnswer(answer, input, () => `${service.connection().base}${link.path}\n`);
	},
};
