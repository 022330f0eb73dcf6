/**
 * Payloads of different sizes, in and out through `/runsync`, next to a bare server that answers the
 * same body, and next to the two limits of `job-relay.ts`: one that hands bodies to the same
 * worker and keeps nothing, and one that also flushes each body to a file. Prints JSON: jobs and
 * megabytes a second, ratio to each of these, bytes to disk for each byte of payload (in and out),
 * processor time for a megabyte. `node bench/payload-rate.ts [connections] [seconds] [rounds]`,
 * after `npm run build`; needs `wrk` and Linux.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { flushTimes, machine, spread } from "./machine.ts";
import { KEY, end, startEcho, startJobRelay, startService, startWorker } from "./processes.ts";
import { type Load, shoot } from "./wrk.ts";

const [connections = 8, seconds = 4, rounds = 5] = process.argv.slice(2).map(Number);
const SIZES = [1000, 100_000, 1_000_000, 5_000_000];
const headers = { "Content-Type": "application/json", authorization: `Bearer ${KEY}` };

/** Processor time of a process, ms. */
function processorMs(pid: number): number {
	const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
	const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
	// Ticks of 10 ms: user and system.
	return 10 * (Number(fields[11]) + Number(fields[12]));
}

/** Bytes that a process has sent to disk. */
function writtenBytes(pid: number): number {
	return Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))?.[1]);
}

interface Round {
	echo: Load;
	relay: Load;
	durableRelay: Load;
	jobs: Load;
	writtenPerByte: number;
	processorMsPerMb: { service: number; worker: number };
}

async function round({ service, worker, echo, relay, durableRelay }: Place, bytes: number): Promise<Round> {
	const body = JSON.stringify({ input: { image: "A".repeat(bytes) } });
	const load = { connections, seconds };
	const limits = {
		echo: await shoot({ url: echo, body, headers }, load),
		relay: await shoot({ url: relay, body, headers }, load),
		durableRelay: await shoot({ url: durableRelay, body, headers }, load),
	};
	const before = [writtenBytes(service.pid), processorMs(service.pid), processorMs(worker)];
	const jobs = await shoot({ url: `${service.url}/v2/noop/runsync`, body, headers }, load);
	const after = [writtenBytes(service.pid), processorMs(service.pid), processorMs(worker)];
	const [written, serviceMs, workerMs] = after.map((value, n) => value - before[n]!) as [number, number, number];
	const megabytes = (jobs.perSecond * seconds * bytes) / 1e6;
	return {
		...limits,
		jobs,
		writtenPerByte: written / (2e6 * megabytes),
		processorMsPerMb: { service: serviceMs / megabytes, worker: workerMs / megabytes },
	};
}

interface Place {
	service: { url: string; pid: number };
	/** Its pid. */
	worker: number;
	/** Addresses. */
	echo: string;
	relay: string;
	durableRelay: string;
}

const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
const flush = flushTimes(folder);
const echo = await startEcho();
const started = await startService(folder);
const worker = await startWorker(started.url, "echo-worker.ts");
const service = { url: started.url, pid: started.child.pid! };
const relay = await startJobRelay("echo-worker.ts");
const durableRelay = await startJobRelay("echo-worker.ts", join(folder, "relay"));
const place: Place = {
	service,
	worker: worker.pid!,
	echo: echo.url,
	relay: relay.url,
	durableRelay: durableRelay.url,
};
try {
	const sizes = [];
	for (const bytes of SIZES) {
		await round(place, bytes);
		const found: Round[] = [];
		for (let n = 0; n < rounds; n += 1) found.push(await round(place, bytes));
		sizes.push({
			bytes,
			jobsPerSecond: spread(found.map(({ jobs }) => jobs.perSecond)),
			megabytesPerSecond: spread(found.map(({ jobs }) => (jobs.perSecond * bytes) / 1e6)),
			relayPerSecond: spread(found.map(({ relay: other }) => other.perSecond)),
			durableRelayPerSecond: spread(found.map(({ durableRelay: other }) => other.perSecond)),
			ratio: spread(found.map((each) => each.jobs.perSecond / each.echo.perSecond)),
			ratioToRelay: spread(found.map((each) => each.jobs.perSecond / each.relay.perSecond)),
			ratioToDurableRelay: spread(found.map((each) => each.jobs.perSecond / each.durableRelay.perSecond)),
			relayRatio: spread(found.map((each) => each.relay.perSecond / each.echo.perSecond)),
			p50: spread(found.map(({ jobs }) => jobs.p50)),
			p99: spread(found.map(({ jobs }) => jobs.p99)),
			writtenPerByte: spread(found.map((each) => each.writtenPerByte)),
			serviceMsPerMb: spread(found.map((each) => each.processorMsPerMb.service)),
			workerMsPerMb: spread(found.map((each) => each.processorMsPerMb.worker)),
			refused: found.reduce((sum, { jobs }) => sum + jobs.refused, 0),
		});
	}
	const result = { ...machine(), flushMs: flush, connections, seconds, rounds, sizes };
	process.stdout.write(`${JSON.stringify(result, undefined, "\t")}\n`);
} finally {
	for (const child of [worker, started.child, echo.child]) await end(child);
	// Its workers would wait for their reports.
	for (const child of [...relay.children, ...durableRelay.children]) await end(child, "SIGKILL");
	rmSync(folder, { recursive: true, force: true });
}
