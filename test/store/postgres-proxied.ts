/** A database with a proxy before it, which makes the faults of a network. */
import { Client } from "pg";
import { onTestFinished } from "vitest";
import { systemClock } from "../../src/kernel/system/clock.ts";
import { openPostgres } from "../../src/kernel/store/postgres/open.ts";
import type { Store } from "../../src/kernel/store/contract/store.ts";
import { postgres } from "../support/postgres.ts";
import { tcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";

/** The longest time until a caller gets an error, ms. */
export const TOLD_MS = 2000;

export interface Place {
	proxy: TcpProxy;
	/** By way of the proxy. */
	store: Store;
	/** Another server's, straight at the database. */
	other: Store;
	admin: Client;
}

/** A database with a proxy before it; all ends with the test. */
export async function place(): Promise<Place> {
	const server = await postgres();
	const { url, name } = await server.createDatabase();
	const proxy = await tcpProxy(Number(new URL(url).port));
	onTestFinished(() => proxy.close());
	const [store, other] = [await opened(proxy.through(url)), await opened(url)];
	const admin = new Client(server.adminUrl(name));
	await admin.connect();
	onTestFinished(() => admin.end());
	return { proxy, store, other, admin };
}

export async function opened(url: string): Promise<Store> {
	const store = await openPostgres({ url, clock: systemClock });
	onTestFinished(() => store.close());
	return store;
}

/** How a call ended, and after how long, ms. */
export async function timed(call: () => Promise<unknown>): Promise<{ fault: unknown; ms: number }> {
	const began = performance.now();
	const fault: unknown = await call().then(
		() => undefined,
		(error: unknown) => error,
	);
	return { fault, ms: performance.now() - began };
}

/** Calls until there is an answer; how long that took, ms. */
export async function untilAnswered(call: () => Promise<unknown>): Promise<number> {
	const began = performance.now();
	await until("an answer", () => call().then(() => true), 60_000);
	return performance.now() - began;
}

export const printTime = (what: string, ms: number): void => console.log(`${what}: ${Math.round(ms)} ms`);
