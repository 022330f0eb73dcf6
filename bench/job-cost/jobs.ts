/** The kinds of jobs that `job-cost.ts` runs, each from its submission to what it leaves behind. */
import { setTimeout as sleep } from "node:timers/promises";
import { webhookReceiver } from "../../test/support/webhook-receiver.ts";
import { KEY } from "../processes.ts";

export interface Input {
	prompt: string;
	chunks?: number;
	fail?: boolean;
}

const INPUT: Input = { prompt: "x".repeat(170) };

/** Bytes of the input and of the output, which is the input. */
export const PAYLOAD_BYTES = 2 * JSON.stringify(INPUT).length;

/**
 * `run` is `/run` and one `/status-sync`; the others differ from it as their names say. `traced` sends
 * `X-Request-Id` and `traceparent`, which are stored with the job.
 */
export const KINDS = ["run", "traced", "runsync", "chunks", "webhook", "retry", "expiry"] as const;
export type Kind = (typeof KINDS)[number];

/** Results of the endpoint `brief` expire after 1 s, records after 2 s; `noop` has the defaults. */
export const ENDPOINTS = {
	noop: {},
	brief: { retention: { run: 1000, runsync: 1000, records: 2000 } },
};

/** Longest wait for the end of what finished jobs leave behind, ms. */
const SETTLE_MS = 10_000;
/** From the arrival of the last webhook until its delivery is stored, ms. */
const DELIVERED_MS = 300;
/** From when no list shows an expired record any more until the sweep has removed it, ms. */
const SWEPT_MS = 2000;

interface Answer {
	id: string;
	status: string;
}

/** How a submission is called in other systems. */
function originOf(id: string): Record<string, string> {
	const digits = id.replaceAll("-", "");
	return { "x-request-id": id, traceparent: `00-${digits}-${digits.slice(16)}-01` };
}

export type Jobs = Awaited<ReturnType<typeof openJobs>>;

export async function openJobs(url: string) {
	const receiver = await webhookReceiver();
	const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };

	async function call<T>(path: string, body?: object, further: Record<string, string> = {}): Promise<T> {
		const answer = await fetch(url + path, {
			headers: { ...headers, ...further },
			...(body && { method: "POST", body: JSON.stringify(body) }),
		});
		const text = await answer.text();
		if (!answer.ok) throw new Error(`${path}: HTTP ${answer.status}, ${text}`);
		return JSON.parse(text) as T;
	}

	async function ended(endpoint: string, id: string, wanted: string): Promise<void> {
		const { status } = await call<Answer>(`/v2/${endpoint}/status-sync/${id}`);
		if (status !== wanted) throw new Error(`the job is ${status}, not ${wanted}`);
	}

	async function submit(endpoint: string, body: object, further?: Record<string, string>): Promise<string> {
		return (await call<Answer>(`/v2/${endpoint}/run`, body, further)).id;
	}

	async function simple(endpoint: string, body: object, further?: Record<string, string>): Promise<void> {
		await ended(endpoint, await submit(endpoint, body, further), "COMPLETED");
	}

	const run: Record<Kind, () => Promise<void>> = {
		run: () => simple("noop", { input: INPUT }),
		traced: () => simple("noop", { input: INPUT }, originOf(crypto.randomUUID())),
		webhook: () => simple("noop", { input: INPUT, webhook: `${receiver.url}/` }),
		expiry: () => simple("brief", { input: INPUT }),
		async runsync() {
			const { status } = await call<Answer>("/v2/noop/runsync", { input: INPUT });
			if (status !== "COMPLETED") throw new Error(`the job is ${status}`);
		},
		async chunks() {
			const id = await submit("noop", { input: { ...INPUT, chunks: 4 } });
			for (let status = ""; status !== "COMPLETED"; ) ({ status } = await call<Answer>(`/sdk/v2/noop/stream/${id}`));
		},
		async retry() {
			const id = await submit("noop", { input: { ...INPUT, fail: true } });
			await ended("noop", id, "FAILED");
			await call(`/v2/noop/retry/${id}`, {});
			await ended("noop", id, "COMPLETED");
		},
	};

	async function settle(kind: Kind, jobs: number): Promise<void> {
		const end = performance.now() + SETTLE_MS;
		if (kind === "webhook") {
			while (receiver.received.length < jobs && performance.now() < end) await sleep(20);
			receiver.received.length = 0;
			await sleep(DELIVERED_MS);
		}
		const left = async () => (await call<{ jobs: unknown[] }>("/v1/endpoints/brief/jobs?limit=1")).jobs.length;
		if (kind === "expiry") {
			while (performance.now() < end && (await left()) > 0) await sleep(200);
			await sleep(SWEPT_MS);
		}
	}

	return {
		/**
		 * Runs at most `most` jobs in at most `seconds`, and waits for what they leave behind. Resolves
		 * with their number and the seconds until the last was answered.
		 */
		async run(kind: Kind, q: { inFlight: number; most: number; seconds: number }) {
			const began = performance.now();
			let [started, jobs] = [0, 0];
			const one = async (): Promise<void> => {
				while (started < q.most && performance.now() - began < q.seconds * 1000) {
					started += 1;
					await run[kind]();
					jobs += 1;
				}
			};
			await Promise.all(Array.from({ length: q.inFlight }, one));
			const seconds = (performance.now() - began) / 1000;
			await settle(kind, jobs);
			return { jobs, seconds };
		},
		end: () => receiver.end(),
	};
}
