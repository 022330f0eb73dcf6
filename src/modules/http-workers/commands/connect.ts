/** `sluice connect`: an HTTP server that runs already becomes a worker of an endpoint (D36). */
import { randomUUID } from "node:crypto";
import { CliError } from "../../../cli/client/errors.ts";
import { httpSetting, resolved } from "../../../cli/commands/jobs/http-setting.ts";
import type { Action } from "../../../cli/framework/command.ts";
import { YES_FLAG } from "../../../cli/framework/common-flags.ts";
import { printTimed } from "../../../cli/framework/timed-line.ts";
import { foundText } from "./about.ts";
import { attach } from "./attach.ts";
import { jobLine, logLine } from "./adapter-lines.ts";
import { atUrl, presetOf } from "./server-mapping.ts";

/** The adapter finishes its jobs after the first, and stops them after the second. */
const STOPS = ["SIGINT", "SIGTERM"] as const;
/** Exit code after the second, as of a program that SIGINT ends. */
const INTERRUPTED = 130;

export const connect: Action = {
	name: "connect",
	summary: "make an HTTP server that runs already a worker of an endpoint, until Ctrl-C",
	args: ["PRESET", "URL"],
	synopsis: "PRESET|FILE URL --endpoint ID [options]",
	flags: {
		endpoint: {
			value: "ID",
			summary: "endpoint whose jobs the server gets; created after a question if it is missing",
		},
		concurrency: { value: "N", summary: "jobs at a time (default: that of the endpoint's mapping)" },
		...YES_FLAG,
	},
	examples: [
		"sluice connect comfyui http://127.0.0.1:8188 --endpoint pictures",
		"sluice connect ./mapping.yaml https://gpu.example.com/translate --endpoint translate --concurrency 4",
	],
	env: {
		RUNPOD_WEBHOOK_GET_JOB: "with the others of 'sluice worker-env ID': the token of a worker in place of an API key",
	},
	async run({ args: [source = "", url = ""], flags, service }) {
		const { endpoint } = flags;
		if (endpoint === undefined)
			throw new CliError(`Missing option --endpoint. Usage: sluice connect ${connect.synopsis}`);
		const concurrency = flags["concurrency"] === undefined ? undefined : concurrencyOf(flags["concurrency"]);
		const setting = httpSetting(source);
		// What cannot work is found before an endpoint is created.
		resolved(atUrl(setting, { url, concurrency }));
		const { mapping: value, variables } = await attach({ endpoint, source, setting, flags, service, env: process.env });
		const { mapping } = resolved(atUrl(value, { url, concurrency }));
		printTimed(`Connecting ${url} to endpoint '${endpoint}' as worker ${variables["RUNPOD_POD_ID"]}. Ctrl-C ends it.`);

		const { processEnvironment, runAdapter } = await import("sluice/worker/http");
		let signals = 0;
		const count = (): void => void (signals += 1);
		for (const name of STOPS) process.on(name, count);
		const code = await runAdapter({
			...processEnvironment(),
			mapping,
			command: [],
			isLaunched: false,
			env: { ...process.env, ...variables },
			argv: [],
			randomId: randomUUID,
			write: (text) => logLine(text, printTimed),
			onReady: () => void foundText(presetOf(setting), url).then(printTimed),
			onJob: (end) => printTimed(jobLine(end)),
		}).catch((error: unknown) => {
			// Such as a variable of a worker that is missing.
			throw new CliError((error as Error).message, 1);
		});
		for (const name of STOPS) process.off(name, count);
		return signals > 1 ? INTERRUPTED : code;
	},
};

function concurrencyOf(text: string): number {
	const value = Number(text);
	if (/^\d+$/.test(text) && value >= 1 && value <= 10_000) return value;
	throw new CliError(`--concurrency must be a whole number from 1 to 10000, not '${text}'.`);
}
