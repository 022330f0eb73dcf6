/**
 * What traces cost: no-op jobs through `/runsync` on services without them, again without them (the noise), with 1 %
 * and with all of them exported to a receiver, and with `--checkout FOLDER` on the built service of another checkout.
 * Of each there are several processes, since two of the same service differ by more than 1 % costs. All run at once
 * and are loaded in turn, each with a worker of its own. Figures are processor time of the service per job and its
 * ratio to the first. `node bench/tracing.ts [seconds] [rounds] [processes] [--checkout FOLDER]`, after
 * `npm run build`.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createServer } from "node:http";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { machine, median, spread } from "./machine.ts";
import { processorSeconds } from "./memory-of.ts";
import { end, KEY, startWorker } from "./processes.ts";
import { shoot } from "./wrk.ts";

const { values, positionals } = parseArgs({ allowPositionals: true, options: { checkout: { type: "string" } } });
const [seconds = 2, rounds = 9, processes = 4] = positionals.map(Number);
const WARM_UP_S = 6;
const CONNECTIONS = 64;

const here = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
let received = 0;
const receiver = createServer((request, response) => {
	request.on("data", (part: Buffer) => (received += part.length)).on("end", () => response.end());
});
await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
const otlp = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
const sampled = (ratio: string): Record<string, string> => ({
	OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${otlp}/v1/traces`,
	OTEL_TRACES_SAMPLER: "traceidratio",
	OTEL_TRACES_SAMPLER_ARG: ratio,
});

async function started(name: string, checkout: string, env: Record<string, string>) {
	const place = join(folder, String(services.length));
	mkdirSync(place);
	writeFileSync(
		join(place, "sluice.yaml"),
		JSON.stringify({ endpoints: { noop: { launcher: { type: "external" }, limits: "off" } } }),
	);
	const args = ["serve", "--port", "0", "--store", "sqlite:sluice.db", "--drain-timeout", "0"];
	const child: ChildProcess = spawn(process.execPath, [join(checkout, "bin/sluice.js"), ...args], {
		cwd: place,
		stdio: ["ignore", "pipe", "inherit"],
		env: { ...process.env, SLUICE_API_KEY: KEY, SLUICE_SECRET: KEY, ...env },
	});
	const url = await new Promise<string>((resolve, reject) => {
		createInterface({ input: child.stdout! }).on("line", (line) => {
			const found = /https?:\/\/\S+/.exec(line);
			if (found) resolve(found[0]);
		});
		child.once("exit", (code) => reject(new Error(`the service ${name} ended with code ${code}`)));
	});
	return { name, child, url, worker: await startWorker(url), microseconds: [] as number[], perSecond: [] as number[] };
}

/** The mean of the processes in each round. */
function perRound(name: string): number[] {
	const of = services.filter((each) => each.name === name);
	return of[0]!.microseconds.map(
		(_, round) => of.reduce((sum, { microseconds }) => sum + microseconds[round]!, 0) / of.length,
	);
}

const body = JSON.stringify({ input: { prompt: "x".repeat(170) } });
const headers = { "Content-Type": "application/json", Authorization: `Bearer ${KEY}` };
const kinds = [
	{ name: "off", checkout: here, env: {} },
	{ name: "off again", checkout: here, env: {} },
	{ name: "1%", checkout: here, env: sampled("0.01") },
	{ name: "100%", checkout: here, env: sampled("1") },
	...(values.checkout ? [{ name: "other", checkout: values.checkout, env: {} }] : []),
];
const services: Awaited<ReturnType<typeof started>>[] = [];
for (let index = 0; index < processes; index += 1)
	for (const { name, checkout, env } of index % 2 === 0 ? kinds : kinds.toReversed())
		services.push(await started(name, checkout, env));
try {
	const load = (url: string, s: number) =>
		shoot({ url: `${url}/v2/noop/runsync`, body, headers }, { connections: CONNECTIONS, seconds: s });
	for (const { url } of services) await load(url, WARM_UP_S);
	for (let round = 0; round < rounds; round += 1)
		for (const service of round % 2 === 0 ? services : services.toReversed()) {
			const before = processorSeconds(service.child.pid!);
			const { perSecond } = await load(service.url, seconds);
			const used = processorSeconds(service.child.pid!) - before;
			service.microseconds.push((used / (perSecond * seconds)) * 1e6);
			service.perSecond.push(perSecond);
		}
	const off = perRound("off");
	const results = kinds.map(({ name }) => ({
		name,
		perSecond: Math.round(median(services.flatMap((each) => (each.name === name ? each.perSecond : [])))),
		microseconds: spread(perRound(name)),
		ratio: spread(perRound(name).map((each, round) => each / off[round]!)),
	}));
	console.log(JSON.stringify({ machine: machine(), receivedBytes: received, results }, undefined, 2));
} finally {
	for (const { child, worker } of services) {
		await end(worker);
		await end(child);
	}
	receiver.close();
	rmSync(folder, { recursive: true, force: true });
}
