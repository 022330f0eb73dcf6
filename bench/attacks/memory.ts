/**
 * A service in a cgroup of 512 MiB under all attacks on its memory at once, from one process each:
 * unread answers of 60 MB with a read key, partial uploads with a write key, and unfinished headers
 * and unread pipelined answers without a key. Prints JSON: whether it lives, its memory, and what
 * another client's `/runsync` takes meanwhile, with small inputs and with 1 MB.
 * `node bench/attacks/memory.ts [CHECKOUT] [seconds] [attacks]`, both built; `attacks`: some of
 * `unread,uploads,headers,pipelined`. Needs root and a cgroup of memory (v1 or v2).
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, rmdirSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { machine } from "../machine.ts";
import { peakMb } from "../memory-of.ts";
import { end, type startService as Start, type startWorker as Work } from "../processes.ts";

const [checkout = ".", seconds = "20", only] = process.argv.slice(2);
const LIMIT = 512 * 1024 * 1024;
const RESULT_BYTES = 60_000_000;
const COUNTS = { unread: 24, uploads: 60, headers: 4000, pipelined: 40 };
type Attack = keyof typeof COUNTS;
const attacks = new Set((only?.split(",") ?? Object.keys(COUNTS)) as Attack[]);

const { KEY, startService, startWorker } = (await import(
	pathToFileURL(join(resolve(checkout), "bench/processes.ts")).href
)) as { KEY: string; startService: typeof Start; startWorker: typeof Work };

/** A cgroup with the limit, and how to put a process into it. */
function cgroup(): { enter(): void; leave(): void; peakMb(): number; remove(): void } {
	const v2 = existsSync("/sys/fs/cgroup/cgroup.controllers");
	const folder = join(v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory", `sluice-attack-${process.pid}`);
	mkdirSync(folder);
	const set = (name: string, value: string): void => writeFileSync(join(folder, name), value);
	return {
		enter() {
			set(v2 ? "memory.max" : "memory.limit_in_bytes", String(LIMIT));
			set("cgroup.procs", String(process.pid));
		},
		leave: () => writeFileSync(join(folder, "../cgroup.procs"), String(process.pid)),
		peakMb: () =>
			Math.round(
				Number(readFileSync(join(folder, v2 ? "memory.peak" : "memory.max_usage_in_bytes"), "utf8")) / 2 ** 20,
			),
		remove: () => rmdirSync(folder),
	};
}

const authorization = { authorization: `Bearer ${KEY}` };

async function post(url: string, body?: string, headers: Record<string, string> = authorization): Promise<any> {
	const answer = await fetch(url, {
		method: "POST",
		headers,
		...(body === undefined ? {} : { body }),
	});
	if (!answer.ok) throw new Error(`${url} was answered ${answer.status}`);
	return await answer.json();
}

/** A completed job with a large output. */
async function largeJob(url: string): Promise<string> {
	const { id } = await post(`${url}/v2/noop/run`, '{"input":{}}');
	const { env } = await post(`${url}/v1/endpoints/noop/worker-env?url=${encodeURIComponent(url)}`);
	const headers = { authorization: String(env.RUNPOD_AI_API_KEY) };
	const worker = String(env.RUNPOD_POD_ID);
	const taken = await fetch(`${url}/worker/noop/job-take/${worker}?job_in_progress=0`, { headers });
	await taken.arrayBuffer();
	await post(
		`${url}/worker/noop/job-done/${worker}/${id}?isStream=false`,
		`{"output":"${"x".repeat(RESULT_BYTES)}"}`,
		headers,
	);
	return id as string;
}

const sockets = new Set<Socket>();
const seen: Record<string, number> = {};
let over = false;

/** Keeps so many connections that send this and read nothing; each is opened again when it closes. */
function attack(url: string, name: Attack, bytes: Buffer): void {
	if (!attacks.has(name)) return;
	const count = COUNTS[name];
	const { hostname, port } = new URL(url);
	const open = (): void => {
		if (over) return;
		const socket = connect(Number(port), hostname);
		sockets.add(socket);
		socket.once("readable", () => {
			const status = /^HTTP\/1.1 (\d+)/.exec((socket.read(20) as Buffer | null)?.toString() ?? "")?.[1];
			if (status !== undefined) seen[status] = (seen[status] ?? 0) + 1;
			// An attacker that is refused tries again, but not as a flood of connections.
			if (status !== "200") setTimeout(() => socket.destroy(), 1000);
		});
		socket.on("error", () => {});
		socket.once("close", () => {
			sockets.delete(socket);
			setTimeout(open, 500);
		});
		socket.write(bytes);
	};
	for (let number = 0; number < count; number += 1) setTimeout(open, (number % 500) * 2);
}

const requestOf = (lines: string[], body = ""): Buffer => Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`);

function attackAll(url: string, keys: { read: string; write: string }, job: string): void {
	attack(url, "unread", requestOf([`GET /v2/noop/status/${job} HTTP/1.1`, "Host: a", `Authorization: ${keys.read}`]));
	attack(
		url,
		"uploads",
		requestOf(
			["POST /v2/noop/runsync HTTP/1.1", "Host: a", `Authorization: ${keys.write}`, "Content-Length: 2000000"],
			" ".repeat(1_900_000),
		),
	);
	attack(url, "headers", Buffer.from(`GET / HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(60_000)}`));
	attack(url, "pipelined", Buffer.from("GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n".repeat(2000)));
}

const serving = (): boolean => service.child.exitCode === null && service.child.signalCode === null;

/** Another client's `/runsync` until the time is over. */
async function probe(
	url: string,
	key: string,
	until: number,
	{ clients = 4, input = {} as unknown } = {},
): Promise<{ ms: number[]; failed: number }> {
	const ms: number[] = [];
	let failed = 0;
	const one = async (): Promise<void> => {
		while (performance.now() < until && serving()) {
			const began = performance.now();
			try {
				const answer = await fetch(`${url}/v2/noop/runsync`, {
					method: "POST",
					headers: { authorization: `Bearer ${key}` },
					body: JSON.stringify({ input }),
					signal: AbortSignal.timeout(10_000),
				});
				const { status } = (await answer.json()) as { status?: string };
				if (status !== "COMPLETED") failed += 1;
				ms.push(performance.now() - began);
			} catch {
				failed += 1;
				await new Promise((resolve) => setTimeout(resolve, 100));
			}
		}
	};
	await Promise.all(Array.from({ length: clients }, one));
	return { ms: ms.toSorted((a, b) => a - b), failed };
}

const folder = mkdtempSync(join(tmpdir(), "sluice-attack-"));
const group = cgroup();
// Children begin in the group of their parent.
group.enter();
const service = await startService(folder);
group.leave();
const url = service.url;
const keys: Record<"read" | "write" | "other", string> = { read: "", write: "", other: "" };
for (const name of ["read", "write", "other"] as const) {
	const scopes = [name === "read" ? "read" : "write"];
	keys[name] = (await post(`${url}/v1/keys`, JSON.stringify({ name, scopes }))).key as string;
}
const job = await largeJob(url);
const worker = await startWorker(url);
try {
	const calm = await probe(url, keys.other, performance.now() + 3000);
	attackAll(url, keys, job);
	const until = performance.now() + Number(seconds) * 1000;
	const [attacked, large] = await Promise.all([
		probe(url, keys.other, until),
		probe(url, keys.other, until, { clients: 1, input: { text: "x".repeat(1_000_000) } }),
	]);
	over = true;
	const alive = serving();
	const at = (values: number[], part: number): number | null =>
		values.length === 0 ? null : Math.round(values[Math.floor(values.length * part)]! * 10) / 10;
	process.stdout.write(
		`${JSON.stringify(
			{
				bench: "attacks/memory",
				...machine(),
				checkout,
				limitMb: LIMIT / 2 ** 20,
				attacks: Object.fromEntries([...attacks].map((name) => [name, COUNTS[name]])),
				alive,
				ended: service.child.signalCode ?? service.child.exitCode,
				cgroupPeakMb: group.peakMb(),
				rssPeakMb: alive ? peakMb(service.child.pid!) : null,
				answersToAttackers: seen,
				calm: { requests: calm.ms.length, p50: at(calm.ms, 0.5), p99: at(calm.ms, 0.99) },
				attacked: {
					requests: attacked.ms.length,
					failed: attacked.failed,
					p50: at(attacked.ms, 0.5),
					p99: at(attacked.ms, 0.99),
					longest: at(attacked.ms, 0.9999),
				},
				attackedLarge: { requests: large.ms.length, failed: large.failed, p50: at(large.ms, 0.5) },
			},
			null,
			2,
		)}\n`,
	);
} finally {
	over = true;
	for (const socket of sockets) socket.destroy();
	await end(worker, "SIGKILL");
	await end(service.child, "SIGKILL");
	group.remove();
	rmSync(folder, { recursive: true, force: true });
}
