/**
 * Streams of `/openai`, next to a relay that keeps nothing: chunks as fast as they are taken, by one
 * and by many streams, and tokens at the pace of a model. Prints JSON: chunks per second, time from
 * the worker to the client in ms, and the ratio to the relay. `node bench/stream.ts [streams]
 * [chunks] [rounds]`, after `npm run build`.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { machine, spread } from "./machine.ts";
import { end, startService, startWorker } from "./processes.ts";
import { type Round, round } from "./stream-reader.ts";

const [many = 32, chunks = 400, rounds = 5] = process.argv.slice(2).map(Number);
const pathOf = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
const children: ChildProcess[] = [];
try {
	const relay = spawn(process.execPath, [pathOf("relay.ts")], {
		stdio: ["ignore", "pipe", "inherit"],
	});
	children.push(relay);
	const [port] = (await once(relay.stdout, "data")) as [Buffer];
	const relayUrl = `http://127.0.0.1:${String(port).trim()}`;
	const relayArgs = [pathOf("relay-worker.ts"), relayUrl];
	children.push(spawn(process.execPath, relayArgs, { stdio: ["ignore", "ignore", "inherit"] }));
	const service = await startService(folder);
	children.push(await startWorker(service.url, "stream-worker.ts"), service.child);
	const url = `${service.url}/v2/noop/openai/v1/chat/completions`;

	const result: Record<string, unknown> = { bench: "stream", ...machine(), chunks, rounds };
	for (const [name, streams, everyMs] of [
		["one stream, as fast as possible", 1, 0],
		[`${many} streams, as fast as possible`, many, 0],
		["one stream, a token every 20 ms", 1, 20],
		[`${many} streams, a token every 20 ms each`, many, 20],
	] as const) {
		const input = { chunks: everyMs > 0 ? Math.min(chunks, 100) : chunks, everyMs };
		await round(url, streams, input);
		await round(relayUrl, streams, input);
		const pairs: [Round, Round][] = [];
		for (let count = 0; count < rounds; count += 1)
			pairs.push([await round(relayUrl, streams, input), await round(url, streams, input)]);
		const of = (side: 0 | 1, member: keyof Round) => spread(pairs.map((pair) => pair[side][member]));
		result[name] = {
			...(everyMs === 0 && {
				ratio: spread(pairs.map(([base, own]) => Number((own.perSecond / base.perSecond).toFixed(2)))),
				perSecond: of(1, "perSecond"),
			}),
			p50: of(1, "p50"),
			p99: of(1, "p99"),
			relay: { perSecond: of(0, "perSecond"), p50: of(0, "p50"), p99: of(0, "p99") },
		};
	}
	process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
} finally {
	for (const child of children) await end(child);
	rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
