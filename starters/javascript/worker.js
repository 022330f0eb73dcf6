import { start } from "sluice-worker";

await start({
	async handler(job, { progress, signal }) {
		const { name = "world" } = job.input;
		// Shown as the job's output while it runs.
		await progress({ step: "greeting" });
		// Aborted when the job is cancelled or times out.
		signal.throwIfAborted();
		return { greeting: `Hello, ${name}!` };
	},
});
