/** `sluice-http sleep` and `wake`: frees the server's GPU memory, and takes it again. */
import type { Clock } from "../../clock.ts";
import { serverAt } from "../exchange/connection.ts";
import { prepareRequest } from "../exchange/request.ts";
import { type CallAnswer, callServer } from "../exchange/server-call.ts";
import { holds } from "../mapping/condition.ts";
import { hideCredentials } from "../mapping/credentials.ts";
import { type Call, hasStatus, type Mapping, type SleepMapping } from "../mapping/mapping.ts";
import { atPointer, type Names } from "../mapping/template.ts";
import type { WorkerFiles } from "./worker-files.ts";

export interface SleepOptions {
	mapping: Mapping;
	env: Readonly<Record<string, string | undefined>>;
	files: WorkerFiles;
	clock: Clock;
	randomId: () => string;
}

/**
 * Resolves when the server sleeps. Rejects with a sentence. While it sleeps, the adapter asks the server nothing, since
 * many wake by any request.
 */
export async function sleepServer(options: SleepOptions): Promise<void> {
	const { mapping, files } = options;
	if (!mapping.sleep) throw new Error("http.sleep is missing: write the call that frees the server's GPU memory.");
	files.setAsleep(true);
	try {
		await callUntil(mapping.sleep, options);
	} catch (error) {
		files.setAsleep(false);
		throw error;
	}
}

/** Resolves when the server is awake. A server without `http.wake` wakes by its next request. */
export async function wakeServer(options: SleepOptions): Promise<void> {
	if (options.mapping.wake) await callUntil(options.mapping.wake, options);
	options.files.setAsleep(false);
}

async function callUntil({ each, call, until }: SleepMapping, options: SleepOptions): Promise<void> {
	const { mapping, env, clock } = options;
	const hide = hideCredentials(mapping, env);
	async function sendChecked(checked: Call, more: Names): Promise<CallAnswer> {
		const answer = await send(checked, options, more);
		if (answer.status >= 200 && answer.status <= 299) return answer;
		const { method, path } = checked;
		throw new Error(`${method} ${path} was answered with HTTP ${answer.status}: ${hide(answer.text).slice(0, 200)}`);
	}
	if (each) {
		const list = atPointer((await sendChecked(each.call, {})).value, each.at);
		if (!Array.isArray(list)) throw new Error(`The answer to ${each.call.path} has no list at ${each.at}.`);
		for (const item of list) await sendChecked(call, { each: item as unknown });
	} else await sendChecked(call, {});
	if (!until) return;
	for (;;) {
		// A server that moves gigabytes may answer nothing for a time.
		const state = await send(until.call, options, {}).catch(() => undefined);
		const isMet = state && hasStatus(until.status, state.status) && (!until.where || holds(until.where, state.value));
		if (isMet) return;
		await clock.sleep(STATE_EVERY_MS);
	}
}

/** Between two questions whether the memory has moved: another endpoint waits for it. */
const STATE_EVERY_MS = 200;
/** The call itself may take as long as the memory takes to move. */
const CALL_MS = 600_000;

async function send(call: Call, options: SleepOptions, more: Names): Promise<CallAnswer> {
	const { mapping, env, files, clock, randomId } = options;
	const limits = { connectMs: mapping.timeouts.connectMs, clock };
	const port = files.readPort();
	const values = { names: { port: port ?? placePort(mapping), env, ...more }, inputText: "null", headers: {} };
	const request = await prepareRequest(call, values, {
		...limits,
		urls: "never",
		fetched: { files: 0, bytes: 0 },
		randomId,
	});
	return await callServer(serverAt(mapping.place, port), request, { ...limits, withinMs: CALL_MS });
}

function placePort({ place }: Mapping): number | undefined {
	return "port" in place ? place.port : undefined;
}
