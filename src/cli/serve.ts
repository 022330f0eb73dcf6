/** `sluice serve`: runs the service until it is stopped (D34). */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { extname } from "node:path";
import { setFlagsFromString } from "node:v8";
import { Worker } from "node:worker_threads";
import { systemClock } from "../clock.ts";
import { type Option, OPTIONS } from "../config/options.ts";
import { loadConfig } from "../config/config.ts";
import type { Action, Flag } from "./command.ts";
import { CliError } from "./errors.ts";
import type { ServiceCommand, ServiceMessage } from "./service-thread.ts";

/** Parallel scavenging costs more than it gains on a busy machine. */
export const HEAP_FLAGS = ["--no-parallel-scavenge"];

/** Space for short-lived objects, MB; about a third is in use between collections. */
const YOUNG_GENERATION_MB = 24;

/** Time from the end of the service to that of its thread, ms. */
const LAST_LINES_MS = 500;

/** How long a stop waits for the end of the start, so that it is graceful, ms. */
const START_STOP_MS = 1000;

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
		const listening = new AbortController();
		void stopRequested.then(async (signal) => {
			await systemClock.sleep(START_STOP_MS, listening.signal);
			if (!listening.signal.aborted) end(signal);
		});
		const [message] = (await Promise.race([
			once(thread, "message"),
			exited.then(() => [{ kind: "failed", reason: "its thread exited." }]),
		])) as [ServiceMessage];
		listening.abort();
		if (message.kind !== "listening")
			throw new CliError(
				`The service could not start: ${message.kind === "failed" ? message.reason : "it stopped."}`,
				1,
			);
		process.stdout.write(banner(message));
		// At a terminal workers end with the service.
		void stopRequested.then((signal) =>
			thread.postMessage((signal === "SIGINT" ? "end" : "stop") satisfies ServiceCommand),
		);
		const [ended] = await Promise.race([exited, once(thread, "message") as Promise<[ServiceMessage]>]);
		if (typeof ended === "number") return ended;
		// The last lines of the log are still on their way.
		if (ended.kind === "stopped") await Promise.race([exited, systemClock.sleep(LAST_LINES_MS)]);
		await thread.terminate();
		if (ended.kind === "stopped") return 0;
		const why = ended.kind === "failed" ? ended.reason : "its thread reported a second start.";
		throw new CliError(`The service has ended: ${why}`, 1);
	},
};

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

const LINK_NOTE = "(single use, valid for 10 minutes; for another: sluice console)";

/** The first stop signal; the second one ends the process at once. */
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

/** Ends the process by the signal: to exit, Node waits for its threads, of which one may wait for the system. */
function end(signal: NodeJS.Signals): void {
	process.removeAllListeners(signal);
	process.kill(process.pid, signal);
	// The first process of a container gets no signal of its own.
	process.exit(130);
}

/** Undefined if the file cannot be read. */
export function readFile(path: string): string | undefined {
	try {
		return readFileSync(path, "utf8");
	} catch {
		return undefined;
	}
}
