/** What a platform sends is held in bounded memory, through real connections. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type PlatformServer, platformServer } from "../support/platform-server.ts";
import { systemClock } from "../../src/kernel/system/clock.ts";
import { connectionOf } from "../../src/modules/docker/hosts/connection.ts";
import { type Daemon, dockerDaemon } from "../../src/modules/docker/daemon.ts";
import { readGpus } from "../../src/modules/docker/hosts/gpus.ts";
import { dockerImages } from "../../src/modules/docker/images/images.ts";
import { transfers } from "../../src/modules/docker/images/transfers.ts";
import { copyOutput as copyContainer } from "../../src/modules/docker/container.ts";
import { kubernetesClient, type KubernetesClient } from "../../src/modules/kubernetes/api/client.ts";
import { copyOutput as copyPod } from "../../src/modules/kubernetes/pods/output.ts";
import { podWatch } from "../../src/modules/kubernetes/pods/pod-watch.ts";
import { logPath, startOf } from "../../src/kernel/launchers/logs/log-files.ts";
import { linesOf, textOf } from "../../src/kernel/launchers/platform-streams.ts";
import { timedLog } from "../../src/kernel/launchers/logs/timed-log.ts";

const MIB = 1024 ** 2;
/**
 * Bytes of a line without end; of an endless answer at most, so that reading all fails, and not the
 * machine; and that may be held, garbage that is not collected yet included.
 */
const MUCH = 300 * MIB;
const ENDLESS = 500 * MIB;
const HELD = 250 * MIB;
const TIME = "2026-01-01T00:00:00.000000001Z";

let logDir: string;
let close: (() => void)[] = [];
beforeEach(() => {
	logDir = mkdtempSync(join(tmpdir(), "sluice-streams-"));
});
afterEach(async () => {
	for (const each of close.splice(0)) each();
	rmSync(logDir, { recursive: true, force: true });
});

type Answers = Parameters<typeof platformServer>[0];

async function served(answers: Answers): Promise<PlatformServer> {
	const server = await platformServer(answers);
	close.push(server.close);
	return server;
}

async function apiServer(answers: Answers): Promise<{ client: KubernetesClient; server: PlatformServer }> {
	const server = await served(answers);
	const credentials = async (): Promise<object> => ({});
	const client = kubernetesClient({ server: server.url, namespace: "ai", insecure: false, credentials });
	close.push(() => void client.close());
	return { client, server };
}

async function docker(answers: Answers): Promise<{ daemon: Daemon; server: PlatformServer }> {
	const server = await served(answers);
	const daemon = dockerDaemon(connectionOf({ DOCKER_HOST: server.url }));
	close.push(daemon.close);
	return { daemon, server };
}

/**
 * How long this thread computed at most before others had a turn, ms, however long the machine took for that; and how
 * much more memory than before was held.
 */
async function cost(work: () => Promise<unknown>): Promise<{ computedMs: number; memory: number }> {
	const held = (): number => process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
	const before = held();
	let memory = 0;
	let computedMs = 0;
	let last = process.threadCpuUsage();
	function sample(): void {
		memory = Math.max(memory, held() - before);
		const { user, system } = process.threadCpuUsage(last);
		last = process.threadCpuUsage();
		computedMs = Math.max(computedMs, (user + system) / 1000);
	}
	const samples = setInterval(sample, 5);
	try {
		await work();
	} finally {
		clearInterval(samples);
		sample();
	}
	return { computedMs, memory };
}

