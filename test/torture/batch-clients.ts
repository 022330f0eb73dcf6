/**
 * Clients that run batches of requests beside the jobs of others (D57): each uploads a file, creates a batch, reads
 * it at any server until it has ended, sometimes cancels it, and reads its files.
 */
import type { Answer, Api, Call } from "./api.ts";
import { type BatchReadOp, brief, ENDED_STATES, type ResultLine, type SeenBatch } from "./history.ts";
import { formOf } from "./file-clients.ts";
import { batchPlanOf, type BatchPlan, type EndpointName } from "./plan.ts";
import type { Time } from "./time.ts";
import type { Tracker } from "./tracker.ts";

/** Those whose workers take every job. */
const ENDPOINTS: readonly EndpointName[] = ["bulk", "mixed", "stream", "queue", "purge"];

const PATH = "/v1/chat/completions";

const RETRY_MS = 50;
const [POLL_MS, PAUSE_MS] = [400, 500];

/** Part of the batches that are cancelled, at a moment of their first time, and all that take longer than that, ms. */
const [CANCELLED, CANCEL_MS, PATIENCE_MS] = [0.2, 4000, 45_000];

/** When the last ones are cancelled after the end of a run, ms. */
const CLOSING_MS = 20_000;

/** Part of the requests with a key that are sent twice at once, and of the inputs that are deleted after the end. */
const [TOGETHER, DELETED] = [0.6, 0.3];

/** Those that ended are read again at the end, the latest. */
const REMEMBERED = 50;

interface Ended {
	id: string;
	endpoint: EndpointName;
	/** Ids of its files. */
	files: readonly [string | null, string | null];
}

interface Clients {
	api: Api;
	time: Time;
	tracker: Tracker;
	random: () => number;
	nextNumber: () => number;
	/** Endpoints of the run. */
	names: readonly EndpointName[];
	/** Nothing is sent any more. */
	over: AbortSignal;
}

export interface BatchClients {
	/** One of them; it ends after the batch at hand when the signal says so. */
	work(by: string, signal: AbortSignal): Promise<void>;
	/** Reads what has ended at each of these servers. */
	readAll(servers: readonly string[]): Promise<void>;
}

