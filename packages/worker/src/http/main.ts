#!/usr/bin/env node
/**
 * The program `sluice-http`.
 *
 * ```sh
 * sluice-http                         # takes jobs for a server that runs already
 * sluice-http -- llama-server --port {port}   # starts the server, too
 * sluice-http --external              # of a worker that no launcher started: waits for a lost server
 * sluice-http sleep                   # frees the server's GPU memory; wake takes it again
 * ```
 *
 * The mapping is JSON in the variable SLUICE_HTTP, also with a preset. Exit code 2: a setting is wrong.
 */
import "../node-version.ts";
import { randomUUID } from "node:crypto";
import { processEnvironment, runAdapter } from "./adapter.ts";
import type { Mapping } from "./mapping/mapping.ts";
import { resolveMapping } from "./mapping/resolve-mapping.ts";
import { sleepServer, wakeServer } from "./server/sleep.ts";
import { workerFiles } from "./server/worker-files.ts";

const USAGE = "Usage: sluice-http [sleep | wake | [--external] [--test_input JSON] [-- COMMAND [ARGUMENT]...]]";

process.exit(await main(process.argv.slice(2), process.env));

async function main(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
	const dashes = args.indexOf("--");
	const given = dashes === -1 ? args : args.slice(0, dashes);
	const own = given.filter((each) => each !== "--external");
	const command = dashes === -1 ? [] : args.slice(dashes + 1);
	const [first] = own;
	const isTest = first === undefined || first.startsWith("--test_input");
	if (!isTest && (own.length > 1 || !["sleep", "wake"].includes(first)))
		return refuse(`Unexpected argument ${first}. ${USAGE}`);
	const mapping = mappingOf(env);
	if (typeof mapping === "string") return refuse(mapping);
	const shared = { mapping, env, randomId: randomUUID, ...processEnvironment() };
	try {
		if (isTest) return await runAdapter({ ...shared, command, argv: own, isLaunched: own.length === given.length });
		const files = workerFiles(env["RUNPOD_POD_ID"]);
		await (first === "sleep" ? sleepServer : wakeServer)({ ...shared, files });
		return 0;
	} catch (error) {
		process.stderr.write(`${(error as Error).message}\n`);
		return 1;
	}
}

/** The mapping, or sentences about what is wrong. */
function mappingOf(env: NodeJS.ProcessEnv): Mapping | string {
	const text = env["SLUICE_HTTP"];
	if (!text) return 'SLUICE_HTTP is missing: it must be the mapping as JSON, such as {"port": 8000}.';
	let value: unknown;
	try {
		value = JSON.parse(text);
	} catch (error) {
		return `SLUICE_HTTP is not JSON: ${(error as Error).message}`;
	}
	const read = resolveMapping(value);
	return read.ok ? read.mapping : read.faults.map(({ path, message }) => `${path} ${message}`).join("\n");
}

function refuse(sentence: string): number {
	process.stderr.write(`${sentence}\n`);
	return 2;
}
