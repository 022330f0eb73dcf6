/**
 * BullMQ, on PostgreSQL or on Redis. On Redis its concurrency decides: below the number of jobs in
 * flight its workers never run dry, and each completion brings the next job in the same script; at
 * that number they wait for single jobs, and the rate falls to a third or less.
 */
import { type Contender, numbered } from "./contender.ts";
import { installed } from "./packages.ts";

/** Where its jobs are: a Redis on this machine, or a database. */
type Place = { port: number } | { url: string };

/** Connections of each of its pools to PostgreSQL. */
const POOL = 32;

export async function startBullmq({ concurrency, ...place }: { concurrency: number } & Place): Promise<Contender> {
	const { api: all, version } = await installed("bullmq");
	const { end, run } = numbered();
	const api = "url" in place ? all.withBackend(all.createPostgresBackend) : all;
	const connection =
		"url" in place
			? { connectionString: place.url, max: POOL, migrate: true }
			: { host: "127.0.0.1", port: place.port, maxRetriesPerRequest: null };
	const name = `noop-${concurrency}`;
	const queue = new api.Queue(name, { connection, defaultJobOptions: { removeOnComplete: true } });
	const worker = new api.Worker(name, async () => ({ ok: true }), { connection, concurrency });
	for (const each of [queue, worker]) each.on("error", (error: unknown) => console.error(error));
	// It is on disk by then.
	worker.on("completed", ({ data }: { data: { n: number } }) => end(data.n));
	await worker.waitUntilReady();
	return {
		version,
		run: (q) => run({ ...q, submit: (payload) => queue.add("noop", payload) }),
		async stop() {
			await worker.close();
			await queue.close();
		},
	};
}