export function batchClients({ api, time, tracker, random, nextNumber, names, over }: Clients): BatchClients {
	const { now } = time;
	const endpoints = ENDPOINTS.filter((name) => names.includes(name));
	const ended: Ended[] = [];
	let serial = 0;
	const whole = (most: number): number => Math.floor(random() * most);
	const anyServer = (): string => api.url(whole(1000));
	const at = (server: string, endpoint: string): string => `${server}/v2/${endpoint}/openai/v1`;

	/** Repeats what had no answer, perhaps at another server. */
	async function answered(send: (turn: number) => Promise<Answer>): Promise<Answer | undefined> {
		for (let turn = 0; !over.aborted; turn += 1) {
			const answer = await send(turn);
			if (answer.result === "ok" || (answer.status ?? 500) < 500) return answer;
			await time.sleep(RETRY_MS, over);
		}
		return undefined;
	}

	/** Its id, and numbers of the requests in it. */
	async function upload(endpoint: EndpointName, { inputs, fault }: BatchPlan): Promise<string | undefined> {
		const lines = inputs.map((input) => lineOf(`n-${input.n}`, input));
		if (fault !== undefined) lines.splice(fault % lines.length, 0, FAULTS[fault % FAULTS.length]!(inputs[0]!.n));
		const content = `${lines.join(random() < 0.5 ? "\n" : "\r\n\n")}${random() < 0.5 ? "\n" : ""}`;
		const form = formOf({ name: `batch-${(serial += 1)}.jsonl`, content, purpose: "batch" });
		const answer = await answered(() => api.call(`${at(anyServer(), endpoint)}/files`, form));
		return answer?.json?.id as string | undefined;
	}

	/** Under a key, or repeated as official clients do it. Undefined if it was refused. */
	async function create(
		by: string,
		q: { endpoint: EndpointName; file: string; plan: BatchPlan },
	): Promise<string | undefined> {
		const { endpoint, file, plan } = q;
		const { inputs, fault } = plan;
		const isKeyed = random() < 0.5;
		const body = JSON.stringify({ input_file_id: file, endpoint: PATH, completion_window: "24h" });
		const lines = inputs.map((input) => ({ n: input.n, input: brief(JSON.stringify(input)) }));
		const send = async (turn: number): Promise<Answer> => {
			const headers = isKeyed ? { "idempotency-key": file } : { "x-stainless-retry-count": String(turn) };
			const answer = await api.call(`${at(anyServer(), endpoint)}/batches`, { body, headers });
			const { result, from, to, json, status } = answer;
			const made = result === "ok" ? { batch: json.id as string } : {};
			const code = String(json?.error?.code);
			// The server may not have heard of the endpoint yet.
			const isRefused = result === "fail" && status !== undefined && code !== "endpoint_not_found";
			const refused = isRefused ? { error: code } : {};
			const bad = fault === undefined ? {} : { bad: true as const };
			tracker.record({ op: "batch", by, endpoint, file, lines, ...bad, ...made, ...refused, result, from, to });
			return answer;
		};
		// Without a key the second one of two at once would be a request of its own.
		const sent = await Promise.all(
			isKeyed && random() < TOGETHER ? [answered(send), answered(send)] : [answered(send)],
		);
		return sent.find((each) => each?.result === "ok")?.json.id as string | undefined;
	}

	/** What the answer shows, once there is one. */
	async function read(q: {
		by: string;
		endpoint: EndpointName;
		id: string;
		how: BatchReadOp["how"];
		server?: string;
	}): Promise<{ seen: SeenBatch; files: Ended["files"] } | undefined> {
		const { by, id, how } = q;
		const answer = await answered(async () => {
			const path = `${at(q.server ?? anyServer(), q.endpoint)}/batches/${id}`;
			const got = await (how === "cancel" ? api.call(`${path}/cancel`, { method: "POST" }) : api.call(path));
			const { result, from, to, status, json } = got;
			const shown = status === 404 ? { missing: true as const } : result === "ok" ? { seen: seenOf(json) } : {};
			tracker.record({ op: "batch-read", by, batch: id, how, ...shown, result, from, to });
			return got;
		});
		if (answer?.result !== "ok") return undefined;
		return { seen: seenOf(answer.json), files: [answer.json.output_file_id, answer.json.error_file_id] };
	}

	/** Until it has ended; undefined if it is missing. */
	async function follow(
		by: string,
		{ id, endpoint }: Omit<Ended, "files">,
		{ chance, signal }: { chance: number; signal: AbortSignal },
	): Promise<Ended | undefined> {
		const isChosen = chance < CANCELLED;
		let cancelAt = now() + (isChosen ? (chance / CANCELLED) * CANCEL_MS : PATIENCE_MS);
		let isLast = false;
		for (let isCancelled = false; !over.aborted; ) {
			if (signal.aborted && !isLast) cancelAt = Math.min(cancelAt, now() + CLOSING_MS);
			isLast = signal.aborted;
			const how: BatchReadOp["how"] = !isCancelled && now() >= cancelAt ? "cancel" : "get";
			isCancelled ||= how === "cancel";
			const shown = await read({ by, endpoint, id, how });
			if (!shown) return undefined;
			if ((ENDED_STATES as readonly string[]).includes(shown.seen.state)) return { id, endpoint, files: shown.files };
			await time.sleep(random() * POLL_MS, over);
		}
		return undefined;
	}

	/** At any server, when it has just ended. */
	async function readFiles(by: string, { id, endpoint, files }: Ended, server?: string): Promise<void> {
		const from = now();
		let isMissing = false;
		const linesOf = async (file: string | null): Promise<ResultLine[]> => {
			if (file === null) return [];
			const answer = await answered(() => api.call(`${at(server ?? anyServer(), endpoint)}/files/${file}/content`));
			isMissing ||= answer?.status === 404;
			return answer?.result === "ok" ? answer.text.split("\n").slice(0, -1).map(resultOf) : [];
		};
		const [output, errors] = [await linesOf(files[0]), await linesOf(files[1])];
		if (over.aborted) return;
		// So that the jobs that only the files name are closed.
		for (const { id: name, job } of server === undefined ? [...output, ...errors] : [])
			if (job !== undefined) tracker.meet(job, endpoint, Number(name.slice(2)));
		const missing = isMissing ? { missing: true as const } : {};
		tracker.record({ op: "batch-files", by, batch: id, output, errors, ...missing, result: "ok", from, to: now() });
	}

	async function one(by: string, signal: AbortSignal): Promise<void> {
		const endpoint = endpoints[whole(endpoints.length)]!;
		const plan = batchPlanOf(random, nextNumber);
		const numbers = plan.inputs.map(({ n }) => n);
		tracker.hold(numbers);
		const file = await upload(endpoint, plan);
		const id = file && (await create(by, { endpoint, file, plan }));
		const found = id && (await follow(by, { id, endpoint }, { chance: plan.chance, signal }));
		if (found) await readFiles(by, found);
		tracker.letGo(numbers);
		if (!found) return;
		ended.push(found);
		if (ended.length > REMEMBERED) ended.shift();
		const deletion: Call = { method: "DELETE" };
		if (random() < DELETED) await answered(() => api.call(`${at(anyServer(), endpoint)}/files/${file}`, deletion));
	}

	/** Those that the list of a server has. */
	async function list(server: string, endpoint: EndpointName): Promise<void> {
		const all = new Map<string, any>();
		const from = now();
		for (let after = ""; ; ) {
			const answer = await answered(() => api.call(`${at(server, endpoint)}/batches?limit=100${after}`));
			for (const each of answer?.json?.data ?? []) all.set(each.id as string, each);
			if (!answer?.json?.has_more) break;
			after = `&after=${answer.json.last_id}`;
		}
		if (over.aborted) return;
		for (const { id } of ended.filter((each) => each.endpoint === endpoint)) {
			const shown = all.has(id) ? { seen: seenOf(all.get(id)) } : { missing: true as const };
			tracker.record({
				op: "batch-read",
				by: "audit",
				batch: id,
				how: "list",
				...shown,
				result: "ok",
				from,
				to: now(),
			});
		}
	}

	return {
		async work(by, signal) {
			while (!signal.aborted && endpoints.length > 0) {
				await one(by, signal);
				await time.sleep(random() * PAUSE_MS, signal);
			}
		},
		async readAll(servers) {
			for (const server of servers) {
				for (const endpoint of endpoints) await list(server, endpoint);
				for (const each of ended) {
					await read({ by: "audit", ...each, how: "get", server });
					await readFiles("audit", each, server);
				}
			}
		},
	};
}

const lineOf = (id: string, body: object, more: object = {}): string =>
	JSON.stringify({ custom_id: id, method: "POST", url: PATH, body, ...more });

/** Lines that are none, given the number of another request. */
const FAULTS: readonly ((n: number) => string)[] = [
	() => '{"custom_id": "half of a li',
	(n) => lineOf(`n-${n}`, {}),
	() => lineOf("other", {}, { url: "/v1/embeddings" }),
	() => lineOf("no body", []),
];

function seenOf({ status, request_counts: counts, ...batch }: any): SeenBatch {
	const { output_file_id: output, error_file_id: errors, input_file_id: input, usage, errors: faults } = batch;
	const { total, completed, failed } = counts;
	return {
		state: status,
		total,
		completed,
		failed,
		rest: brief(JSON.stringify([output, errors, input, usage, faults])),
	};
}

function resultOf(text: string): ResultLine {
	try {
		const { custom_id: id, response, error } = JSON.parse(text);
		if (response === null) return { id, code: String(error.code) };
		const { status_code: status, request_id: job, body } = response;
		return { id, job, status, text: brief(JSON.stringify(body)) };
	} catch {
		return { id: `no line: ${text.slice(0, 40)}` };
	}
}