describe("one line of output without end", () => {
	const signal = new AbortController().signal;
	const q = { logDir: "", workerId: "w", namespace: "ai", pod: "p", signal };
	const written = (): string => readFileSync(logPath(logDir, "w"), "latin1");
	const total = async (): Promise<number> => (await startOf(logPath(logDir, "w"))) + written().length;

	it("D47: of a Pod is written as it arrives, and the next line follows", async () => {
		const { client } = await apiServer(() => ({
			begin: `${TIME} `,
			most: MUCH,
			end: `\n${TIME.replace("1Z", "2Z")} next\n`,
		}));
		const { computedMs, memory } = await cost(() => copyPod(client, { ...q, logDir }));
		expect(await total()).toBe(MUCH + "\nnext\n".length);
		expect(written()).toMatch(/x\nnext\n$/);
		expect(computedMs).toBeLessThan(1000);
		expect(memory).toBeLessThan(HELD);
	}, 30_000);

	it("D47: of a container is written as it arrives, whatever length its frame announces", async () => {
		const header = Buffer.from([1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
		const { daemon } = await docker(() => ({ begin: Buffer.concat([header, Buffer.from(`${TIME} `)]), most: MUCH }));
		const { computedMs, memory } = await cost(() => copyContainer(daemon, "c", { ...q, logDir }));
		expect(await total()).toBeGreaterThan(MUCH - MIB);
		expect(computedMs).toBeLessThan(1000);
		expect(memory).toBeLessThan(HELD);
	}, 30_000);
});

describe("lines and frames", () => {
	const time = (n: number): string => `2026-01-01T00:00:00.00000${n}000Z`;
	async function* sent(...chunks: readonly string[]): AsyncGenerator<Buffer> {
		yield* chunks.map((each) => Buffer.from(each));
	}
	/** Appends what arrives in these chunks, as a new connection; returns the log. */
	async function copied(...chunks: readonly string[]): Promise<string> {
		const log = await timedLog(logDir, "w");
		for await (const pieces of linesOf(sent(...chunks), 50)) await log.append(pieces);
		log.close();
		return readFileSync(logPath(logDir, "w"), "utf8");
	}

	it("D47: a log goes on where it ended; only an unfinished long line is repeated", async () => {
		const [one, two] = [`${time(1)} one\n`, `${time(2)} ${"x".repeat(60)}`];
		const log = await timedLog(logDir, "w");
		await expect(async () => {
			for await (const pieces of linesOf(sent(one, two), 50)) {
				await log.append(pieces);
				if (pieces.some(({ ends }) => !ends)) throw new Error("lost");
			}
		}).rejects.toThrow("lost");
		log.close();
		const rest = `${two} end\n${time(2)} same time\n${time(3)} last`;
		const expected = `one\n${"x".repeat(60)}${"x".repeat(60)} end\nsame time\nlast`;
		expect(await copied(one, rest)).toBe(expected);
		expect(await copied(one, rest)).toBe(expected);
	});

	it("D47: many small parts of a long line are no objects that are held", async () => {
		const byte = Buffer.from("x");
		async function* bytes(): AsyncGenerator<Buffer> {
			for (let n = 0; n < 3 * MIB; n += 1) yield byte.subarray();
		}
		const { memory } = await cost(() =>
			expect(textOf(bytes(), "it", 2 * MIB)).rejects.toThrow("it sends more than 2 MiB"),
		);
		expect(memory).toBeLessThan(100 * MIB);
	});
});

describe("an answer without end is not read to its end", () => {
	async function isRefused(server: PlatformServer, work: () => Promise<unknown>, error: RegExp): Promise<void> {
		const failure = work().catch((error: Error) => error.message.slice(0, 200));
		const { computedMs, memory } = await cost(async () => expect(await failure).toMatch(error));
		expect(server.sent()).toBeLessThan(ENDLESS / 2);
		expect(computedMs).toBeLessThan(1000);
		expect(memory).toBeLessThan(150 * MIB);
	}
	const tooLong = /^the (API server|Docker daemon) at \S+ sends more than 16 MiB at once/;

	it("D44: /info of a Docker daemon", async () => {
		const { daemon, server } = await docker(() => ({ begin: '{"ServerVersion":"', most: ENDLESS }));
		await isRefused(server, () => daemon.info(), tooLong);
	});

	it("D44: an error of a Docker daemon", async () => {
		const { daemon, server } = await docker(() => ({ status: 500, begin: "", most: ENDLESS }));
		await isRefused(server, () => daemon.info(), /^HTTP 500$/);
	});

	it("D45: a line of a pull", async () => {
		const { daemon, server } = await docker(() => ({ begin: '{"status":"', most: ENDLESS }));
		const images = dockerImages({ transfers: transfers(systemClock), daemon: () => daemon });
		const pull = (): Promise<void> => images.pull({ image: "a/b:1" }, { signal: new AbortController().signal });
		await isRefused(server, pull, /sends more than 4 MiB at once/);
	});

	it("D44: the output of nvidia-smi in a container", async () => {
		const frame = Buffer.from("\x01\0\0\0\0\0\0\x08a x, y\n\n\n".slice(0, 16), "latin1");
		const { daemon, server } = await docker((path) =>
			path.includes("/logs")
				? { begin: "", most: ENDLESS, fill: Buffer.concat(Array.from({ length: 4096 }, () => frame)) }
				: { begin: '{"Id":"c","State":{"ExitCode":0}}', most: 0 },
		);
		const read = (): Promise<unknown> => readGpus(daemon, "cuda", systemClock);
		await isRefused(server, read, /^nvidia-smi at \S+ sends more than 1 MiB at once/);
	});

	it("D25: a list of an API server", async () => {
		const { client, server } = await apiServer(() => ({ begin: '{"items":["', most: ENDLESS }));
		await isRefused(server, () => client.call("GET", "/api/v1/pods"), tooLong);
	});

	it("D25: an error of an API server", async () => {
		const { client, server } = await apiServer(() => ({ status: 403, begin: "", most: ENDLESS }));
		await isRefused(server, () => client.call("GET", "/api/v1/pods"), /^HTTP 403$/);
	});

	it("D25: an event of a watch", async () => {
		const list = { begin: '{"metadata":{"resourceVersion":"1"},"items":[]}', most: 0 };
		const { client, server } = await apiServer((path) =>
			path.includes("watch=true") ? { begin: '{"type":"', most: ENDLESS } : list,
		);
		const failed = Promise.withResolvers<never>();
		const q = { client, clock: systemClock, namespace: "ai", selector: "a=b", onPod: () => {}, onSynced: () => {} };
		const watch = podWatch({ ...q, onError: failed.reject });
		close.push(watch.stop);
		await isRefused(server, () => failed.promise, /sends more than 4 MiB at once/);
	});
});
