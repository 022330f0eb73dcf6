/** Ids of jobs. */
import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { isJobId, jobId } from "./job.ts";

const FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("ids of jobs", () => {
	it("D6: only the id of a /runsync job begins with sync-, and each can be a job's id", () => {
		expect(jobId("runsync", 1, randomBytes)).toMatch(new RegExp(`^sync-${FORM.source.slice(1)}`));
		for (const operation of ["run", "openai"] as const) expect(jobId(operation, 1, randomBytes)).toMatch(FORM);
		for (const operation of ["run", "runsync", "openai"] as const)
			expect(isJobId(jobId(operation, 1, randomBytes))).toBe(true);
	});

	it.each(["", "a/b", "../x", "a b", "a\0", "a\n", "é", "a.b", "a%20", "'", "x".repeat(81)])(
		"%j cannot be a job's id",
		(id) => {
			expect(isJobId(id)).toBe(false);
		},
	);
});
