import { afterEach, expect, it, vi } from "vitest";
import { CliError } from "../../client/errors.ts";
import type { ActionInput } from "../../framework/command.ts";
import { logsCommand } from "./workers.ts";

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
	await expect(logsCommand.run(input)).rejects.toThrow("the test ends");
	expect(write.mock.calls.map(([text]) => text)).toEqual(["crash-1  failed to start\n", "crash-2  failed to start\n"]);
	expect(asked).toEqual([
		"/v1/endpoints/hello/workers/closed/logs?follow=true&tail=3",
		"/v1/endpoints/hello/workers/crash-1/logs?follow=true&whole=true",
		"/v1/endpoints/hello/workers/crash-2/logs?follow=true&whole=true",
	]);
});
