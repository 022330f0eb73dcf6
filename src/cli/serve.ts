/** `sluice serve`: runs the service until it is stopped (D34). */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { extname } from "node:path";
import { setFlagsFromString } from "node:v8";
import { Worker } from "node:worker_threads";
import { type Option, OPTIONS } from "../config/options.ts";
import { loadConfig } from "../config/config.ts";
import type { Action, Flag } from "./command.ts";
import { CliError } from "./errors.ts";
import type { ServiceCommand, ServiceMessage } from "./service-thread.ts";

/** Parallel scavenging costs more than it gains on a busy machine. */
export const HEAP_FLAGS = ["--no-parallel-scavenge"];

/** Space for short-lived objects, MB; about a third is in use between collections. */
const YOUNG_GENERATION_MB = 24;

/** TypeScript in the source tree, JavaScript in the build. */
const THREAD = new URL(`./service-thread${extname(import.meta.url)}`, import.meta.url);

const PLACEHOLDERS: Readonly<Record<string, string>> = {
	config: "FILE",
	host: "ADDRESS",
	port: "PORT",
	store: "STORE",
	"data-dir": "FOLDER",
	"public-url": "URL",
	"advertise-url": "URL",
	"drain-timeout": "SECONDS",
	"tls-cert": "FILE",
	"tls-key": "FILE",
};

const FLAGS: Readonly<Record<string, Flag>> = Object.fromEntries(
	Object.values<Option>(OPTIONS).flatMap(({ flag, env, schema }) => {
		if (flag === undefined) return [];
		const fallback =
			schema.default === undefined ? "" : `default ${JSON.stringify(schema.default).replaceAll('"', "")}; `;
		const summary = `${schema.description} (${fallback}${env})`;
		return [[flag, { value: PLACEHOLDERS[flag] ?? "VALUE", summary }]];
	}),
);

export const serve: Action = {
	name: "serve",
	summary: "run the service",
	args: [],
	local: true,
	flags: FLAGS,
	examples: ["sluice serve --config sluice.yaml", "sluice serve --port 8081 --store sqlite:other.db"],
	async run({ flags }) {
		// A password on the command line: every user of the machine could read it.
		if (/:[^/:@]*@/.test(flags["store"] ?? "")) process.title = "sluice serve";
		const loaded = loadConfig({ flags, env: process.env, cwd: process.cwd(), readFile });
		if (!loaded.ok)
			throw new CliError(["The configuration is not valid:", ...loaded.problems.map((each) => `- ${each}`)].join("\n"));
		for (const flag of HEAP_FLAGS) setFlagsFromString(flag);
		const stopRequested = onStopSignal();
		const thread = new Worker(THREAD, {
			name: "service",
			workerData: { config: loaded.config },
			resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
		});
		// At a terminal the signal means that it was closed.
		if (loaded.config.tls && !process.stdin.isTTY)
			process.on("SIGHUP", () => thread.postMessage("reload" satisfies ServiceCommand));
		const exited = once(thread, "exit") as Promise<[number]>;
		const [message] = (await Promise.race([
			once(thread, "message"),
			exited.then(() => [{ kind: "failed", reason: "its thread exited." }]),
		])) as [ServiceMessage];
		if (message.kind === "failed") throw new CliError(`The service could not start: ${message.reason}`, 1);
		process.stdout.write(banner(message));
		void stopRequested.then(() => thread.postMessage("stop" satisfies ServiceCommand));
		const [ended] = await Promise.race([exited, once(thread, "message") as Promise<[ServiceMessage]>]);
		if (typeof ended === "number") return ended;
		await thread.terminate();
		throw new CliError(`The service has ended: ${failureOf(ended)}`, 1);
	},
};

/** After its start the thread sends nothing but a failure. */
function failureOf(message: ServiceMessage): string {
	return message.kind === "failed" ? message.reason : "its thread reported a second start.";
}

function banner(service: Extract<ServiceMessage, { kind: "listening" }>): string {
	const { url, firstKey, consoleLink, endpoint, readOnly } = service;
	const lines = [`Sluice listens on ${url}`];
	if (readOnly !== undefined)
		lines.push(`READ-ONLY: ${readOnly} Status and results are answered, submissions are 503 until there is room.`);
	if (consoleLink !== undefined) lines.push(`Console: ${consoleLink} ${LINK_NOTE}`);
	if (firstKey !== undefined) lines.push(`API key, shown only this once: ${firstKey}`);
	if (endpoint === undefined)
		lines.push("No endpoints yet. Describe one in sluice.yaml and restart with --config sluice.yaml.");
	else {
		const key = firstKey ?? "$SLUICE_API_KEY";
		lines.push("Try it:", `  curl -s ${url}/v2/${endpoint}/health -H "Authorization: Bearer ${key}"`);
	}
	return `${lines.join("\n")}\n`;
}

export const LINK_NOTE = "(single use, valid for 10 minutes; for another: sluice console)";

/** The second signal exits the process at once. */
function onStopSignal(): Promise<void> {
	return new Promise((resolve) => {
		let stopping = false;
		const onSignal = (): void => {
			if (stopping) process.exit(130);
			stopping = true;
			resolve();
		};
		process.on("SIGTERM", onSignal);
		process.on("SIGINT", onSignal);
	});
}

/** Undefined if the file cannot be read. */
export function readFile(path: string): string | undefined {
	try {
		return readFileSync(path, "utf8");
	} catch {
		return undefined;
	}
}
