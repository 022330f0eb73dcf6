import { describe, expect, it } from "vitest";
import { createLog } from "./log.ts";
import { readLogSettings, readSettings } from "./settings.ts";

const env = {
	RUNPOD_WEBHOOK_GET_JOB: "http://h:1/worker/ep/job-take/$ID?gpu=A",
	RUNPOD_WEBHOOK_POST_OUTPUT: "http://h:1/worker/ep/job-done/$RUNPOD_POD_ID/$ID?gpu=A",
	RUNPOD_WEBHOOK_POST_STREAM: "http://h:2/worker/ep/job-stream/$RUNPOD_POD_ID/$ID",
	RUNPOD_WEBHOOK_PING: "http://h:1/worker/ep/ping/$RUNPOD_POD_ID",
	RUNPOD_AI_API_KEY: "k",
	RUNPOD_POD_ID: "w 1",
};

describe("B.1, B.2: settings from the environment", () => {
	it("fills the templates", () => {
		const settings = readSettings(env)!;
		expect(settings.takeOrigin).toBe("http://h:1");
		expect(settings.takePath(1, false)).toBe("/worker/ep/job-take/w%201?gpu=A&job_in_progress=0");
		expect(settings.takePath(3, true)).toBe("/worker/ep/job-take-batch/w%201?gpu=A&batch_size=3&job_in_progress=1");
		expect(settings.stopPath).toBe("/worker/ep/job-stop/w%201?gpu=A");
		expect(settings.output.path("j/1", "isStream=true")).toBe("/worker/ep/job-done/w%201/j%2F1?gpu=A&isStream=true");
		expect(settings.outputBatchPath).toBe("/worker/ep/job-done-batch/w%201?gpu=A");
		expect(settings.stream.origin).toBe("http://h:2");
		expect(settings.stream.path("j", "chunk=0")).toBe("/worker/ep/job-stream/w%201/j?chunk=0");
		expect(settings.pingUrl).toBe("http://h:1/worker/ep/ping/w%201");
	});

	it("without /job-take/ there is no batch and no stop channel", () => {
		const settings = readSettings({ ...env, RUNPOD_WEBHOOK_GET_JOB: "http://h/next?worker=$ID" })!;
		expect(settings.takePath(5, false)).toBe("/next?worker=w%201&job_in_progress=0");
		expect(settings.stopPath).toBeUndefined();
	});

	it.each([
		"http://h/results?job=$ID",
		"http://h/job-done/$ID/of/$RUNPOD_POD_ID",
		"http://h/job-done/$RUNPOD_POD_ID?job=$ID",
	])("with results going to %s there is no address for several", (output) => {
		expect(readSettings({ ...env, RUNPOD_WEBHOOK_POST_OUTPUT: output })!.outputBatchPath).toBeUndefined();
	});

	it("without key or worker id there are no pings, and the id is made up", () => {
		expect(readSettings({ ...env, RUNPOD_AI_API_KEY: undefined })!.pingUrl).toBeUndefined();
		const nameless = readSettings({ ...env, RUNPOD_POD_ID: undefined })!;
		expect(nameless.pingUrl).toBeUndefined();
		expect(nameless.workerId).toMatch(/^[0-9a-f-]{36}$/);
	});

	it.each([
		[undefined, 10_000],
		["5000", 5000],
		["500", 1000],
		["x", 10_000],
	])("ping interval %s is %i ms", (text, ms) => {
		expect(readSettings({ ...env, RUNPOD_PING_INTERVAL: text })!.pingIntervalMs).toBe(ms);
	});

	it("is absent without a service, and names the variable that is wrong", () => {
		expect(readSettings({})).toBeUndefined();
		expect(() => readSettings({ ...env, RUNPOD_WEBHOOK_POST_OUTPUT: undefined })).toThrow(
			/RUNPOD_WEBHOOK_POST_OUTPUT must be set/,
		);
		expect(() => readSettings({ ...env, RUNPOD_WEBHOOK_POST_STREAM: "ftp://x/$ID" })).toThrow(
			/RUNPOD_WEBHOOK_POST_STREAM must be an http/,
		);
		expect(() => readSettings({ ...env, RUNPOD_WEBHOOK_GET_JOB: "http://h/job-take/?gpu" })).toThrow(/\$\$ID/);
		expect(() => readSettings({ ...env, RUNPOD_WEBHOOK_POST_OUTPUT: "http://h/job-done/w/?gpu" })).toThrow(
			/must contain \$ID/,
		);
	});
});

describe("B.9: log lines", () => {
	const lines = (settings: Record<string, string>) => {
		const written: string[] = [];
		const log = createLog(readLogSettings(settings), (line) => written.push(line));
		log("DEBUG", "d");
		log("INFO", "i", "job-1");
		log("ERROR", "x".repeat(5000));
		return written;
	};

	it("are JSON with RUNPOD_ENDPOINT_ID, text without", () => {
		expect(JSON.parse(lines({ RUNPOD_ENDPOINT_ID: "ep" })[0]!)).toEqual({
			requestId: "job-1",
			message: "i",
			level: "INFO",
		});
		expect(lines({})[0]).toBe("INFO   | job-1 | i\n");
		expect((JSON.parse(lines({ RUNPOD_ENDPOINT_ID: "ep" })[1]!) as { requestId: null }).requestId).toBeNull();
	});

	it("obey the level and are cut in the middle", () => {
		expect(lines({ RUNPOD_LOG_LEVEL: "debug" })).toHaveLength(3);
		expect(lines({ RUNPOD_DEBUG_LEVEL: "5" })).toHaveLength(1);
		expect(lines({})[1]!.length).toBeLessThan(4200);
	});
});
