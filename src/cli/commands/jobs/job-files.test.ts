import { expect, it } from "vitest";
import { CliError } from "../../client/errors.ts";
import type { ServiceClient } from "../../client/service-client.ts";
import { filesText, jobFiles, withFiles } from "./job-files.ts";

const answering = (json: unknown): ServiceClient =>
	({ request: async () => ({ json, text: JSON.stringify(json) }) }) as unknown as ServiceClient;

const refusing = (status: number): ServiceClient =>
	({ request: () => Promise.reject(new CliError("refused", 1, status)) }) as unknown as ServiceClient;

const url = `https://sluice.test/s3/12-26/job/a.png?${"x".repeat(300)}`;
const files = [{ name: "a\u001b[31m.png", bucket: "12-26", bytes: 81_920, contentType: "image/png", url }];

it("D60: each file has its name, size, type and whole link, without controls of the terminal", async () => {
	expect(filesText(await jobFiles(answering({ enabled: true, files }), "/v1/jobs/job"))).toBe(
		`\nFiles\na?[31m.png  82 kB  image/png\n  ${url}\n`,
	);
});

it("D60: a job without files has no section, nor one of a service without the route", async () => {
	expect(filesText(await jobFiles(answering({ enabled: true, files: [] }), "/v1/jobs/job"))).toBe("");
	expect(filesText(await jobFiles(refusing(404), "/v1/jobs/job"))).toBe("");
	await expect(jobFiles(refusing(503), "/v1/jobs/job")).rejects.toThrow("refused");
});

it("D60: JSON has the files too, and all else as the service sent it", () => {
	const text = '{"id": "job", "output": 12345678901234567890}';
	const answer = { text, json: JSON.parse(text) } as Parameters<typeof withFiles>[0];
	const whole = withFiles(answer, files);
	expect(whole.text).toBe(`{"id": "job", "output": 12345678901234567890,"files":${JSON.stringify(files)}}`);
	expect(whole.json).toEqual({ ...JSON.parse(text), files });
	expect(withFiles(answer, undefined)).toBe(answer);
});
