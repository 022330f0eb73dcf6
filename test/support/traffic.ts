/**
 * Clients under load that do not give up: each submits a job at one server, waits for its end at
 * the next, and goes to another server when one fails.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { expect } from "vitest";
import { call } from "./service.ts";

/** An answer that was none: a broken connection has no status. */
export interface Failure {
	url: string;
	path: string;
	status: number | undefined;
	retryAfter: string | null | undefined;
	/** How long the client waited for it, ms. */
	ms: number;
	/** When it came, on the test's clock (`performance.now()`). */
	at: number;
	why: string;
}

/** What the clients have seen. */
export interface Traffic {
	/** Numbers of the acknowledged jobs by id. */
	readonly acknowledged: ReadonlyMap<string, { endpoint: string; n: number }>;
	/** Ids of those whose end was seen. */
	readonly ended: ReadonlySet<string>;
	readonly failures: readonly Failure[];
	readonly endpoints: readonly string[];
	/** What must not be: a number acknowledged under two ids, or a wrong result. */
	readonly wrong: readonly string[];
	/** Resolves when so many more jobs have ended. */
	more(jobs: number): Promise<void>;
	/** Each client sees the end of its job, and submits no more. */
	end(): Promise<void>;
}

/**
 * Starts so many clients. Jobs go to the endpoints in turn, with input `{ n }`, and are to end with
 * an output that has the same `n`.
 */
export function traffic({
	urls,
	endpoints,
	clients,
}: {
	urls: readonly string[];
	endpoints: readonly string[];
	clients: number;
}): Traffic {
	const acknowledged = new Map<string, { endpoint: string; n: number }>();
	const ended = new Set<string>();
	const failures: Failure[] = [];
	const wrong: string[] = [];
	const waiting = new Set<{ goal: number; resolve: () => void }>();
	let numbers = 0;
	let turn = 0;
	let over = false;

	/** The first answer below 500, from whatever server. */
	async function ask(path: string, init: Parameters<typeof call>[2]): Promise<Awaited<ReturnType<typeof call>>> {
		for (;;) {
			turn += 1;
			const url = urls[turn % urls.length]!;
			const began = performance.now();
			const answer = await call(url, path, init).catch((error: Error) => error);
			if (!(answer instanceof Error) && answer.status < 500) return answer;
			const at = performance.now();
			const failure =
				answer instanceof Error
					? {
							status: undefined,
							retryAfter: undefined,
							why: String(answer.cause instanceof Error ? answer.cause : answer),
						}
					: {
							status: answer.status,
							retryAfter: answer.headers.get("retry-after"),
							why: answer.text,
						};
			failures.push({ url, path, ms: at - began, at, ...failure });
			await sleep(20);
		}
	}

	async function one(n: number): Promise<void> {
		const endpoint = endpoints[n % endpoints.length]!;
		const submitted = await ask(`/v2/${endpoint}/run`, {
			body: { input: { n } },
			headers: { "idempotency-key": `n-${n}` },
		});
		if (submitted.status !== 200) return void wrong.push(`submission ${n}: ${submitted.status} ${submitted.text}`);
		const { id } = submitted.json;
		acknowledged.set(id, { endpoint, n });
		for (;;) {
			const { status, text, json } = await ask(`/v2/${endpoint}/status-sync/${id}?wait=20000`, {});
			if (status === 200 && ["IN_QUEUE", "IN_PROGRESS"].includes(json.status)) continue;
			if (status !== 200 || json.status !== "COMPLETED" || json.output.n !== n)
				wrong.push(`job ${n}: ${status} ${text}`);
			break;
		}
		ended.add(id);
		for (const each of waiting) {
			if (ended.size < each.goal) continue;
			waiting.delete(each);
			each.resolve();
		}
	}

	async function client(): Promise<void> {
		while (!over) await one((numbers += 1));
	}

	const running = Promise.all(Array.from({ length: clients }, client));
	return {
		acknowledged,
		ended,
		failures,
		endpoints,
		wrong,
		more: (jobs) => new Promise((resolve) => waiting.add({ goal: ended.size + jobs, resolve })),
		async end() {
			over = true;
			await running;
		},
	};
}

/**
 * Fails unless every acknowledged job, and no other one, stands as ended once with its result, at
 * each of the servers and in the database. Answers how many attempts were not the last one of their
 * job.
 */
export async function allEndedOnce({
	load,
	urls,
	store,
}: {
	load: Traffic;
	urls: readonly string[];
	store: string;
}): Promise<number> {
	expect(load.wrong).toEqual([]);
	for (const [id, { endpoint, n }] of load.acknowledged)
		expect((await call(urls[n % urls.length]!, `/v2/${endpoint}/status/${id}`)).json).toMatchObject({
			status: "COMPLETED",
			output: { n },
		});
	const database = new Client({ connectionString: store });
	await database.connect();
	const { rows } = await database.query(
		`
    WITH earlier AS (
      SELECT outcome FROM attempts
      JOIN jobs ON (jobs.endpoint, jobs.id) = (attempts.endpoint, attempts.job)
      WHERE attempts.attempt <> jobs.attempt AND jobs.endpoint = ANY ($1)
    )
    SELECT (SELECT count(*) FROM jobs WHERE endpoint = ANY ($1))::int AS jobs,
      (SELECT sum(completed) FROM queue_counts WHERE endpoint = ANY ($1))::int AS completed,
      (SELECT sum(in_queue + in_progress + failed) FROM queue_counts WHERE endpoint = ANY ($1))::int AS others,
      (SELECT count(*) FROM earlier WHERE outcome = 'completed')::int AS twice,
      (SELECT count(*) FROM earlier)::int AS again`,
		[load.endpoints],
	);
	await database.end();
	const { again, ...record } = rows[0];
	const jobs = load.acknowledged.size;
	expect(record).toEqual({ jobs, completed: jobs, others: 0, twice: 0 });
	return again;
}
