/**
 * Uploads and downloads of one file, next to nginx on the same disk: MB/s of both, in turn, and the ratio of each
 * round. nginx takes uploads by PUT, which it does not flush; the time of a flush of the file and its folder is added
 * to its own. Also the processor time of both for 100 MB (with PostgreSQL without the database), and what single
 * transfers add to the memory of the service. Prints JSON.
 * `node bench/files.ts [--mb 100] [--rounds 5] [--store postgres]`, after `npm run build`; needs `curl`, `nginx` with
 * its dav module and Linux, for `postgres` what `test/store` needs.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomFillSync } from "node:crypto";
import { closeSync, fdatasyncSync, fsyncSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs, promisify } from "node:util";
import { freePort } from "../test/support/free-port.ts";
import { startPostgres } from "../test/support/postgres-server.ts";
import { flushTimes, machine, spread } from "./machine.ts";
import { forgetPeak, peakMb, processorSeconds, residentMb } from "./memory-of.ts";
import { end, KEY, startService } from "./processes.ts";

const { values } = parseArgs({
	options: {
		mb: { type: "string", default: "100" },
		rounds: { type: "string", default: "5" },
		store: { type: "string", default: "sqlite" },
	},
});
const mb = Number(values.mb);
const rounds = Number(values.rounds);
const run = promisify(execFile);

/** Transfers whose memory is measured. The first one also loads what it needs. */
const TRANSFERS = 3;
/** Until the service has given back what a transfer left behind. */
const QUIET_MS = 1000;

const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
const www = join(folder, "www");
const file = join(folder, "file");

/** Seconds from the connection to the end of the answer, as curl counts them, and the answer. */
async function curl(...args: string[]): Promise<{ seconds: number; text: string }> {
	const own = ["--silent", "--show-error", "--fail-with-body", "--header", "Expect:", "--write-out", "\n%{time_total}"];
	const { stdout } = await run("curl", [...own, ...args]).catch((error: unknown) => {
		throw new Error(`curl ${args.join(" ")}: ${(error as { stdout: string }).stdout}`, { cause: error });
	});
	const [seconds, ...lines] = stdout.split("\n").toReversed();
	return { seconds: Number(seconds), text: lines.toReversed().join("\n") };
}

/** Files of `www`, sent with `sendfile`. */
async function startNginx(): Promise<{ url: string; child: ChildProcess }> {
	const port = await freePort();
	const kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
	const paths = kinds.map((kind) => `${kind}_temp_path ${join(folder, kind)};`);
	const config = join(folder, "nginx.conf");
	writeFileSync(
		config,
		`daemon off; master_process off; pid ${join(folder, "nginx.pid")};
		${process.getuid?.() === 0 ? "user root;" : ""}
		events {}
		http {
			${paths.join(" ")} access_log off; sendfile on; client_max_body_size 0;
			server { listen 127.0.0.1:${port}; root ${www}; dav_methods PUT; }
		}`,
	);
	const child = spawn("nginx", ["-c", config, "-e", "stderr"], { stdio: ["ignore", "ignore", "inherit"] });
	const url = `http://127.0.0.1:${port}`;
	for (;;) {
		if (child.exitCode !== null) throw new Error(`nginx ended with code ${child.exitCode}`);
		const answer = await fetch(`${url}/file`, { method: "HEAD" }).catch(() => undefined);
		if (answer) return { url, child };
		await sleep(20);
	}
}

/** Seconds for a flush of what nginx has stored, as the service flushes it. */
function flushSeconds(path: string): number {
	const began = performance.now();
	const stored = openSync(path, "r+");
	fdatasyncSync(stored);
	closeSync(stored);
	const names = openSync(www, "r");
	fsyncSync(names);
	closeSync(names);
	return (performance.now() - began) / 1000;
}

interface Server {
	/** Each returns seconds. */
	download(): Promise<number>;
	upload(): Promise<number>;
}

