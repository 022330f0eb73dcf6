/** Stores an answer as a file of the job, whose link is the output. */
import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { JobReturn } from "../../job-return.ts";
import { RawJson } from "../../raw-json.ts";
import type { Files } from "../../types.ts";
import type { Spool } from "../exchange/spool.ts";
import { JobFailure } from "../job-failure.ts";

export interface StoreOptions {
	files: Files;
	name: string;
	/** Content type of the answer; empty without one. */
	type: string;
	/** Where temporary files are. Default: that of the system. */
	folder: string | undefined;
	randomId: () => string;
}

/** The output is `{url, bytes, contentType}`. Throws {@link JobFailure} for a file that is not stored. */
export async function storeAnswer(
	body: Spool,
	{ files, name, type, folder = tmpdir(), randomId }: StoreOptions,
): Promise<RawJson> {
	const path = join(folder, `sluice-http-${randomId()}`);
	try {
		// It is read twice, and the file of a spool has no name.
		await pipeline(body.pieces(), createWriteStream(path, { flags: "wx", mode: 0o600 })).catch((error: Error) => {
			throw new JobReturn(`A temporary file in ${folder} could not be written: ${error.message}`, { loss: true });
		});
		const contentType = type.split(";")[0]!.trim();
		const stored = await files.put(path, { name, ...(contentType !== "" && { contentType }) });
		return new RawJson(JSON.stringify(stored));
	} catch (error) {
		throw error instanceof JobReturn ? error : new JobFailure((error as Error).message);
	} finally {
		await rm(path, { force: true });
	}
}
