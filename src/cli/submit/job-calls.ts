/**
 * The client's side of a job for commands: submitted once whatever happens on the way, and waited
 * for (D14, D36). Refusals that pass are waited out.
 */
import type { Clock } from "../../clock.ts";
import { isFinal } from "../../core/job-states.ts";
import type { JobState } from "../../core/job-states.ts";
import { CliError } from "../command.ts";
import { membersOf } from "../json-members.ts";
import { path } from "../service-client.ts";

/** A job that has ended: its object as it came, and texts of its members. */
export interface EndedJob {
	id: string;
	status: JobState;
	/** The job object. */
	text: string;
	/** JSON texts. */
	output: string | undefined;
	error: string | undefined;
}

/**
 * The service does not take this one submission, or does not have this job any more; others are not
 * concerned.
 */
export class RefusedJob extends Error {}

/**
 * Calls on one endpoint. Both throw {@link RefusedJob}, or {@link CliError} when nothing can go on.
 */
export interface JobCalls {
	/**
	 * Submits under the key and answers the job's id; again after a failure on the way, which gives
	 * the same job.
	 */
	submit(body: string, idempotencyKey: string): Promise<string>;
	/** Waits for the job's end. */
	ended(id: string): Promise<EndedJob>;
	/** One request, with what passes waited out. */
	request(
		target: string,
		init?: { body?: string; headers?: Record<string, string> },
	): Promise<Response>;
}

/** How long a service that was there may be away, ms. */
const PATIENCE_MS = 60_000;
/** First and longest pause while it is away, ms. */
const AGAIN_MS = [250, 4000] as const;
/** What `Retry-After` may say at most, ms. */
const LONGEST_PAUSE_MS = 60_000;
/** One wait for the end, ms (D8). */
const WAIT_MS = 60_000;

/**
 * Calls for the endpoint. `signal` ends them with its reason; `waiting` is told why a request is
 * repeated.
 */
export function jobCalls(q: {
	base: string;
	key: string;
	endpoint: string;
	clock: Clock;
	signal?: AbortSignal;
	waiting?: (why: string) => void;
}): JobCalls {
	const { base, key, endpoint, clock, signal, waiting = () => {} } = q;
	let met = false;

	async function pause(ms: number, why: string): Promise<void> {
		waiting(why);
		await clock.sleep(ms, signal);
		signal?.throwIfAborted();
	}

	async function request(
		target: string,
		init: { body?: string; headers?: Record<string, string> } = {},
	): Promise<Response> {
		let awaySince: number | undefined;
		for (let tries = 0; ; tries += 1) {
			let response: Response | undefined;
			let why: string;
			try {
				response = await fetch(base + target, {
					method: init.body === undefined ? "GET" : "POST",
					headers: {
						authorization: `Bearer ${key}`,
						"content-type": "application/json",
						...init.headers,
					},
					...(init.body === undefined ? {} : { body: init.body }),
					...(signal ? { signal } : {}),
				});
				met = true;
				if (response.status !== 429 && response.status < 500) return response;
				why = sentenceOf(await response.text(), response.status);
				if (response.status === 429) awaySince = undefined;
				else awaySince ??= clock.now();
			} catch (error) {
				signal?.throwIfAborted();
				const { cause } = error as Error;
				why = `No service answers at ${base} (${cause instanceof Error ? cause.message : String(error)}).`;
				if (!met) throw new CliError(`${why} Start it with 'sluice serve', or set SLUICE_URL.`, 1);
				awaySince ??= clock.now();
			}
			if (awaySince !== undefined && clock.now() - awaySince > PATIENCE_MS)
				throw new CliError(`${why} Run the same command again when the service is back.`, 1);
			const told = Number(response?.headers.get("retry-after") ?? Number.NaN) * 1000;
			await pause(
				Number.isFinite(told)
					? Math.min(Math.max(told, AGAIN_MS[0]), LONGEST_PAUSE_MS)
					: Math.min(AGAIN_MS[0] * 2 ** Math.min(tries, 10), AGAIN_MS[1]),
				why,
			);
		}
	}

	/** The body of a success. */
	async function read(
		target: string,
		init?: { body: string; headers: Record<string, string> },
	): Promise<string> {
		for (;;) {
			const response = await request(target, init);
			let text: string;
			try {
				text = await response.text();
			} catch {
				signal?.throwIfAborted();
				await pause(AGAIN_MS[0], "The answer broke off.");
				continue;
			}
			if (response.ok) return text;
			const { code } = refusal(text);
			// These hold for every submission: going on would say the same for each.
			if (response.status === 401 || code === "endpoint_not_found")
				throw new CliError(sentenceOf(text, response.status), 1);
			throw new RefusedJob(sentenceOf(text, response.status));
		}
	}

	return {
		request,
		async submit(body, idempotencyKey) {
			const text = await read(path`/v2/${endpoint}/run`, {
				body,
				headers: { "idempotency-key": idempotencyKey },
			});
			return idIn(text, base);
		},
		async ended(id) {
			const wait = new URLSearchParams({ wait: String(WAIT_MS) });
			for (;;) {
				const text = await read(path`/v2/${endpoint}/status-sync/${id}?${wait}`);
				const found = membersOf(text, ["status", "output", "error"]);
				if (!found.ok || found.texts["status"] === undefined)
					throw new CliError(
						`What answers at ${base} is not Sluice. Set SLUICE_URL to the address of the service.`,
						1,
					);
				const status = JSON.parse(found.texts["status"]) as JobState;
				if (isFinal(status))
					return { id, status, text, output: found.texts["output"], error: found.texts["error"] };
			}
		},
	};
}

function idIn(text: string, base: string): string {
	const found = membersOf(text, ["id"]);
	if (!found.ok || found.texts["id"] === undefined)
		throw new CliError(
			`What answers at ${base} is not Sluice. Set SLUICE_URL to the address of the service.`,
			1,
		);
	return JSON.parse(found.texts["id"]) as string;
}

function refusal(text: string): { error?: unknown; code?: unknown } {
	try {
		return (JSON.parse(text) ?? {}) as { error?: unknown; code?: unknown };
	} catch {
		return {};
	}
}

function sentenceOf(text: string, status: number): string {
	const { error } = refusal(text);
	return typeof error === "string" ? error : `The service answered ${status}.`;
}
