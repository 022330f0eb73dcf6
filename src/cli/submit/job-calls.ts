/** Calls on jobs, retried on temporary failures (D14, D36). */
import type { JobDetail } from "../../kernel/api/job-records.ts";
import type { Clock } from "../../kernel/system/clock.ts";
import { isFinal, type JobState } from "../../kernel/core/jobs/job-states.ts";
import { CliError, failureReason, noServiceAt, noServiceError, notSluiceError } from "../client/errors.ts";
import { membersOf } from "../framework/json-members.ts";
import { waitText } from "../commands/jobs/job-text.ts";
import type { Connection } from "../client/connection.ts";
import { parseJson, path } from "../client/service-client.ts";
import { serviceError } from "../client/service-error.ts";

export interface EndedJob {
	id: string;
	status: JobState;
	text: string;
	output: string | undefined;
	error: string | undefined;
}

/** This job is rejected or missing. Others may succeed. */
export class RefusedJob extends Error {}

export interface Request {
	body?: string;
	headers?: Record<string, string>;
}

const MAX_OUTAGE_MS = 60_000;
const RETRY_MS = { first: 250, max: 4000 } as const;
const MAX_RETRY_AFTER_MS = 60_000;
/** A command does not wait longer, as for the GPU seconds of the next day. */
const LONGEST_RETRY_AFTER_MS = 600_000;
/** Maximum wait of a status request, ms (D8). */
const WAIT_MS = 60_000;
/** The same where a caller shows why the job waits; where its input is long, which is read with the reason. */
const SHOWN_WAIT_MS = 2000;
const LONG_WAIT_MS = 15_000;
const LONG = 200_000;

/** Calls throw {@link RefusedJob}, or {@link CliError} if all other jobs would fail too. */
export type JobCalls = ReturnType<typeof jobCalls>;

export function jobCalls(q: {
	connection: Connection;
	endpoint: string;
	clock: Clock;
	signal?: AbortSignal;
	onRetry?: (reason: string) => void;
}) {
	const { endpoint, clock, signal = null, onRetry } = q;
	const { base, key, keyFrom } = q.connection;
	let hasAnswered = false;

	const sentenceOf = (text: string, status: number): string => serviceError(parseJson(text), { status, keyFrom });

	/** Retries on 429, 5xx and lost connections, also during `read`. */
	async function retried<T>(target: string, request: Request, read: (response: Response) => Promise<T>): Promise<T> {
		const { body = null, headers } = request;
		const init = {
			method: body === null ? "GET" : "POST",
			headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
			body,
			signal,
		};
		let unavailableSince: number | undefined;
		for (let tries = 0; ; tries += 1) {
			let response: Response | undefined;
			let reason: string;
			try {
				response = await fetch(base + target, init);
				hasAnswered = true;
				if (response.status !== 429 && response.status < 500) return await read(response);
				if (retryAfterOf(response) > LONGEST_RETRY_AFTER_MS) return await read(response);
				reason = sentenceOf(await response.text(), response.status);
				if (response.status === 429) unavailableSince = undefined;
				else unavailableSince ??= clock.now();
			} catch (error) {
				signal?.throwIfAborted();
				if (!hasAnswered) throw noServiceError(base, error);
				reason = response ? "The connection was lost during the response." : noServiceAt(base, failureReason(error));
				unavailableSince ??= clock.now();
			}
			if (unavailableSince !== undefined && clock.now() - unavailableSince > MAX_OUTAGE_MS)
				throw new CliError(`${reason} Run the same command again when the service is available.`, 1);
			onRetry?.(reason);
			await clock.sleep(retryPause(response, tries), signal ?? undefined);
			signal?.throwIfAborted();
		}
	}

	async function read(target: string, names: readonly string[], request: Request = {}) {
		const { ok, status, text } = await retried(target, request, async (response) => ({
			ok: response.ok,
			status: response.status,
			text: await response.text(),
		}));
		if (!ok) {
			const sentence = sentenceOf(text, status);
			const { code } = (parseJson(text) ?? {}) as { code?: unknown };
			// Every other submission would fail too.
			if (status === 401 || status === 429 || code === "endpoint_not_found") throw new CliError(sentence, 1);
			throw new RefusedJob(sentence);
		}
		const found = membersOf(text, names);
		const first = found.ok ? found.texts[names[0]!] : undefined;
		if (!found.ok || first === undefined) throw notSluiceError(base, status);
		return { text, first: JSON.parse(first) as string, texts: found.texts };
	}

	/** Why the job waits, and when to ask again. Undefined if it does not, or the key may not read it. */
	async function waitOf(id: string): Promise<{ reason: string; ms: number } | undefined> {
		const text = await retried(path`/v1/endpoints/${endpoint}/jobs/${id}`, {}, (response) => response.text());
		const { reason } = (parseJson(text) ?? {}) as Partial<JobDetail>;
		return reason && { reason: waitText(reason, clock.wall()), ms: text.length > LONG ? LONG_WAIT_MS : SHOWN_WAIT_MS };
	}

	return {
		request: (target: string, request: Request = {}) => retried(target, request, async (response) => response),
		/** Returns the job's id. The key prevents duplicates. */
		async submit(body: string, idempotencyKey: string): Promise<string> {
			const request = { body, headers: { "idempotency-key": idempotencyKey } };
			return (await read(path`/v2/${endpoint}/run`, ["id"], request)).first;
		},
		/** `onWait`: called with the reason while it waits, and with undefined once it runs. */
		async ended(id: string, onWait?: (reason: string | undefined) => void): Promise<EndedJob> {
			const target = path`/v2/${endpoint}/status-sync/${id}`;
			for (let ms = onWait ? SHOWN_WAIT_MS : WAIT_MS; ; ) {
				const { text, first, texts } = await read(`${target}?wait=${ms}`, ["status", "output", "error"]);
				const status = first as JobState;
				if (isFinal(status)) return { id, status, text, output: texts["output"], error: texts["error"] };
				const shown = status === "IN_QUEUE" && onWait ? await waitOf(id) : undefined;
				onWait?.(shown?.reason);
				ms = shown?.ms ?? WAIT_MS;
			}
		},
	};
}

/** Ms; NaN without the header. */
function retryAfterOf(response: Response | undefined): number {
	return Number(response?.headers.get("retry-after") ?? Number.NaN) * 1000;
}

function retryPause(response: Response | undefined, tries: number): number {
	const retryAfterMs = retryAfterOf(response);
	if (Number.isFinite(retryAfterMs)) return Math.min(Math.max(retryAfterMs, RETRY_MS.first), MAX_RETRY_AFTER_MS);
	return Math.min(RETRY_MS.first * 2 ** Math.min(tries, 10), RETRY_MS.max);
}
