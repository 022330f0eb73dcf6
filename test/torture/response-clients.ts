/**
 * Clients of background responses beside the jobs of others (D58): each creates one, polls it at any server or follows
 * its events, which it resumes where they break, sometimes cancels it, and reads all again after its end.
 */
import type { Answer, Api } from "./api.ts";
import { DELTA } from "./checker/response-rules.ts";
import { brief, type ResponseEvent, type ResponseReadOp, type SeenResponse } from "./history.ts";
import type { EndpointName, Input, Work } from "./plan.ts";
import type { Time } from "./time.ts";
import type { Tracked, Tracker } from "./tracker.ts";

/** Those whose workers take every job. */
const ENDPOINTS: readonly EndpointName[] = ["bulk", "mixed", "stream", "queue", "purge"];

const KINDS: readonly Work[] = ["chunks", "chunks", "echo", "fail", "slow", "twice"];
const MOST_CHUNKS = 12;

const RETRY_MS = 50;
const [POLL_MS, PAUSE_MS] = [300, 300];

/** Part of the responses that are cancelled, of the requests that are sent twice at once, of the readers that leave. */
const [CANCELLED, TOGETHER, LEAVING] = [0.15, 0.3, 0.3];

/** When a client that creates a stream leaves at least, ms; at most readers, and until all is read again. */
const [SEEN_MS, LEAVE_MS, AGAIN_MS] = [300, 1000, 2000];

/** As every job of them has it. */
const TIMES = { ttlMs: 86_400_000, timeoutMs: 600_000 };

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

/** Works until the signal; the response at hand is read to its end. */
export function responseClients({ api, time, tracker, random, nextNumber, names, over }: Clients) {
	const { now } = time;
	const endpoints = ENDPOINTS.filter((name) => names.includes(name));
	const whole = (most: number): number => Math.floor(random() * most);
	const at = (endpoint: string, rest = ""): string =>
		`${api.url(whole(1000))}/v2/${endpoint}/openai/v1/responses${rest}`;

	/** Repeats what had no answer, perhaps at another server. */
	async function answered(send: () => Promise<Answer>): Promise<Answer | undefined> {
		while (!over.aborted) {
			const answer = await send();
			if (answer.result === "ok" || (answer.status ?? 500) < 500) return answer;
			await time.sleep(RETRY_MS, over);
		}
		return undefined;
	}

	/** The first event of a stream has the id; the client leaves then or at the end. */
	async function created(endpoint: EndpointName, body: string, key: string): Promise<Answer> {
		const from = now();
		const leaving = AbortSignal.timeout(Math.ceil(SEEN_MS + random() * LEAVE_MS));
		const { status, text } = await api.open(at(endpoint), keyed(key), { body, signal: leaving });
		const id = /^event: response\.created\ndata: .*?"id":"(resp_[^"]+)"/m.exec(text)?.[1];
		const result = id !== undefined ? "ok" : status !== undefined && status >= 300 && status < 500 ? "fail" : "unknown";
		return { result, from, to: now(), status, text, next: undefined, json: id === undefined ? undefined : { id } };
	}

	/** Under a key, so that a repeat makes no second one. Undefined if it was refused. */
	async function create(by: string, endpoint: EndpointName, input: Input): Promise<Tracked | undefined> {
		const { n, work } = input;
		const key = `r-${n}`;
		const isStream = work === "chunks" || random() < 0.3;
		const request = { ...input, background: true, store: true, ...(isStream && { stream: true }) };
		const body = JSON.stringify(request);
		// As the worker gets it.
		const handed = brief(JSON.stringify({ ...request, background: false, store: false }));
		const send = async (): Promise<Answer> => {
			const answer = await (isStream
				? created(endpoint, body, key)
				: api.call(at(endpoint), { body, headers: keyed(key) }));
			const { result, from, to, json } = answer;
			const job = result === "ok" ? { job: jobOf(json.id as string) } : {};
			const submission = { op: "submit", by, endpoint, operation: "run", n, input: handed, key } as const;
			tracker.record({ ...submission, ...TIMES, ...job, result, from, to });
			return answer;
		};
		const isTogether = random() < TOGETHER;
		const sent = await Promise.all(isTogether ? [answered(send), answered(send)] : [answered(send)]);
		const made = sent.find((each) => each?.result === "ok");
		return made && tracker.meet(jobOf(made.json.id as string), endpoint, n);
	}

	/** What the answer shows; undefined if it is missing. */
	async function read(by: string, job: Tracked, how: ResponseReadOp["how"]): Promise<SeenResponse | undefined> {
		const answer = await answered(async () => {
			const got = await (how === "cancel"
				? api.call(at(job.endpoint, `/resp_${job.id}/cancel`), { method: "POST" })
				: api.call(at(job.endpoint, `/resp_${job.id}`)));
			const { result, from, to, status, json } = got;
			const missing = isMissing(got) ? { missing: true as const } : {};
			const shown = result === "ok" ? { seen: seenOf(json) } : missing;
			// No server listened: nothing was refused.
			if (how === "cancel" && (result !== "fail" || status !== undefined))
				tracker.record({ op: "cancel", by, job: job.id, ...missing, result, from, to });
			tracker.record({ op: "response-read", by, job: job.id, how, ...shown, result, from, to });
			return got;
		});
		return answer?.result === "ok" ? seenOf(answer.json) : undefined;
	}

	/** Reads the events behind one; answers the number of the last. `signal` ends it before. */
	async function events(by: string, job: Tracked, after: number, signal?: AbortSignal): Promise<EventsRead> {
		const from = now();
		const query = `?stream=true${after < 0 ? "" : `&starting_after=${after}`}`;
		const { status, text } = await api.open(
			at(job.endpoint, `/resp_${job.id}${query}`),
			{},
			{ ...(signal && { signal }) },
		);
		const found: ReturnType<typeof eventsIn> = status === 200 ? eventsIn(text) : { events: [] };
		const isMissed = status === 404 && text.includes(MISSING);
		const result = found.seen ? "ok" : isMissed ? "fail" : "unknown";
		const missing = isMissed ? { missing: true as const } : {};
		tracker.record({ op: "response-events", by, job: job.id, after, ...found, ...missing, result, from, to: now() });
		return { last: found.events.at(-1)?.[0] ?? after, isOver: found.seen !== undefined || isMissed };
	}

	/** Follows the events to the end; a reader may leave, and comes again. */
	async function follow(by: string, job: Tracked): Promise<void> {
		for (let after = -1; !over.aborted; ) {
			const leaving = random() < LEAVING ? AbortSignal.timeout(Math.ceil(random() * LEAVE_MS)) : undefined;
			const { last, isOver } = await events(by, job, after, leaving);
			if (isOver) return;
			after = last;
			await time.sleep(RETRY_MS, over);
		}
	}

	/** Polls to the end, and cancels it if that is chosen. */
	async function poll(by: string, job: Tracked, chance: number): Promise<void> {
		for (let isCancelled = chance >= CANCELLED; !over.aborted; ) {
			const how: ResponseReadOp["how"] = !isCancelled && random() < 0.5 ? "cancel" : "get";
			isCancelled ||= how === "cancel";
			const seen = await read(by, job, how);
			if (!seen || isEnded(seen)) return;
			await time.sleep(random() * POLL_MS, over);
		}
	}

	async function one(by: string): Promise<void> {
		const endpoint = endpoints[whole(endpoints.length)]!;
		const work = KINDS[whole(KINDS.length)]!;
		const input: Input = { n: nextNumber(), work, ...(work === "chunks" && { chunks: whole(MOST_CHUNKS) }) };
		tracker.hold([input.n]);
		const job = await create(by, endpoint, input);
		if (job) {
			const readers = [1, 2].map((n) => (random() < 0.6 ? follow(`${by} reader ${n}`, job) : undefined));
			await Promise.all([poll(by, job, random()), ...readers]);
			await events(`${by} all`, job, -1);
			await time.sleep(random() * AGAIN_MS, over);
			await read(by, job, "get");
			await events(`${by} again`, job, -1);
		}
		tracker.letGo([input.n]);
	}

	return {
		async work(by: string, signal: AbortSignal): Promise<void> {
			while (!signal.aborted && endpoints.length > 0) {
				await one(by);
				await time.sleep(random() * PAUSE_MS, signal);
			}
		},
	};
}

