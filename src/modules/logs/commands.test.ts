import { afterEach, expect, it, vi } from "vitest";
import { CliError } from "../../cli/client/errors.ts";
import type { ActionInput } from "../../cli/framework/command.ts";
import { LOG_COMMANDS } from "./commands.ts";

/** `sluice logs`. */
const logs = LOG_COMMANDS.find((command) => "run" in command)!;

afterEach(() => void vi.restoreAllMocks());

it("D36: logs -f prints workers that crash between two looks, and outlives a log that is closed", async () => {
	const launcher = "process";
	const looks = [
		{ workers: [{ id: "closed", launcher }], ended: [{ id: "old", launcher }] },
		{ workers: [], ended: ["crash-2", "crash-1", "old"].map((id) => ({ id, launcher })) },
	];
	const asked: string[] = [];
	const service = {
		request: async (_method: string, path: string) => {
			if (!path.includes("/workers")) return { json: { id: "hello" } };
			const { workers, ended } = looks.shift() ?? expect.fail("the test ends");
			return { json: { workers, ...(path.endsWith("?ended=true") && { ended }) } };
		},
		async *streamLines(path: string) {
			asked.push(path);
			if (path.includes("closed")) throw new CliError("There is no worker 'closed'.", 1, 404);
			yield JSON.stringify({ text: "failed to start" });
		},
	};
	const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
	const input = { args: ["hello"], flags: { follow: "true", tail: "3" }, service } as unknown as ActionInput;
	await expect(logs.run(input)).rejects.toThrow("the test ends");
	expect(write.mock.calls.map(([text]) => text)).toEqual(["crash-1  failed to start\n", "crash-2  failed to start\n"]);
	expect(asked).toEqual([
		"/v1/endpoints/hello/workers/closed/logs?follow=true&tail=3",
		"/v1/endpoints/hello/workers/crash-1/logs?follow=true&whole=true",
		"/v1/endpoints/hello/workers/crash-2/logs?follow=true&whole=true",
	]);
});

it("D36: logs with filters: spans of time as moments, workers and service alike; not with --follow", async () => {
	const asked: string[] = [];
	const service = {
		request: async (_method: string, path: string) => {
			asked.push(path);
			const isFirst = asked.length === 1;
			return {
				json: { lines: isFirst ? [] : [{ text: "found", worker: "hello-1" }], ...(isFirst && { next: "further" }) },
			};
		},
		async *streamLines(path: string) {
			asked.push(path);
			yield* [];
		},
	};
	const run = (args: string[], flags: Record<string, string>): Promise<number> =>
		logs.run({ args, flags, service } as unknown as ActionInput);
	const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
	const began = Date.now();
	await run(["hello", "hello-1"], { since: "15m", until: "2026-01-31T12:00:00Z", level: "warn", job: "j", tail: "5" });
	await run(["hello"], { service: "true", search: "lost", since: "1h", tail: "5" });
	const queries = asked.map((path) => new URL(path, "http://x").searchParams);
	const [search, further, log] = queries.map((query) => Object.fromEntries(query));
	const path = "/v1/endpoints/hello/logs";
	expect(asked.map((each) => each.split("?")[0])).toEqual([path, path, "/v1/logs"]);
	expect(further).toEqual({ ...search, cursor: "further" });
	expect(write.mock.calls).toEqual([["found\n"]]);
	const rest = { level: "warn", worker: "hello-1", job: "j", limit: "5" };
	expect(search).toEqual({ ...rest, until: "2026-01-31T12:00:00Z", since: expect.stringMatching(/^\d{13}$/) });
	expect(Number(search!["since"]) - began + 15 * 60_000).toBeLessThan(5000);
	expect(log).toMatchObject({ search: "lost", endpoint: "hello", tail: "5" });
	await expect(run(["hello"], { follow: "true", since: "15m" })).rejects.toThrow("--follow cannot be combined with");
	await expect(run(["hello"], { service: "true", whole: "true" })).rejects.toThrow("cannot be used");
});
