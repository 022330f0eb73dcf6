/** `sluice serve`: runs the service until it is stopped (D34). */
import { MODULES } from "../../modules/index.ts";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { extname } from "node:path";
import { setFlagsFromString } from "node:v8";
import { Worker } from "node:worker_threads";
import { systemClock } from "../../kernel/system/clock.ts";
import { type Option, OPTIONS } from "../../kernel/config/options.ts";
import { loadConfig } from "../../kernel/config/config.ts";
import type { Action, Flag } from "../framework/command.ts";
import { CliError } from "../client/errors.ts";
import type { ServiceCommand, ServiceMessage } from "./service-thread.ts";

/** Parallel scavenging costs more than it gains on a busy machine. */
export const HEAP_FLAGS = ["--no-parallel-scavenge"];

/** MB. About a third is in use between collections. */
const YOUNG_GENERATION_MB = 24;

const LAST_LINES_MS = 500;

/** A stop waits this long for the end of the start, ms. */
const START_STOP_MS = 1000;

/** The extension differs between source tree and build. */
const THREAD = new URL(`./service-thread${extname(import.meta.url)}`, import.meta.url);

const PLACEHOLDERS: Readonly<Record<string, string>> = {
	config: "FILE",
	host: "ADDRESS",
	port: "PORT",
	store: "STORE",
	"data-dir": "FOLDER",
	"public-url": "URL",
	"advertise-url": "URL",
	"drain-timeout": "TIME",
	"tls-cert": "FILE",
	"tls-key": "FILE",
};

const FLAGS: Readonly<Record<string, Flag>> = Object.fromEntries(
	Object.values<Option>(OPTIONS).flatMap(({ flag, env, schema }) => {
		if (flag === undefined) return [];
		const fallback =
			schema.default === undefined ? "" : `default ${JSON.stringify(schema.default).replaceAll('"', "")}; `;
		const summary = `${schema.description} (${fallback}${env})`;
		return [[flag, schema.type === "boolean" ? { summary } : { value: PLACEHOLDERS[flag] ?? "VALUE", summary }]];
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
		// The list of processes would show the password to every user.
		if (/:[^/:@]*@/.test(flags["store"] ?? "")) process.title = "sluice serve";
		const loaded = loadConfig({ modules: MODULES, flags, env: process.env, cwd: process.cwd(), readFile });
		if (!loaded.ok)
			throw new CliError(["The configuration is not valid:", ...loaded.problems.map((each) => `- ${each}`)].join("\n"));
		for (const flag of HEAP_FLAGS) setFlagsFromString(flag);
		const stopRequested = onStopSignal();
		const thread = new Worker(THREAD, {
			name: "service",
			workerData: { config: loaded.config },
			resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
		});
		// At a terminal SIGHUP means that it was closed.
		if (loaded.config.tls && !process.stdin.isTTY)
			process.on("SIGHUP", () => thread.postMessage("reload" satisfies ServiceCommand));
		const exited = once(thread, "exit").then(([code]) => ({ kind: "exited", code: code as number }) as const);
		const next = () => Promise.race([once(thread, "message").then(([message]) => message as ServiceMessage), exited]);
		const listening = new AbortController();
		void stopRequested.then(async (signal) => {
			await systemClock.sleep(START_STOP_MS, listening.signal);
			if (!listening.signal.aborted) end(signal);
		});
		const started = await next();
		listening.abort();
		if (started.kind !== "listening") throw new CliError(`The service could not start: ${reasonOf(started)}`, 1);
		process.stdout.write(banner(started));
		// At a terminal workers end with the service.
		void stopRequested.then((signal) =>
			thread.postMessage((signal === "SIGINT" ? "end" : "stop") satisfies ServiceCommand),
		);
		const ended = await next();
		if (ended.kind === "exited") return ended.code;
		if (ended.kind === "stopped") await Promise.race([exited, systemClock.sleep(LAST_LINES_MS)]);
		await thread.terminate();
		if (ended.kind === "stopped") return 0;
		throw new CliError(`The service has ended: ${reasonOf(ended)}`, 1);
	},
};

function reasonOf(message: ServiceMessage | { kind: "exited" }): string {
	if (message.kind === "failed") return message.reason;
	return message.kind === "exited" ? "its thread exited." : "it stopped.";
}

function banner(service: Extract<ServiceMessage, { kind: "listening" }>): string {
	const { url, firstKey, consoleLink, endpoint, readOnly } = service;
	const lines = [`Sluice listens on ${url}`];
	if (readOnly !== undefined)
		lines.push(`READ-ONLY: ${readOnly} Status and results are answered, submissions are 503 until there is room.`);
	// `npm start` and `npx` run a command that is not installed.
	const npx = /^(?:start|npx)$/.test(process.env["npm_lifecycle_event"] ?? "") ? "npx " : "";
	if (consoleLink !== undefined)
		lines.push(`Console: ${consoleLink} (single use, valid for 10 minutes; for another: ${npx}sluice console)`);
	if (firstKey !== undefined) lines.push(`API key, shown only this once: ${firstKey}`);
	if (endpoint === undefined)
		lines.push("No endpoints yet. Describe one in sluice.yaml and restart with --config sluice.yaml.");
	else {
		const key = firstKey ?? "$SLUICE_API_KEY";
		lines.push("Try it:", `  curl -s ${url}/v2/${endpoint}/health -H "Authorization: Bearer ${key}"`);
	}
	return `${lines.join("\n")}\n`;
}

/** A second signal ends the process at once. */
function onStopSignal(): Promise<NodeJS.Signals> {
	return new Promise((resolve) => {
		let stopping = false;
		const onSignal = (signal: NodeJS.Signals): void => {
			if (stopping) end(signal);
			stopping = true;
			resolve(signal);
		};
		process.on("SIGTERM", onSignal);
		process.on("SIGINT", onSignal);
	});
}

/** Ends by the signal, because an exit waits for threads, and one may wait for the system. */
function end(signal: NodeJS.Signals): void {
	process.removeAllListeners(signal);
	process.kill(process.pid, signal);
	// The first process of a container does not end by its own signal.
	process.exit(130);
}

export function readFile(path: string): string | undefined {
	try {
		return readFileSync(path, "utf8");
	} catch {
		return undefined;
	}
}