interface EventsRead {
	/** Number of the last event. */
	last: number;
	/** All were read, or the response is missing. */
	isOver: boolean;
}

const keyed = (key: string) => ({ "idempotency-key": key });

const jobOf = (response: string): string => response.slice("resp_".length);

const isEnded = ({ status }: SeenResponse): boolean => status !== "queued" && status !== "in_progress";

/** A server that has not heard of the endpoint yet answers 404 too. */
const MISSING = "response_not_found";
const isMissing = ({ status, text }: Answer): boolean => status === 404 && text.includes(MISSING);

const TIMES_OF_DAY = ["created_at", "completed_at"];

/** Without times of day: those of servers may differ, and be set. */
const textOf = (value: unknown): string =>
	brief(JSON.stringify(value, (name, each: unknown) => (TIMES_OF_DAY.includes(name) ? undefined : each)));

const seenOf = (response: any): SeenResponse => ({ status: response.status, text: textOf(response) });

/** The events of an answer that came whole. */
function eventsIn(text: string): { events: ResponseEvent[]; seen?: SeenResponse } {
	const events: ResponseEvent[] = [];
	let last: any;
	// What follows the last blank line was cut off.
	for (const each of text.split("\n\n").slice(0, -1)) {
		const data = /^data: (.*)$/m.exec(each)?.[1];
		if (data === undefined) continue;
		const event = JSON.parse(data);
		// An error says that the server cannot go on; it has no number.
		if (event.error !== undefined && event.type === undefined) break;
		events.push([event.sequence_number, event.type, event.type === DELTA ? String(event.delta) : textOf(event)]);
		last = event;
	}
	const seen = last?.response === undefined ? undefined : seenOf(last.response);
	return { events, ...(seen && isEnded(seen) && { seen }) };
}
