/**
 * The worker of the thumbnail endpoint: every size is a chunk of `/stream`, and all of them
 * together are the output.
 */
import { start } from "sluice/worker";
import { InputError } from "../input-picture.js";
import { resize } from "./resize.js";

await start({
	aggregate: true,
	async *handler(job, { signal, log }) {
		try {
			for await (const made of resize(job.input, signal)) {
				log(`${made.width} x ${made.height} ${made.format}, ${made.bytes} bytes, in ${made.ms} ms`);
				yield made;
			}
		} catch (error) {
			if (!(error instanceof InputError)) throw error;
			// Fails the job with this sentence alone; anything thrown fails it with name, message and
			// stack.
			yield { error: error.message };
		}
	},
});
