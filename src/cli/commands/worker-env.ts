/** `sluice worker-env`: variables with which a RunPod worker attaches (D36). */
import type { Action } from "../framework/command.ts";
import { CliError } from "../client/errors.ts";
import { path } from "../client/service-client.ts";
import { shellQuoted } from "../../kernel/lib/text.ts";

/** Quoted, because a literal `$ID` must reach the worker (protocol B.1). */
const FORMATS: Readonly<Record<string, (name: string, value: string) => string>> = {
	env: (name, value) => `${name}=${value}`,
	shell: (name, value) => `export ${name}=${shellQuoted(value)}`,
	compose: (name, value) => `${name}: ${JSON.stringify(value.replaceAll("$", "$$$$"))}`,
};

export const workerEnv: Action = {
	name: "worker-env",
	summary: "print the environment variables with which a RunPod worker attaches to an endpoint",
	args: ["ENDPOINT"],
	flags: {
		"worker-url": {
			value: "URL",
			summary: "address at which the worker reaches the service (default: that of this command)",
		},
		format: { value: "FORMAT", summary: "env (default), shell, or compose: how $ID is quoted" },
		replicas: { summary: "a token for many workers; each uses its host name as its id" },
		json: { summary: "print one JSON object" },
	},
	examples: [
		'eval "$(sluice worker-env hello --format shell)" && python3 handler.py',
		"sluice worker-env hello --worker-url http://192.168.1.10:8080 --replicas",
	],
	async run({ args: [endpoint = ""], flags, service }) {
		const { "worker-url": url = service.connection().base, format = "env", replicas } = flags;
		const line = Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
		if (!line) throw new CliError(`--format must be one of ${Object.keys(FORMATS).join(", ")}, not '${format}'.`);
		const query = new URLSearchParams({ url, ...(replicas && { replicas }) });
		const { json } = await service.request("POST", path`/v1/endpoints/${endpoint}/worker-env?${query}`);
		const { env } = json as { env: Record<string, string> };
		if (flags["json"]) {
			process.stdout.write(`${JSON.stringify(env, null, 2)}\n`);
			return 0;
		}
		for (const [name, value] of Object.entries(env)) process.stdout.write(`${line(name, value)}\n`);
		if (!replicas)
			process.stderr.write(
				"For one worker process. For several with the same variables: " + `sluice worker-env ${endpoint} --replicas\n`,
			);
		else if (format === "shell") process.stdout.write('export RUNPOD_POD_ID="$(hostname)"\n');
		else process.stderr.write("Set RUNPOD_POD_ID to a unique id for each worker, such as its host name.\n");
		return 0;
	},
};
