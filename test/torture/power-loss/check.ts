/** Opens what a power loss left as the service does, and holds it against what was acknowledged. */
import { type JsonText, stringOf } from "../../../src/kernel/lib/json/json-text.ts";
import { T0 } from "../../store/site.ts";
import { filesFolder } from "../../../src/kernel/store/sqlite/file/files-folder.ts";
import { checkBatches } from "./batch-check.ts";
import type { Expected, ExpectedBatch, ExpectedFile, ExpectedObject, ExpectedUpload } from "./expected.ts";
import { wrongFiles } from "./file-check.ts";
import { openInline } from "./inline-store.ts";
import { checkObjects } from "./object-check.ts";

/** All that was acknowledged of a job. */
export interface Known extends Omit<Expected, "chunk"> {
	chunks: string[];
}

/** All that was acknowledged. */
export interface AllKnown {
	jobs: Map<string, Known>;
	/** By name. */
	files: Map<string, ExpectedFile>;
	/** By key. */
	objects: Map<string, ExpectedObject>;
	/** By id. */
	uploads: Map<string, ExpectedUpload>;
	batches: Map<string, ExpectedBatch>;
}

/** A line that the workload wrote. */
export type Said = Expected | ExpectedFile | ExpectedObject | ExpectedUpload | ExpectedBatch;

export function learn({ jobs, files, objects, uploads, batches }: AllKnown, line: Said): void {
	if ("batch" in line) return void batches.set(line.batch, line);
	if ("object" in line) return void objects.set(line.object, line);
	if ("upload" in line) return void uploads.set(line.upload, line);
	if ("name" in line) return void files.set(line.name, line);
	const { chunk, ...said } = line;
	const before = jobs.get(said.id);
	const chunks = [...(before?.chunks ?? []), ...(chunk === undefined ? [] : [chunk])];
	jobs.set(said.id, { ...before, ...said, chunks });
}

type Opened = Awaited<ReturnType<typeof openInline>>;

/** What is wrong; empty when nothing is. */
export async function check(path: string, { jobs, files, batches, ...known }: AllKnown): Promise<string[]> {
	let store: Opened;
	try {
		store = await openInline(path);
	} catch (error) {
		return [`it cannot be opened: ${(error as Error).message}`];
	}
	try {
		await store.ping();
		const wrong = (await Promise.all([...jobs.values()].map((each) => wrongOf(store, each)))).flat();
		const folder = filesFolder(path);
		const checked = await checkBatches(folder, store, batches);
		const objects = await checkObjects(folder, store, known);
		const others = [...checked.files, ...objects.files];
		wrong.push(...checked.wrong, ...objects.wrong, ...(await wrongFiles(path, store, { files, others })));
		// What is missing already does not come back.
		return wrong.length > 0 ? wrong : await checked.recover();
	} catch (error) {
		return [`it cannot be used: ${(error as Error).message}`];
	} finally {
		await store.close();
	}
}

async function wrongOf(store: Opened, known: Known): Promise<string[]> {
	const { endpoint, id, input, state, output, worker, chunks } = known;
	const q = { endpoint, id, now: T0 };
	const found = await store.jobs.record(q);
	if (!found) return [`job ${id} is lost`];
	const wrong: string[] = [];
	if (state !== undefined && found.job.state !== state) wrong.push(`job ${id} is ${found.job.state}, not ${state}`);
	if (worker !== undefined && found.job.worker !== worker) wrong.push(`job ${id} is not at ${worker}`);
	if (!isText(found.input, input)) wrong.push(`job ${id} has another input`);
	if (!isText(found.output, output)) wrong.push(`job ${id} has another output`);
	if (chunks.length === 0) return wrong;
	const there = (await store.chunks.read({ ...q, from: 0, maxBytes: 1e6 }))?.chunks ?? [];
	if (chunks.some((chunk, index) => there[index] !== chunk))
		wrong.push(`job ${id} has the chunks ${there.join()}, not ${chunks.join()}`);
	return wrong;
}

function isText(found: JsonText | undefined, expected: string | undefined): boolean {
	return expected === undefined || (found !== undefined && stringOf(found) === expected);
}
