/**
 * `sluice worker-env ENDPOINT`: the environment that lets any RunPod worker anywhere attach (D36).
 */
import { CliError, readFlags } from "./command.ts";
import type { Command } from "./command.ts";
import { callService, path } from "./service-client.ts";

const FLAGS = {
	url: {
		value: "URL",
		summary: "address under which the worker reaches the service (default: SLUICE_URL)",
	},
	format: { value: "FORMAT", summary: "env (default), shell, or compose: how $ID is quoted" },
	replicas: { summary: "a token for many workers; each takes its id from its host name" },
	json: { summary: "print one JSON object" },
};

/**
 * How a line is written in each format, so that `$ID` reaches the worker as it is (protocol
 * B.1).
 */
const FORMATS: Readonly<Record<string, (name: string, value: string) => string>> = {
	env: (name, value) => `${name}=${value}`,
	shell: (name, value) => `export ${name}='${value.replaceAll("'", `'\\''`)}'`,
	compose: (name, value) => `${name}: ${JSON.stringify(value.replaceAll("$", "$$$$"))}`,
};

/** The worker id of a replica, where each format can say it. */
const REPLICA_ID: Readonly<Record<string, string>> = {
	shell: 'export RUNPOD_POD_ID="$(hostname)"',
};

export const workerEnvCommand: Command = {
	name: "worker-env",
	summary: "print the variables that let a RunPod worker attach to an endpoint",
	synopsis: "ENDPOINT [options]",
	flags: FLAGS,
	async run(args) {
		const { help, flags, rest } = readFlags({ ...workerEnvCommand, args });
		if (help) return 0;
		const [endpoint, ...more] = rest;
		if (endpoint === undefined || more.length > 0)
			throw new CliError("worker-env takes one endpoint id: sluice worker-env ENDPOINT");
		const format = flags["format"] ?? "env";
		const line = FORMATS[format];
		if (!line)
			throw new CliError(
				`--format must be one of ${Object.keys(FORMATS).join(", ")}, not '${format}'.`,
			);
		const { base, ask } = callService(process.env);
		const q = new URLSearchParams({
			url: flags["url"] ?? base,
			...(flags["replicas"] ? { replicas: "true" } : {}),
		});
		const { json } = await ask("POST", path`/v1/endpoints/${endpoint}/worker-env?${q}`);
		const { env } = json as { env: Record<string, string> };
		if (flags["json"]) process.stdout.write(`${JSON.stringify(env, null, 2)}\n`);
		else {
			const lines = Object.entries(env).map(([name, value]) => line(name, value));
			const replica = flags["replicas"] ? REPLICA_ID[format] : undefined;
			process.stdout.write(`${[...lines, ...(replica ? [replica] : [])].join("\n")}\n`);
			if (flags["replicas"] && !replica)
				process.stderr.write(
					"Set RUNPOD_POD_ID of each worker to an id of its own, such as its host name.\n",
				);
		}
		return 0;
	},
};
