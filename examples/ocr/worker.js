/**
 * The worker of the OCR endpoint. What it reports while it reads is the job's `output` as long as
 * that is IN_PROGRESS.
 */
import { start } from "sluice/worker";
import { InputError } from "../input-picture.js";
import { createReader } from "./read.js";

const reader = createReader();

await start({
	async handler(job, { signal, progress }) {
		try {
			return await reader.read(job.input, { signal, onProgress: progress });
		} catch (error) {
			if (!(error instanceof InputError)) throw error;
			// Fails the job with this sentence alone; anything thrown fails it with name, message and
			// stack.
			return { error: error.message };
		}
	},
});
await reader.close();
