/**
 * Wrong keys from 16 connections for a few seconds: how many are answered, what one costs the
 * service, and what a client with a valid key gets meanwhile. Prints JSON. `node
 * bench/attacks/key-guesses.ts [CHECKOUT] [seconds]`, CHECKOUT built.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { machine } from "../machine.ts";
import type * as Processes from "../processes.ts";
import { type Load, shoot } from "../wrk.ts";

const [checkout = ".", seconds = "5"] = process.argv.slice(2);
const { KEY, end, startService } = (await import(
	pathToFileURL(join(resolve(checkout), "bench/processes.ts")).href
)) as typeof Processes;

const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
const service = await startService(folder);

function load(key: string, connections: number): Promise<Load> {
	return shoot(
		{
			url: `${service.url}/v2/noop/run`,
			body: '{"input":{}}',
			headers: { Authorization: `Bearer ${key}` },
		},
		{ connections, seconds: Number(seconds) },
	);
}

/** Processor time of the service so far, in ms (Linux, 100 ticks a second). */
function cpuMs(): number {
	const fields = readFileSync(`/proc/${service.child.pid}/stat`, "utf8").split(") ")[1]!.split(" ");
	return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function statusOf(key: string): Promise<number> {
	const headers = { authorization: `Bearer ${key}` };
	return (await fetch(`${service.url}/v2/noop/health`, { headers })).status;
}

try {
	const wrong = "wrong-key-0123456789-0123456789";
	await load(KEY, 1);
	const alone = await load(KEY, 1);
	const before = cpuMs();
	const guesses = await load(wrong, 16);
	const cpuPerGuess = (cpuMs() - before) / (guesses.perSecond * Number(seconds));
	const [valid] = await Promise.all([load(KEY, 1), load(wrong, 16)]);
	const statuses = { wrong: await statusOf(wrong), valid: await statusOf(KEY) };
	const figures = { alone, guesses, cpuPerGuess, valid, statuses };
	const result = { bench: "attacks/key-guesses", ...machine(), ...figures };
	process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
} finally {
	await end(service.child);
	rmSync(folder, { recursive: true, force: true });
}
