/**
 * The process that is traced: opens a store repeatedly, changes it, and writes to stdout what
 * was acknowledged, a line each.
 */
import { writeSync } from "node:fs";
import { type JsonText, LARGE_BYTES } from "../../../src/kernel/lib/json/json-text.ts";
import type { Store } from "../../../src/kernel/store/contract/store.ts";
import { openSqlite } from "../../../src/kernel/store/sqlite/open.ts";
import { type Site, siteOf, T0 } from "../../store/site.ts";
import { batchRuns, inputOf } from "./batch-store.ts";
import type { Said } from "./check.ts";
import { objectStore } from "./object-store.ts";
import { objectWork } from "./object-work.ts";
import { fileStore, type FileStore, hashOf } from "./file-store.ts";

const [path = "", sessions = "6", rounds = "12"] = process.argv.slice(2);

/** Jobs and files of a round, which share commits as they come. */
const JOBS = 5;
const FILES = 2;

/** Written at once: in the trace it stands where it was said. */
function acknowledge(expected: Said): void {
	writeSync(1, `${JSON.stringify(expected)}\n`);
}

/** A text as the service has it: blocks of bytes from 64 kB on, which payload files take. */
function textOf(json: string): JsonText {
	return json.length < LARGE_BYTES ? json : [Buffer.from(json)];
}

async function job(site: Site, n: number): Promise<void> {
	const { endpoint } = site;
	const large = n % 5 === 1;
	const input = large ? JSON.stringify("x".repeat(70_000)) : `{"n":${n}}`;
	const { id } = await site.add({ input: textOf(input) });
	acknowledge({ endpoint, id, input });
	const [claimed] = (await site.take({ worker: `w${n % 3}` })).jobs;
	if (!claimed) return;
	const worker = claimed.job.worker!;
	const own = claimed.job.id;
	acknowledge({ endpoint, id: own, worker });
	if (n % 4 === 0)
		for (const text of ['{"output":1}', '{"output":2}']) {
			await site.store.chunks.append({
				endpoint,
				id: own,
				worker,
				chunks: [text],
				unlessLast: false,
				now: T0,
			});
			acknowledge({ endpoint, id: own, chunk: text });
		}
	if (n % 7 === 0) {
		await site.move(own, "cancel");
		return acknowledge({ endpoint, id: own, state: "CANCELLED" });
	}
	const output = large ? JSON.stringify("y".repeat(80_000)) : `{"out":${n}}`;
	await site.report(own, { worker, output: textOf(output) });
	acknowledge({ endpoint, id: own, state: "COMPLETED", output });
}

/** Sizes of files: none, one write and several. */
const SIZES = [4000, 0, 300_000, 20_000];

/** Uploads a file; every third is deleted. */
async function file(files: FileStore, endpoint: string, n: number): Promise<void> {
	const bytes = Buffer.alloc(SIZES[n % SIZES.length]!, `${n} `);
	const said = { name: `file ${n}`, endpoint, hash: hashOf(bytes) };
	acknowledge({ ...said, state: "uploading" });
	const { id } = await files.upload(endpoint, said.name, bytes);
	acknowledge({ ...said, id, state: "stored" });
	if (n % 3 !== 1) return;
	acknowledge({ ...said, id, state: "deleting" });
	await files.remove(endpoint, id);
	acknowledge({ ...said, id, state: "deleted" });
}

/** Requests of a batch. */
const REQUESTS = 10;

/** One at an endpoint of its own, in one part or in several. */
async function batch(store: Store, files: FileStore, n: number): Promise<void> {
	const endpoint = `batches-${n}`;
	await store.endpoints.put({ id: endpoint, settings: "{}", now: T0 });
	const id = `batch_${String(n).padStart(32, "0")}`;
	const said = { batch: id, endpoint };
	acknowledge({ ...said, state: "creating" });
	const input = await files.upload(endpoint, "requests", inputOf(REQUESTS));
	const runs = batchRuns(store, store.filesFolder!);
	const row = await runs.create({ id, endpoint, input: input.id });
	acknowledge({ ...said, state: "open" });
	await (n % 2 === 0 ? runs.run(row) : runs.runInParts(row));
	const { progress } = (await store.batches.find({ endpoint, id }))!;
	acknowledge({ ...said, state: "ended", hash: hashOf(Buffer.from(progress)) });
}

/** Objects have an endpoint of their own in each session, and keys that only it has. */
async function objectsOf(store: Store, session: number): Promise<() => Promise<void>> {
	const endpoint = `objects-${session}`;
	await store.endpoints.put({ id: endpoint, settings: "{}", now: T0 });
	return objectWork(objectStore(store, endpoint), endpoint, acknowledge);
}

let n = 0;
let serial = 0;
for (let session = 0; session < Number(sessions); session += 1) {
	const store = await openSqlite({ path });
	const site = siteOf(store);
	const { endpoint } = site;
	await store.endpoints.put({ id: endpoint, settings: "{}", now: T0 });
	const files = fileStore(store);
	const objects = await objectsOf(store, session);
	const running = batch(store, files, session);
	for (let round = 0; round < Number(rounds); round += 1)
		await Promise.all([
			...Array.from({ length: JOBS }, () => job(site, (n += 1))),
			...Array.from({ length: FILES }, () => file(files, endpoint, (serial += 1))),
			objects(),
		]);
	await running;
	// The last one is cut off.
	if (session < Number(sessions) - 1) await store.close();
}
process.kill(process.pid, "SIGKILL");
