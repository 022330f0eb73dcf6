/**
 * Posts results. Those of one event loop turn share a request if the service supports it (header
 * `Sluice-Job-Done-Batch`).
 */
import type { ResultBody } from "./result-body.ts";
import type { PostOutcome, ResultPoster } from "./result-poster.ts";
import type { UrlTemplate } from "../url-template.ts";

export interface ResultBatcher {
	/** Never rejects. */
	send(id: string, body: ResultBody, isStream: boolean): Promise<PostOutcome>;
	setBatchSize(results: number): void;
}

export interface ResultBatcherOptions {
	posts: ResultPoster;
	output: UrlTemplate;
	batchPath: string | undefined;
}

/** Longer results are posted alone, characters. */
const MAX_RESULT = 16_384;
const MAX_BATCH = 262_144;

interface PendingResult {
	id: string;
	body: string;
	isStream: boolean;
	resolve: (outcome: PostOutcome) => void;
}

export function openResultBatcher(options: ResultBatcherOptions): ResultBatcher {
	const { posts, output } = options;
	let path = options.batchPath;
	let batchSize = 0;
	let pending: PendingResult[] = [];

	const sendAlone = (id: string, body: ResultBody, isStream: boolean): Promise<PostOutcome> =>
		posts.send(output.path(id, isStream ? "isStream=true" : "isStream=false"), body);
	const resolveAlone = ({ id, body, isStream, resolve }: PendingResult): void =>
		void sendAlone(id, body, isStream).then(resolve);

	function flush(): void {
		const all = pending;
		pending = [];
		for (let start = 0; start < all.length; ) {
			let length = 0;
			const cut = all.findIndex(
				({ body }, at) => at >= start && (at - start >= batchSize || (length += body.length) > MAX_BATCH) && at > start,
			);
			const end = cut < 0 ? all.length : cut;
			void post(all.slice(start, end));
			start = end;
		}
	}

	async function post(batch: readonly PendingResult[]): Promise<void> {
		if (batch.length === 1 || path === undefined) return batch.forEach(resolveAlone);
		const answer = await posts.ask(path, batch.map(lineOf).join("\n"));
		const statuses =
			answer instanceof Error || answer.status !== 200 ? undefined : statusesIn(answer.text, batch.length);
		// A refused line is posted again to job-done, which accepts results in any form (D19).
		if (statuses)
			return batch.forEach((each, at) =>
				statuses[at]! >= 400 && statuses[at]! < 500 ? resolveAlone(each) : each.resolve(statuses[at]!),
			);
		const outcome = answer instanceof Error ? answer : answer.status;
		if (outcome instanceof Error || outcome >= 500) return batch.forEach(({ resolve }) => resolve(outcome));
		// The service does not know the path, for example after it was replaced.
		path = undefined;
		batch.forEach(resolveAlone);
	}

	return {
		send(id, body, isStream) {
			const mayBatch = path !== undefined && batchSize > 1;
			if (!mayBatch || typeof body !== "string" || body.length > MAX_RESULT || body.includes("\n"))
				return sendAlone(id, body, isStream);
			return new Promise((resolve) => {
				if (pending.length === 0) setImmediate(flush);
				pending.push({ id, body, isStream, resolve });
			});
		},
		setBatchSize: (results) => void (batchSize = results),
	};
}

/** Adds the job's id to the body, a JSON object. */
function lineOf({ id, body }: PendingResult): string {
	return `{"id":${JSON.stringify(id)}${body === "{}" ? "" : ","}${body.slice(1)}`;
}

/** Status of each result. Undefined for an unexpected answer. */
function statusesIn(text: string, count: number): number[] | undefined {
	try {
		const statuses: unknown = JSON.parse(text);
		return Array.isArray(statuses) &&
			statuses.length === count &&
			statuses.every((status) => typeof status === "number")
			? (statuses as number[])
			: undefined;
	} catch {
		return undefined;
	}
}
