/**
 * A service with endpoints for external workers on a manual clock, and what tests of the worker
 * side do with it repeatedly.
 */
import { cpSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { EventName, Events } from "../../src/kernel/events.ts";
import { advanceUntil, type ManualClock, manualClock } from "./manual-clock.ts";
import { type Answer, sdkProtocol, type SdkProtocol } from "./sdk-protocol.ts";
import { sdkWorker, type SdkWorker, type SdkWorkerOptions } from "./sdk-worker.ts";
import { copyStore } from "./service-store.ts";
import { call, folder, type Folder, startService, type TestService } from "./service.ts";
import { untilTrue } from "./until.ts";

/** The endpoint that is meant where none is named. */
export const EP = "ep";

/** A step of {@link Bench.pass}, ms: as often as the service's loops look. */
const STEP_MS = 500;

/** The variables of a new worker of an endpoint, from the service itself. */
export async function workerEnvOf(
	url: string,
	endpoint = EP,
	q: { replicas?: boolean } = {},
): Promise<Record<string, string>> {
	const { json } = await call(
		url,
		`/v1/endpoints/${endpoint}/worker-env?url=${encodeURIComponent(url)}${q.replicas ? "&replicas=true" : ""}`,
		{ method: "POST" },
	);
	return json.env as Record<string, string>;
}

/** The same worker, when the service is at another address. */
export function movedEnv(env: Record<string, string>, url: string): Record<string, string> {
	return Object.fromEntries(
		Object.entries(env).map(([name, value]) => [name, value.replace(/^https?:\/\/[^/]+/, url)]),
	);
}

/** Submits with `/run` and answers the id. */
export async function submit(url: string, body: object = { input: {} }, endpoint = EP): Promise<string> {
	const { status, json, text } = await call(url, `/v2/${endpoint}/run`, { body });
	expect(status, text).toBe(200);
	return json.id as string;
}

/** The job object of `/status`. */
export async function statusOf(url: string, id: string, endpoint = EP): Promise<any> {
	const { status, json, text } = await call(url, `/v2/${endpoint}/status/${id}`);
	expect(status, text).toBe(200);
	return json;
}

/** Ids of the jobs in an answer to job-take or job-take-batch; none for 204. */
export function idsOf({ status, text }: Answer): string[] {
	if (status === 204) return [];
	expect(status, text).toBe(200);
	return ([JSON.parse(text)].flat() as { id: string }[]).map(({ id }) => id);
}

/** Ids in an answer of the stop channel; none for 204. */
export function stopsOf({ status, text }: Answer): string[] {
	if (status === 204) return [];
	expect(status, text).toBe(200);
	return (JSON.parse(text) as { jobsToStop: string[] }).jobsToStop;
}

/**
 * What a crash of the service at this moment would leave behind, in a folder of its own. The
 * service must be at rest.
 */
export async function crashImage({ service }: Bench): Promise<Folder> {
	const image = folder();
	for (const name of readdirSync(service.folder.path)) {
		// The shared memory of the log dies with the process.
		if (!name.endsWith("-shm")) cpSync(join(service.folder.path, name), join(image.path, name), { recursive: true });
	}
	await copyStore({ from: service.folder.path, to: image.path });
	return image;
}

/** A bench: a service, its clock, and workers that end with it. */
export interface Bench {
	service: TestService;
	clock: ManualClock;
	url: string;
	/** The endpoint of the test at hand. */
	readonly ep: string;
	/**
	 * Goes on with a new endpoint and no events so far: tests that share a service have nothing else
	 * in common. Ends the workers of the test before.
	 */
	fresh(settings?: object): Promise<void>;
	/** One more endpoint beside it; answers its id. */
	endpoint(settings?: object): Promise<string>;
	/** Submits to the endpoint with `/run` and answers the id. */
	submit(body?: object): Promise<string>;
	/** The job object of `/status`. */
	status(id: string): Promise<any>;
	/** A client's call of an operation of the endpoint, such as `stream/<id>`. */
	call(operation: string, q?: Parameters<typeof call>[2]): ReturnType<typeof call>;
	/** Facts of the events of one name so far, those of other endpoints left out. */
	of<N extends EventName>(name: N): Events[N][];
	/** Lengths of all sleeps begun on the service's clock, ms: shows that a pause has begun. */
	slept: readonly number[];
	/** A new worker that makes each call on request. */
	worker(endpoint?: string): Promise<SdkProtocol>;
	/**
	 * A worker that knew an earlier service in this folder, and now reaches this one under the same
	 * address.
	 */
	again(worker: SdkProtocol): SdkProtocol;
	/** A new worker with the loops of the SDK, on the bench's clock. */
	sdk(q: Partial<SdkWorkerOptions> & Pick<SdkWorkerOptions, "handler">): Promise<SdkWorker>;
	/**
	 * A poll that is known to be held: resolves when it is, with its answer to come. `hangUp` cuts
	 * the connection, and resolves when the service knows.
	 */
	held(
		worker: SdkProtocol,
		call: (signal: AbortSignal) => Promise<Answer>,
	): Promise<{ answer: Promise<Answer>; hangUp(): Promise<void> }>;
	/**
	 * Moves time in small steps and lets the store answer in each: for long times in which the
	 * service has to do something.
	 */
	pass(ms: number): Promise<void>;
	/**
	 * The machine was suspended, or its clock set: it is later now by so many ms, and no worker was
	 * woken on the way.
	 */
	jump(ms: number): void;
	/** Wakes what is due, without moving time, until this resolves. */
	reached<T>(promise: Promise<T>): Promise<T>;
	/** Takes the one job there is, which must be `id`. */
	takes(worker: SdkProtocol, id: string, q?: { busy?: boolean }): Promise<void>;
	/** Resolves at the next such event of the endpoint that fits. */
	next: TestService["next"];
	end(): Promise<void>;
}

/** Starts a bench. `drainSeconds` as in the command line. */
export async function bench(
	q: { endpoints?: Record<string, object>; in?: Folder; startAt?: number; drainSeconds?: number } = {},
): Promise<Bench> {
	const clock = q.startAt === undefined ? manualClock() : manualClock(q.startAt);
	const slept: number[] = [];
	let jumped = 0;
	const watched = {
		now: () => clock.now() + jumped,
		wall: () => clock.wall() + jumped,
		sleep: (ms: number, signal?: AbortSignal) => (slept.push(ms), clock.sleep(ms, signal)),
	};
	const place = q.in ?? folder();
	const leave = (): void => {
		if (!q.in) place.remove();
	};
	const service = await startService({
		endpoints: q.endpoints ?? { [EP]: {} },
		clock: watched,
		in: place,
		...(q.drainSeconds === undefined ? {} : { drainSeconds: q.drainSeconds }),
	}).catch((error: unknown) => {
		leave();
		throw error;
	});
	const { url, engine } = service;
	const events: { name: EventName; facts: any }[] = [];
	service.events.onAny((name, facts) => events.push({ name, facts }));
	const protocols: SdkProtocol[] = [];
	const loops: SdkWorker[] = [];
	let ep = EP;
	let endpoints = 0;
	const mine = (facts: object): boolean => !("endpoint" in facts) || facts.endpoint === ep;

	async function dismiss(): Promise<void> {
		for (const worker of loops.splice(0)) await worker.kill();
		for (const protocol of protocols.splice(0)) protocol.close();
	}

	async function endpoint(settings: object = {}): Promise<string> {
		return (await engine.endpoints.create({ id: `ep-${(endpoints += 1)}`, ...settings })).endpoint.id;
	}

	async function reached<T>(promise: Promise<T>): Promise<T> {
		let done = false;
		const watched = promise.finally(() => (done = true));
		watched.catch(() => {});
		await advanceUntil(clock, () => done, 0);
		return await watched;
	}

	return {
		service,
		clock,
		url,
		slept,
		reached,
		endpoint,
		get ep() {
			return ep;
		},
		async fresh(settings) {
			await dismiss();
			ep = await endpoint(settings);
			events.length = 0;
		},
		submit: (body) => submit(url, body, ep),
		status: (id) => statusOf(url, id, ep),
		call: (operation, init) => call(url, `/v2/${ep}/${operation}`, init),
		of: (name) => events.filter((event) => event.name === name && mine(event.facts)).map(({ facts }) => facts),
		next: (name, fits = () => true) => service.next(name, (facts) => mine(facts) && fits(facts)),
		jump: (ms) => void (jumped += ms),
		async pass(ms) {
			for (let left = ms; left > 0; left -= STEP_MS) {
				await clock.advance(Math.min(left, STEP_MS));
				await engine.ready();
			}
		},
		async worker(of = ep) {
			const protocol = sdkProtocol(await workerEnvOf(url, of));
			protocols.push(protocol);
			return protocol;
		},
		again({ env }) {
			const protocol = sdkProtocol(movedEnv(env, url));
			protocols.push(protocol);
			return protocol;
		},
		async sdk(options) {
			const worker = sdkWorker({
				sleep: clock.sleep,
				...options,
				env: options.env ?? (await workerEnvOf(url, ep)),
			});
			loops.push(worker);
			return worker;
		},
		async held({ id, endpoint }, ask) {
			const seen = engine.workers.recordCall({ id, endpoint });
			const before = seen.polls.size;
			const cut = new AbortController();
			const answer = ask(cut.signal);
			answer.catch(() => {});
			await untilTrue(() => seen.polls.size > before);
			return {
				answer,
				async hangUp() {
					cut.abort();
					await untilTrue(() => seen.polls.size === before);
				},
			};
		},
		async takes(worker, id, { busy = false } = {}) {
			expect(idsOf(await worker.take({ busy }))).toEqual([id]);
		},
		async end() {
			await dismiss();
			let ended = false;
			const end = service.end().finally(() => (ended = true));
			await advanceUntil(clock, () => ended, 1000);
			await end;
			leave();
		},
	};
}
