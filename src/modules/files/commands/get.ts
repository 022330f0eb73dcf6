/** `sluice files get`: downloads a file. */
import type { Action } from "../../../cli/framework/command.ts";
import { FORCE_FLAG, receivedText, receiveFile } from "../../../cli/framework/endpoint-files.ts";

export const get: Action = {
	name: "get",
	args: ["ENDPOINT", "ID", "[TARGET]"],
	summary: "download a file into a file or folder; - for standard output (default: its name, here)",
	flags: FORCE_FLAG,
	examples: ["sluice files get hello file-019b2f6e7c1a7d259a415f0f6a1c2e77 results/"],
	async run({ args: [endpoint = "", id = "", target], flags, service }) {
		const force = flags["force"] !== undefined;
		process.stdout.write(receivedText(await receiveFile(service, { endpoint, id, target, force })));
		return 0;
	},
};
