/** Batches after a loss of power (D57): they exist with their parts, and end with each request once. */
import type { FileRow, FilesFolder } from "../../../src/kernel/store/contract/files.ts";
import type { BatchRow } from "../../../src/kernel/store/contract/batches.ts";
import { systemClock } from "../../../src/kernel/system/clock.ts";
import { folderContents } from "../../../src/modules/files/contents/folder.ts";
import { type Progress, progressOf } from "../../../src/modules/openai-async/progress.ts";
import { T0 } from "../../store/site.ts";
import { batchRuns, type BatchSide, customIdOf, fails } from "./batch-store.ts";
import type { ExpectedBatch } from "./expected.ts";
import { hashOf } from "./file-store.ts";

/** By id. */
export type KnownBatches = ReadonlyMap<string, ExpectedBatch>;

const LIMIT = 100;

export interface BatchCheck {
	/** What is wrong with them as they are. */
	wrong: string[];
	/** Rows of their files. */
	files: FileRow[];
	/** Runs those that are open, to the end. Resolves with what is wrong then. */
	recover(): Promise<string[]>;
}

export async function checkBatches(folder: FilesFolder, store: BatchSide, known: KnownBatches): Promise<BatchCheck> {
	const contents = folderContents(folder, store.files, systemClock);
	const wrong: string[] = [];
	const files: FileRow[] = [];
	const rows: BatchRow[] = [];

	async function bytesOf(endpoint: string, id: string): Promise<Buffer> {
		const row = await store.files.find({ endpoint, id, now: T0 });
		if (!row) throw new Error(`${id} has no row`);
		const pieces: Uint8Array[] = [];
		const content = await contents.open(row, { start: 0, end: row.bytes });
		for await (const piece of content) pieces.push(piece);
		await content.close();
		return Buffer.concat(pieces);
	}

	async function wrongFilesOf({ id, endpoint, progress }: BatchRow): Promise<string[]> {
		const found: string[] = [];
		for (const file of filesOf(progressOf({ progress })))
			await bytesOf(endpoint, file).catch((error: unknown) =>
				found.push(`a file of batch ${id} is not whole: ${(error as Error).message}`),
			);
		return found;
	}

	async function wrongJobsOf({ id, endpoint, progress }: BatchRow): Promise<string[]> {
		const found: string[] = [];
		for (const { job } of progressOf({ progress }).open)
			if (!(await store.jobs.record({ endpoint, id: job, now: T0 }))) found.push(`job ${job} of batch ${id} is lost`);
		return found;
	}

	/** Lines of its files, by what they have to be. */
	async function wrongLinesOf({ id, endpoint, progress }: BatchRow): Promise<string[]> {
		const { state, outputFile, errorFile, shown, total } = progressOf({ progress });
		const linesOf = async (file: string | null): Promise<string[]> =>
			file === null ? [] : (await bytesOf(endpoint, file)).toString().split("\n").slice(0, -1).map(briefly);
		const found = [...(await linesOf(outputFile)), ...(await linesOf(errorFile))].toSorted();
		const expected = Array.from({ length: total }, (_, n) => expectedOf(n + 1)).toSorted();
		if (state !== "completed") return [`batch ${id} is ${state}`];
		if (found.join() !== expected.join()) return [`batch ${id} has ${found.join()}`];
		const failed = expected.filter((each) => each.includes("no")).length;
		return shown.failed === failed && shown.completed === total - failed ? [] : [`batch ${id} counts otherwise`];
	}

	for (const { batch, endpoint, state, hash } of known.values()) {
		const row = await store.batches.find({ endpoint, id: batch });
		if (row) rows.push(row);
		else if (state !== "creating") wrong.push(`batch ${batch} is lost`);
		if (row && state === "ended" && (row.isOpen || hashOf(Buffer.from(row.progress)) !== hash))
			wrong.push(`batch ${batch} had ended, and has changed`);
		// Uploaded before it.
		const inputs = (await store.files.list({ endpoint, purpose: "user_data", order: "asc", limit: LIMIT, now: T0 }))
			.files;
		const own = new Set([...inputs.map(({ id }) => id), ...(row ? filesOf(progressOf(row)) : [])]);
		const found = await Promise.all([...own].map((id) => store.files.find({ endpoint, id, now: T0 })));
		files.push(...found.filter((each) => each !== undefined));
	}
	for (const row of rows) wrong.push(...(await wrongFilesOf(row)), ...(await wrongJobsOf(row)));

	return {
		wrong,
		files,
		async recover() {
			const found: string[] = [];
			for (const row of rows) {
				const { endpoint, id } = row;
				if (row.isOpen) await batchRuns(store, folder).run(row);
				found.push(...(await wrongLinesOf((await store.batches.find({ endpoint, id }))!)));
			}
			return found;
		},
	};
}

/** The input too. */
function filesOf({ input, output, errors, outputFile, errorFile }: Progress): string[] {
	return [input, ...[...output, ...errors].map(({ id }) => id), outputFile, errorFile].filter((each) => each !== null);
}

/** A line of a file: whose it is, and its answer. */
function briefly(text: string): string {
	const { custom_id: id, response } = JSON.parse(text);
	return `${id}: ${response?.status_code === 200 ? response.body.line : response?.body.error.message}`;
}

const expectedOf = (line: number): string => `${customIdOf(line)}: ${fails(line) ? `no ${line}` : line}`;
