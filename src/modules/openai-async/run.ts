/** Runs one batch from where its row says that it is (D57). A start after any failure does the same. */
import type { Batch, Control, RunContext } from "./batch.ts";
import { finish } from "./finish.ts";
import { inputFrom, MISSING_INPUT, unlessLost } from "./input.ts";
import { notify } from "./notify.ts";
import { validate, type Validation } from "./validate.ts";
import { work } from "./work.ts";

/** Resolves when nothing of it is left to do. Throws `Superseded`, as the store does, and the reason of the signal. */
export async function runBatch(d: RunContext, batch: Batch, q: Control): Promise<void> {
	if (batch.progress.state === "validating") await begin(d, batch, q);
	if (batch.progress.state === "in_progress") await work(d, batch, q);
	if (batch.progress.state === "finalizing") await finish(d, batch, q);
	if (batch.progress.notification) await notify(d, batch, q);
}

async function begin({ kernel, files, shared, ended }: RunContext, batch: Batch, { signal }: Control): Promise<void> {
	const { input, path, at } = batch.progress;
	const end = await shared.validation();
	let found: Validation = { faults: [MISSING_INPUT] };
	try {
		signal.throwIfAborted();
		const reader = await inputFrom(files, { endpoint: batch.row.endpoint, input, byte: 0 });
		try {
			if (reader) found = (await unlessLost(validate(reader, { path, signal }))) ?? found;
		} finally {
			await reader?.close();
		}
	} finally {
		end();
	}
	if ("faults" in found) {
		await batch.save(...batch.over("failed", { faults: found.faults }));
		ended(batch);
	} else {
		const started = { ...at, in_progress: kernel.now() };
		await batch.save({ state: "in_progress", total: found.total, next: found.first, at: started });
	}
}
