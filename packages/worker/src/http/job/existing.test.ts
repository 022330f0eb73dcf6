import { afterEach, describe, expect, it } from "vitest";
import { closeServers, handlerOf, json } from "../../../../../test/support/worker-kit/job-handler.ts";

afterEach(closeServers);

/** Of run 1 of job 7f. */
const ID = "592b5a97-0adc-873b-9f8e-9e87a3a11649";

const MAPPING = {
	request: { path: "/jobs", body: { id: "{job.runUuid}" }, uploads: [{ each: "{input.files}", path: "/files" }] },
	async: {
		existing: {
			checks: [
				{ path: "/queue", contains: "{job.runUuid}" },
				{ path: "/jobs/{job.runUuid}", at: "/{job.runUuid}/state", in: ["done"] },
			],
			submit: { id: "{job.runUuid}" },
			discard: { method: "DELETE", path: "/jobs/{job.runUuid}" },
		},
		path: "/jobs/{submit.id}",
		everyMs: 10,
		state: "/{submit.id}/state",
		done: ["done"],
	},
	answer: { at: "/{submit.id}/output" },
};

/** Runs a job on a server with a queue and one stored job, which a submission replaces. */
async function run(stored: object | undefined, { queue = [] as string[], more = {} } = {}) {
	let job = stored;
	const { run: start, server } = await handlerOf({ ...MAPPING, ...more }, ({ method, url }, response) => {
		if (url === "/queue") return json(response, { queue });
		if (url === "/files") return json(response, {});
		if (method === "DELETE") job = undefined;
		if (method === "POST") {
			job = { state: "done", output: "second" };
			return json(response, { id: ID });
		}
		return json(response, job ? { [ID]: job } : {});
	});
	const output = await start({ files: ["a"] });
	return { output, paths: server.received.map(({ method, url }) => `${method} ${url}`) };
}

const POLL = `GET /jobs/${ID}`;
const SUBMISSION = ["POST /files", "POST /jobs"];

describe("a job that an earlier attempt may have submitted", () => {
	it("is not submitted again if it is done, nor are its files sent", async () => {
		const { output, paths } = await run({ state: "done", output: "first" });
		expect([output, paths]).toEqual(["first", ["GET /queue", POLL, POLL]]);
	});

	it("is not submitted again if it waits or runs", async () => {
		const { output, paths } = await run({ state: "done", output: "first" }, { queue: ["other", ID] });
		expect([output, paths]).toEqual(["first", ["GET /queue", POLL]]);
	});

	it.each([
		["unknown", undefined],
		["failed", { state: "failed", output: "first" }],
	])("is submitted if it is %s, after what is left of it was removed", async (_state, stored) => {
		const { output, paths } = await run(stored, { queue: ["other"] });
		expect([output, paths]).toEqual(["second", ["GET /queue", POLL, `DELETE /jobs/${ID}`, ...SUBMISSION, POLL]]);
	});

	it("is submitted to a server that has none of these routes", async () => {
		const { run: start } = await handlerOf(MAPPING, ({ url }, response) => {
			if (url === "/files") return json(response, {});
			if (url === "/jobs") return json(response, { id: "own" });
			if (url === "/jobs/own") return json(response, { own: { state: "done", output: "own" } });
			return json(response, {}, 404);
		});
		expect(await start({ files: [] })).toBe("own");
	});

	it("is asked for again while the server is busy, and not submitted meanwhile", async () => {
		const { run: start, server } = await handlerOf({ ...MAPPING, errors: { busyMs: 1000 } }, (_request, response) =>
			response.writeHead(503).end(),
		);
		expect(await start({})).toMatchObject({ name: "JobReturn", loss: false });
		expect(server.received.map(({ method }) => method)).not.toContain("POST");
	});

	it("is cancelled by its id", async () => {
		const stop = new AbortController();
		const { run: start, server } = await handlerOf(
			{ ...MAPPING, cancel: { path: "/jobs/{submit.id}/cancel" } },
			({ url }, response) => {
				if (url === `/jobs/${ID}`) stop.abort();
				json(response, { queue: [ID], [ID]: { state: url.includes("cancel") ? "done" : "running" } });
			},
		);
		await start({}, stop.signal);
		expect(server.received.map(({ url }) => url)).toContain(`/jobs/${ID}/cancel`);
	});
});
