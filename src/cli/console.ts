/** `sluice console`: a link that signs in to the web console (D31). */
import { JSON_FLAG, printed } from "./common-flags.ts";
import { CliError, readFlags } from "./command.ts";
import type { Command } from "./command.ts";
import { callService } from "./service-client.ts";

export const consoleCommand: Command = {
	name: "console",
	summary: "print a link that signs in to the web console once, within 10 minutes",
	synopsis: "[options]",
	flags: JSON_FLAG,
	async run(args) {
		const { help, flags, rest } = readFlags({ ...consoleCommand, args });
		if (help) return 0;
		if (rest.length > 0)
			throw new CliError(`console takes no argument '${rest[0]}'; see sluice console --help.`);
		const { base, ask } = callService(process.env);
		const told = await ask("POST", "/v1/console-link");
		return printed(told, { flags }, () => `${base}${(told.json as { path: string }).path}\n`);
	},
};
