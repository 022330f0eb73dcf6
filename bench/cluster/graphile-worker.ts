/**
 * graphile-worker, with its two ways of batching: jobs are fetched into a local queue, and
 * completions of one turn are written together.
 */
import { type Contender, numbered } from "./contender.ts";
import { installed } from "./packages.ts";

const SETTINGS = {
	concurrentJobs: 64,
	maxPoolSize: 66,
	localQueue: { size: 65 },
	completeJobBatchDelay: 0,
};

/**
 * Connections for submissions. With more of them commits wait for each other, because each
 * notifies.
 */
const SUBMITTERS = 16;

export async function startGraphileWorker(url: string): Promise<Contender> {
	// Read when the package is loaded.
	process.env["NO_LOG_SUCCESS"] = "1";
	const { api, version } = await installed("graphile-worker");
	const logger = new api.Logger(
		() => (level: string, message: string) => void (level === "error" && console.error(message)),
	);
	const { end, run } = numbered();
	const runner = await api.run({
		preset: { worker: { connectionString: url, logger, ...SETTINGS } },
		noHandleSignals: true,
		// Before their completion is on disk: nothing tells when it is.
		taskList: { noop: ({ n }: { n: number }) => end(n) },
	});
	const submitter = await api.makeWorkerUtils({
		connectionString: url,
		maxPoolSize: SUBMITTERS,
		logger,
	});
	return {
		version,
		run: (q) =>
			run({
				...q,
				submit: (payload) => submitter.addJob("noop", payload),
				async settled() {
					const open = "SELECT 1 FROM graphile_worker._private_jobs LIMIT 1";
					while (
						(
							await submitter.withPgClient((client: { query(text: string): Promise<{ rows: unknown[] }> }) =>
								client.query(open),
							)
						).rows.length > 0
					);
				},
			}),
		async stop() {
			await runner.stop();
			await submitter.release();
		},
	};
}
