import { describe, expect, it } from "vitest";
import type { EndedWorker, Worker } from "../../client/shapes.ts";
import { httpSetting } from "./http-setting.ts";
import { isChat, placeOf, presetOf, readinessOf } from "./server-state.ts";

const worker = (state: Worker["state"]): Worker => ({
	id: state,
	state,
	launcher: "process",
	createdAt: "2026-01-01T00:00:00.000Z",
	seenAt: "2026-01-01T00:00:00.000Z",
	jobs: [],
});
const ended = (lastLine?: string): EndedWorker => ({
	id: "ended",
	launcher: "process",
	createdAt: "2026-01-01T00:00:00.000Z",
	endedAt: "2026-01-01T00:00:09.000Z",
	message: "It was not ready in time.",
	...(lastLine !== undefined && { lastLine }),
});

const LINE = "Error: the server did not become ready. GET /ready: HTTP 503 loading model.";
const WAITS = "Waiting for the server: HTTP 503 loading model.";

describe("the server of an endpoint", () => {
	it.each<[string, Worker["state"][], string | undefined, string | undefined, object]>([
		["workers that take jobs", ["idle", "running", "initializing"], LINE, WAITS, { state: "ready", workers: 2 }],
		["one that starts, with its line", ["initializing"], LINE, WAITS, { state: "starting", workers: 1, answer: WAITS }],
		[
			"one that starts after another",
			["initializing"],
			LINE,
			undefined,
			{ state: "starting", workers: 1, answer: LINE },
		],
		["one that starts, the first", ["initializing"], undefined, undefined, { state: "starting", workers: 1 }],
		["one that sleeps", ["asleep"], LINE, undefined, { state: "asleep", workers: 1 }],
		["one that ended by a fault", [], LINE, undefined, { state: "unready", workers: 0, answer: LINE }],
		["one that leaves", ["stopping"], undefined, undefined, { state: "none", workers: 0 }],
	])("%s", (_name, states, line, waiting, expected) => {
		expect(readinessOf(states.map(worker), [ended(line)], waiting)).toEqual(expected);
	});

	it("has a port or an address, unless it is connected", () => {
		expect(placeOf({ port: 0 })).toEqual({ port: 0 });
		expect(placeOf({ socket: "/tmp/s" })).toEqual({ address: "/tmp/s" });
		expect(placeOf({ url: "http://a" })).toEqual({ address: "http://a" });
		expect(placeOf({})).toBeUndefined();
	});

	it("is a language model by its routes", () => {
		expect(isChat({ openai: { routes: ["POST /v1/embeddings", "POST /v1/chat/completions"] } })).toBe(true);
		expect(isChat({ openai: { routes: ["POST /v1/embeddings"] } })).toBe(false);
		expect(isChat({})).toBe(false);
	});

	it("has a preset by its name, in an object, or none", () => {
		expect(["docling", { preset: "vllm", port: 1 }, { port: 1 }].map(presetOf)).toEqual(["docling", "vllm", "raw"]);
	});
});

describe("the setting http of a new endpoint", () => {
	const typed = { preset: "docling", port: "", url: "" };
	it.each<[string, Partial<typeof typed>, boolean, unknown]>([
		["a server elsewhere", {}, false, "docling"],
		["a server elsewhere with its address", { url: " http://a:1 " }, false, { preset: "docling", url: "http://a:1" }],
		["a launched one with the preset's port", { url: "http://a" }, true, "docling"],
		["a launched one with its port", { port: "0" }, true, { preset: "docling", port: 0 }],
		["a port that is none, which the service refuses", { port: "a" }, true, { preset: "docling", port: "a" }],
	])("%s", (_name, more, managed, expected) => {
		expect(httpSetting({ ...typed, ...more }, managed)).toEqual(expected);
	});
});
