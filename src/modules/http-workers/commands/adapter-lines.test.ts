import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { jobLine, logLine } from "./adapter-lines.ts";

beforeEach(() => void vi.stubEnv("FORCE_COLOR", "0"));
afterEach(() => vi.unstubAllEnvs());

describe("lines of the adapter", () => {
	it("D36: a job's end is one line, without controls of the terminal and of bounded length", () => {
		const job = { id: "a", ms: 812 };
		expect(jobLine({ ...job, outcome: "succeeded", reason: undefined })).toBe("a  812 ms  succeeded");
		expect(jobLine({ ...job, outcome: "failed", reason: "HTTP 422: a\n\tb\u001b[2J" })).toBe(
			"a  812 ms  failed: HTTP 422: a b?[2J",
		);
		expect(jobLine({ ...job, outcome: "returned", reason: "x".repeat(9000) })).toHaveLength(521);
	});

	it("D36: the log without what the ends of jobs say", () => {
		const printed: string[] = [];
		const line = (message: string, level = "INFO", requestId: string | null = null) =>
			logLine(`${JSON.stringify({ requestId, message, level })}\n`, (text) => void printed.push(text));
		line("Waiting for the server: HTTP 503 loading.");
		line("Returning the job to the queue: HTTP 502", "INFO", "a");
		line("The server's route to cancel failed", "WARN", "a");
		logLine("no line of the log\n", (text) => void printed.push(text));
		expect(printed).toEqual(["Waiting for the server: HTTP 503 loading.", "WARN The server's route to cancel failed"]);
	});
});
