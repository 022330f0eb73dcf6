/** Calls on the jobs of one endpoint, retried on temporary failures (D14, D36). */
import type { Clock } from "../../clock.ts";
import { isFinal, type JobState } from "../../core/job-states.ts";
import { CliError, START_SERVICE, failureReason, noServiceAt, notSluiceError } from "../errors.ts";
import { membersOf } from "../json-members.ts";
import type { Connection } from "../connection.ts";
import { parseJson, path } from "../service-client.ts";
import { serviceError } from "../service-error.ts";

export interface EndedJob {
	id: string;
	status: JobState;
	/** The job object, JSON text. */
	text: string;
	/** JSON text. */
	output: string | undefined;
	/** JSON text. */
	error: string | undefined;
}

/** The service rejected this submission, or no longer has this job. Others may succeed. */
export class RefusedJob extends Error {}

/** A POST if it has a body. */
interface Request {
	body?: string;
	headers?: Record<string, string>;
}

/** Calls throw {@link RefusedJob}, or {@link CliError} if all other jobs would fail too. */
export interface JobCalls {
	/** Returns the job's id. Retries; the key prevents duplicates. */
	submit(body: string, idempotencyKey: string): Promise<string>;
	/** Waits until the job ends. */
	ended(id: string): Promise<EndedJob>;
	/** Retries on 429, 5xx and lost connections. */
	request(path: string, request?: Request): Promise<Response>;
}

/** How long requests are retried while the service is unavailable, ms. */
const MAX_OUTAGE_MS = 60_000;
/** Pause between attempts, doubling, ms. */
const RETRY_MS = { first: 250, max: 4000 } as const;
const MAX_RETRY_AFTER_MS = 60_000;
/** Maximum wait of a status request, ms (D8). */
const WAIT_MS = 60_000;

/** `signal` aborts all calls with its reason; `onRetry` receives the reason of each retry. */
export function jobCalls(q: {
	connection: Connection;
	endpoint: string;
	clock: Clock;
	signal?: AbortSignal;
	onRetry?: (reason: string) => void;
}): JobCalls {
	const { endpoint, clock, signal, onRetry = () => {} } = q;
	const { base, key, keyFrom } = q.connection;
	let hasAnswered = false;

	const sentenceOf = (text: string, status: number): string => serviceError(parseJson(text), { status, keyFrom });

	async function pause(ms: number, reason: string): Promise<void> {
		onRetry(reason);
		await clock.sleep(ms, signal);
		signal?.throwIfAborted();
	}

	async function send(target: string, { body, headers }: Request): Promise<Response> {
		return await fetch(base + target, {
			method: body === undefined ? "GET" : "POST",
			headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
			...(body === undefined ? {} : { body }),
			...(signal ? { signal } : {}),
		});
	}

	async function request(target: string, init: Request = {}): Promise<Response> {
		let unavailableSince: number | undefined;
		for (let tries = 0; ; tries += 1) {
			let response: Response | undefined;
			let reason: string;
			try {
				response = await send(target, init);
				hasAnswered = true;
				if (response.status !== 429 && response.status < 500) return response;
				reason = sentenceOf(await response.text(), response.status);
				if (response.status === 429) unavailableSince = undefined;
				else unavailableSince ??= clock.now();
			} catch (error) {
				signal?.throwIfAborted();
				reason = noServiceAt(base, failureReason(error));
				if (!hasAnswered) throw new CliError(`${reason} ${START_SERVICE}`, 1);
				unavailableSince ??= clock.now();
			}
			if (unavailableSince !== undefined && clock.now() - unavailableSince > MAX_OUTAGE_MS)
				throw new CliError(`${reason} Run the same command again when the service is available.`, 1);
			await pause(retryPause(response, tries), reason);
		}
	}

	async function read(target: string, init?: Request): Promise<string> {
		for (;;) {
			const response = await request(target, init);
			let text: string;
			try {
				text = await response.text();
			} catch {
				signal?.throwIfAborted();
				await pause(RETRY_MS.first, "The connection was lost during the response.");
				continue;
			}
			if (response.ok) return text;
			const sentence = sentenceOf(text, response.status);
			const { code } = (parseJson(text) ?? {}) as { code?: unknown };
			// Every other submission would fail too.
			if (response.status === 401 || code === "endpoint_not_found") throw new CliError(sentence, 1);
			throw new RefusedJob(sentence);
		}
	}

	/** JSON texts; throws unless the first member exists. */
	function jobMembers(text: string, names: readonly string[]): Record<string, string | undefined> {
		const found = membersOf(text, names);
		if (!found.ok || found.texts[names[0]!] === undefined) throw notSluiceError(base, 200);
		return found.texts;
	}

	return {
		request,
		async submit(body, idempotencyKey) {
			const headers = { "idempotency-key": idempotencyKey };
			const text = await read(path`/v2/${endpoint}/run`, { body, headers });
			return JSON.parse(jobMembers(text, ["id"])["id"]!) as string;
		},
		async ended(id) {
			const wait = new URLSearchParams({ wait: String(WAIT_MS) });
			for (;;) {
				const text = await read(path`/v2/${endpoint}/status-sync/${id}?${wait}`);
				const members = jobMembers(text, ["status", "output", "error"]);
				const status = JSON.parse(members["status"]!) as JobState;
				if (isFinal(status)) return { id, status, text, output: members["output"], error: members["error"] };
			}
		},
	};
}

function retryPause(response: Response | undefined, tries: number): number {
	const retryAfterMs = Number(response?.headers.get("retry-after") ?? Number.NaN) * 1000;
	if (Number.isFinite(retryAfterMs)) return Math.min(Math.max(retryAfterMs, RETRY_MS.first), MAX_RETRY_AFTER_MS);
	return Math.min(RETRY_MS.first * 2 ** Math.min(tries, 10), RETRY_MS.max);
}
