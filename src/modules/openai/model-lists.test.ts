import { beforeEach, describe, expect, it } from "vitest";
import { modelLists } from "./model-lists.ts";

const MINUTE = 60_000;

let now: number;
let release: { version: number; createdAt: number };
let workers: object[];
let lists: ReturnType<typeof modelLists>;

const RUNNING = { id: "w", ready: true, unhealthy: false, sleep: undefined };
const keep = (endpoint = "ep", text = "{}"): void => lists.keep(endpoint, text, { asked: release, worker: "w" });

beforeEach(() => {
	now = 1_000_000;
	release = { version: 3, createdAt: 5 };
	workers = [];
	lists = modelLists({
		now: () => now,
		releases: { current: () => release },
		endpoints: { has: (id: string) => id !== "removed", releaseOf: (_: string, hash?: string) => hash && Number(hash) },
		workers: { registry: { of: () => workers, get: () => workers[0] } },
	} as unknown as Parameters<typeof modelLists>[0]);
});

describe("D32: the list of an endpoint's models", () => {
	it("is known once a worker has answered, for as long as no worker runs", () => {
		expect(lists.find("ep")).toBeUndefined();
		keep();
		now += 100 * MINUTE;
		expect(lists.find("ep")).toEqual({ text: "{}", age: 6000 });
		expect(lists.find("other")).toBeUndefined();
	});

	it("is asked for again after two minutes while a worker runs, not of one that starts, sleeps or is ill", () => {
		keep();
		now += 2 * MINUTE;
		workers = [RUNNING];
		expect(lists.find("ep")).toEqual({ text: "{}", age: 120 });
		now += 1;
		expect(lists.find("ep")).toBeUndefined();
		for (const more of [{ ready: false }, { sleep: {} }, { unhealthy: true }]) {
			workers = [{ ...RUNNING, ...more }];
			expect(lists.find("ep")).toBeDefined();
		}
	});

	it("is of one version, also of an endpoint that was created again", () => {
		keep();
		for (const other of [
			{ version: 4, createdAt: 6 },
			{ version: 3, createdAt: 7 },
		]) {
			release = other;
			expect(lists.find("ep")).toBeUndefined();
		}
	});

	it("is not kept if the version has changed meanwhile, or a worker of another one has answered", () => {
		const asked = release;
		release = { version: 4, createdAt: 6 };
		lists.keep("ep", "{}", { asked, worker: "w" });
		expect(lists.find("ep")).toBeUndefined();
		workers = [{ ...RUNNING, launchedAs: "3" }];
		keep();
		expect(lists.find("ep")).toBeUndefined();
		workers = [{ ...RUNNING, launchedAs: "4" }];
		keep();
		expect(lists.find("ep")).toBeDefined();
	});

	it("is not kept of an endpoint that was removed meanwhile, and not if it is large", () => {
		keep("removed");
		keep("ep", "x".repeat(65_537));
		expect([lists.find("removed"), lists.find("ep")]).toEqual([undefined, undefined]);
	});

	it("is one of 256: the one that was asked for least recently goes", () => {
		for (let n = 0; n < 256; n += 1) keep(`ep-${n}`);
		expect(lists.find("ep-0")).toBeDefined();
		keep("one-more");
		expect([lists.find("ep-0"), lists.find("ep-1")]).toEqual([{ text: "{}", age: 0 }, undefined]);
	});
});