function nginxAt(url: string): Server {
	return {
		download: async () => (await curl("--output", "/dev/null", `${url}/file`)).seconds,
		async upload() {
			const stored = join(www, "upload");
			const { seconds } = await curl("--upload-file", file, `${url}/upload`);
			const flushed = seconds + flushSeconds(stored);
			rmSync(stored);
			return flushed;
		},
	};
}

async function sluiceAt(service: string): Promise<Server> {
	const url = `${service}/v2/noop/openai/v1/files`;
	const key = ["--header", `Authorization: Bearer ${KEY}`];
	const form = ["--form", "purpose=user_data", "--form", `file=@${file}`];

	async function upload(): Promise<{ seconds: number; id: string }> {
		const { seconds, text } = await curl(...key, ...form, url);
		return { seconds, id: (JSON.parse(text) as { id: string }).id };
	}

	const kept = await upload();
	return {
		download: async () => (await curl(...key, "--output", "/dev/null", `${url}/${kept.id}/content`)).seconds,
		async upload() {
			const { seconds, id } = await upload();
			await curl(...key, "--request", "DELETE", `${url}/${id}`);
			return seconds;
		},
	};
}

/** MB that the service grows by at most during each transfer. */
async function growth(pid: number, transfer: () => Promise<unknown>): Promise<number[]> {
	const grown: number[] = [];
	for (let n = 0; n < TRANSFERS; n += 1) {
		await sleep(QUIET_MS);
		forgetPeak(pid);
		const before = residentMb(pid);
		await transfer();
		grown.push(Math.round((peakMb(pid) - before) * 10) / 10);
	}
	return grown;
}

const KINDS = ["download", "upload"] as const;
const closing: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
try {
	mkdirSync(www);
	const bytes = randomFillSync(Buffer.allocUnsafe(mb * 1_000_000));
	for (const path of [file, join(www, "file")]) writeFileSync(path, bytes, { flush: true });
	const postgres = values.store === "postgres" ? await startPostgres() : undefined;
	closing.push(() => postgres?.remove());
	const database = await postgres?.createDatabase();
	const service = await startService(folder, database && { store: database.url });
	closing.push(() => end(service.child));
	const other = await startNginx();
	closing.push(() => end(other.child, "SIGQUIT"));
	const pid = service.child.pid!;
	const [sluice, nginx] = [await sluiceAt(service.url), nginxAt(other.url)];

	const memory = { upload: await growth(pid, sluice.upload), download: await growth(pid, sluice.download) };
	const sides = [
		{ name: "sluice", pid, server: sluice },
		{ name: "nginx", pid: other.child.pid!, server: nginx },
	] as const;
	const figures = [];
	for (const kind of KINDS) {
		const rates = { sluice: [] as number[], nginx: [] as number[] };
		const processor = { sluice: 0, nginx: 0 };
		// The first round warms up.
		for (let round = -1; round < rounds; round += 1)
			for (const { name, pid: own, server } of round % 2 === 0 ? sides : sides.toReversed()) {
				const before = processorSeconds(own);
				const rate = mb / (await server[kind]());
				if (round < 0) continue;
				rates[name].push(rate);
				processor[name] += processorSeconds(own) - before;
			}
		const ratios = rates.sluice.map((rate, n) => Number((rate / rates.nginx[n]!).toPrecision(3)));
		const per100Mb = (seconds: number): number => Math.round((seconds * 1000 * 100) / (mb * rounds));
		figures.push([
			kind,
			{
				...{ mbPerSecond: spread(rates.sluice), nginxMbPerSecond: spread(rates.nginx), ratio: spread(ratios), ratios },
				processorMsPer100Mb: { sluice: per100Mb(processor.sluice), nginx: per100Mb(processor.nginx) },
			},
		] as const);
	}
	const result = {
		...{ bench: "files", ...machine(), flushMs: flushTimes(folder), store: values.store, mb, rounds },
		...Object.fromEntries(figures),
		grownMb: memory,
	};
	process.stdout.write(`${JSON.stringify(result, undefined, "\t")}\n`);
} finally {
	for (const step of closing.toReversed()) await step();
}
