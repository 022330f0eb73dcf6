/** What an operator asks of `/v1`, and the keys that others get for it. */
import { MODULES } from "../../src/modules/index.ts";
import { expect } from "vitest";
import { systemClock } from "../../src/kernel/system/clock.ts";
import { type App, startApp } from "../../src/kernel/compose.ts";
import { loadConfig } from "../../src/kernel/config/config.ts";
import { eventBus } from "../../src/kernel/events.ts";
import { storeIn } from "../support/service-store.ts";
import { call, folder, KEY, type TestService } from "../support/service.ts";

type Answer = Awaited<ReturnType<typeof call>>;

/** Calls of `/v1` with one key; paths stand without the prefix. */
export interface Operator {
	get(path: string): Promise<Answer>;
	post(path: string, body?: unknown): Promise<Answer>;
	patch(path: string, body: unknown): Promise<Answer>;
	remove(path: string): Promise<Answer>;
	/** The body of a GET that must succeed. */
	seen(path: string): Promise<any>;
}

/** The holder of this key. */
export function operator({ url }: { url: string }, key: string = KEY): Operator {
	const get = (path: string): Promise<Answer> => call(url, `/v1${path}`, { key });
	return {
		get,
		post: (path, body) => call(url, `/v1${path}`, { key, method: "POST", ...(body === undefined ? {} : { body }) }),
		patch: (path, body) => call(url, `/v1${path}`, { key, method: "PATCH", body }),
		remove: (path) => call(url, `/v1${path}`, { key, method: "DELETE" }),
		async seen(path) {
			const { status, json, text } = await get(path);
			expect(status, text).toBe(200);
			return json;
		},
	};
}

/** A new key. */
export async function keyWith(
	service: TestService,
	scopes: readonly string[],
	endpoints?: readonly string[],
): Promise<{ id: string; key: string }> {
	const { status, json, text } = await operator(service).post("/keys", {
		name: scopes.join(),
		scopes,
		...(endpoints ? { endpoints } : {}),
	});
	expect(status, text).toBe(201);
	return json;
}

/** A service without a key in its environment, and the admin key that its first start made. */
export async function keylessService(): Promise<{ app: App; key: string; end(): Promise<void> }> {
	const place = folder();
	const store = await storeIn(place.path);
	const loaded = loadConfig({
		modules: MODULES,
		flags: { port: "0", "drain-timeout": "0", ...store.flags },
		env: store.env,
		cwd: place.path,
		readFile: () => undefined,
	});
	if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
	const app = await startApp(loaded.config, { modules: MODULES, clock: systemClock, events: eventBus(), env: {} });
	return {
		app,
		key: app.firstKey!,
		async end() {
			await app.stop();
			place.remove();
		},
	};
}

/** A moment as `/v1` returns it. */
export const MOMENT = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string;
