import { expect, it } from "vitest";
import { CliError } from "../../client/errors.ts";
import type { ServiceClient } from "../../client/service-client.ts";
import { filesText } from "./job-files.ts";

const answering = (json: unknown): ServiceClient =>
	({ request: async () => ({ json, text: JSON.stringify(json) }) }) as unknown as ServiceClient;

const refusing = (status: number): ServiceClient =>
	({ request: () => Promise.reject(new CliError("refused", 1, status)) }) as unknown as ServiceClient;

it("D60: each file has its name, size, type and whole link, without controls of the terminal", async () => {
	const url = `https://sluice.test/s3/12-26/job/a.png?${"x".repeat(300)}`;
	const files = [{ name: "a\u001b[31m.png", bucket: "12-26", bytes: 81_920, contentType: "image/png", url }];
	expect(await filesText(answering({ enabled: true, files }), "/v1/jobs/job")).toBe(
		`\nFiles\na?[31m.png  82 kB  image/png\n  ${url}\n`,
	);
});

it("D60: a job without files has no section, nor one of a service without the route", async () => {
	expect(await filesText(answering({ enabled: true, files: [] }), "/v1/jobs/job")).toBe("");
	expect(await filesText(refusing(404), "/v1/jobs/job")).toBe("");
	await expect(filesText(refusing(503), "/v1/jobs/job")).rejects.toThrow("refused");
});
