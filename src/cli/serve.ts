/** `sluice serve`: runs the service until it is told to stop (D34). */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { extname } from "node:path";
import { setFlagsFromString } from "node:v8";
import { Worker } from "node:worker_threads";
import { OPTIONS, loadConfig } from "../config.ts";
import type { Option } from "../config.ts";
import { CliError, readFlags } from "./command.ts";
import type { Command, Flag } from "./command.ts";
import type { ServiceOrder, ServiceMessage } from "./service-thread.ts";

/**
 * How memory of short life is managed. Most of what a request makes is garbage a millisecond later:
 * several threads collecting it get into each other's way on a machine that has better to do.
 */
export const HEAP_FLAGS = ["--no-parallel-scavenge"];

/** Room for such memory, MB: a third of it is in use between two collections. */
const YOUNG_MB = 24;

/**
 * This file's own ending: the thread is TypeScript beside the source and JavaScript beside the
 * build.
 */
const THREAD = new URL(`./service-thread${extname(import.meta.url)}`, import.meta.url);

/** Placeholders of the flags' values. */
const VALUES: Readonly<Record<string, string>> = {
	config: "FILE",
	host: "ADDRESS",
	port: "PORT",
	store: "STORE",
	"data-dir": "FOLDER",
	"public-url": "URL",
	"advertise-url": "URL",
	"drain-timeout": "SECONDS",
};

const FLAGS: Readonly<Record<string, Flag>> = Object.fromEntries(
	Object.values<Option>(OPTIONS).flatMap(({ flag, env, schema }) => {
		if (flag === undefined) return [];
		const otherwise =
			schema.default === undefined
				? ""
				: `default ${JSON.stringify(schema.default).replaceAll('"', "")}; `;
		return [
			[
				flag,
				{ value: VALUES[flag] ?? "VALUE", summary: `${schema.description} (${otherwise}${env})` },
			],
		];
	}),
);

export const serve: Command = {
	name: "serve",
	summary: "run the service",
	synopsis: "[--config sluice.yaml] [options]",
	flags: FLAGS,
	async run(args) {
		const { help, flags, rest } = readFlags({ ...serve, args });
		if (help) return 0;
		if (rest.length > 0)
			throw new CliError(`serve takes no argument '${rest[0]}'; see sluice serve --help.`);
		const loaded = loadConfig({ flags, env: process.env, cwd: process.cwd(), readFile });
		if (!loaded.ok)
			throw new CliError(
				[
					"The configuration has problems:",
					...loaded.problems.map((problem) => `- ${problem}`),
				].join("\n"),
			);
		for (const flag of HEAP_FLAGS) setFlagsFromString(flag);
		const asked = stopAsked();
		const thread = new Worker(THREAD, {
			name: "service",
			workerData: { config: loaded.config },
			resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
		});
		const exited = once(thread, "exit") as Promise<[number]>;
		const [word] = (await Promise.race([
			once(thread, "message"),
			exited.then(() => [{ kind: "refused", why: "its thread ended." }]),
		])) as [ServiceMessage];
		if (word.kind === "refused") throw new CliError(`The service could not start: ${word.why}`, 1);
		greet(word);
		void asked.then(() => thread.postMessage("stop" satisfies ServiceOrder));
		const [code] = await exited;
		return code;
	},
};

function greet({
	url,
	firstKey,
	consoleLink,
	endpoint,
}: Extract<ServiceMessage, { kind: "listening" }>): void {
	const lines = [`Sluice listens on ${url}`];
	if (consoleLink !== undefined)
		lines.push(`Console: ${consoleLink} (good once, for 10 minutes; then: sluice console)`);
	if (firstKey !== undefined) lines.push(`API key, shown only this once: ${firstKey}`);
	const key = firstKey ?? "$SLUICE_API_KEY";
	if (endpoint === undefined)
		lines.push(
			"There is no endpoint yet: describe one in sluice.yaml and start again with --config sluice.yaml.",
		);
	else
		lines.push(
			"Try it:",
			`  curl -s ${url}/v2/${endpoint}/health -H 'Authorization: Bearer ${key}'`.replaceAll(
				"'",
				'"',
			),
		);
	process.stdout.write(`${lines.join("\n")}\n`);
}

/** Resolves at the first SIGTERM or SIGINT; a second one ends the process at once. */
function stopAsked(): Promise<void> {
	return new Promise((resolve) => {
		let asked = false;
		const onSignal = (): void => {
			if (asked) process.exit(130);
			asked = true;
			resolve();
		};
		process.on("SIGTERM", onSignal);
		process.on("SIGINT", onSignal);
	});
}

/** The text of a file; undefined when it cannot be read. */
export function readFile(path: string): string | undefined {
	try {
		return readFileSync(path, "utf8");
	} catch {
		return undefined;
	}
}
