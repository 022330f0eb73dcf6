/** Jobs as lists of values: every member comes back as itself, whatever the order of the columns. */
import { describe, expect, it } from "vitest";
import type { Job } from "../core/jobs/job.ts";
import {
	CHANGING,
	FIXED,
	jobReader,
	jobWriter,
	namesOf,
	packJob,
	SUBMISSION_MEMBERS,
	unpackJob,
	packer,
	unpacker,
} from "./job-columns.ts";

/** Each number is another one. */
const JOB: Job = {
	id: "j1",
	endpoint: "e",
	operation: "runsync",
	lowPriority: true,
	state: "IN_PROGRESS",
	submittedAt: 1,
	queuedAt: 2,
	startedAt: 3,
	endedAt: undefined,
	retriedAt: 16,
	attempt: 4,
	worker: "w",
	release: 15,
	losses: 5,
	returns: 6,
	run: 18,
	missed: 7,
	deniedAt: 17,
	ttlMs: 8,
	executionTimeoutMs: 9,
	leaseMs: 10,
	leaseUntil: 11,
	retainMs: 12,
	recordMs: 13,
	erased: false,
	dueAt: 14,
	webhook: "https://example.com",
	s3Config: undefined,
	requestId: "r",
	trace: undefined,
};

describe("job columns", () => {
	it("a packed job is the same job", () => {
		expect(packJob(JOB)).toHaveLength(Object.keys(JOB).length);
		expect(unpackJob(packJob(JOB))).toStrictEqual(JOB);
	});

	it("a row gives the job back, in any order of its columns", () => {
		const columns = [...FIXED, ...CHANGING];
		const names = ["other", "id", ...namesOf(columns)];
		const values = [0, JOB.id, ...jobWriter(columns, (_, value) => value)(JOB)];
		for (const order of [names, names.toReversed()]) {
			const read = jobReader(order, (_, value) => value);
			expect(read(order === names ? values : values.toReversed(), "e")).toStrictEqual(JOB);
		}
		expect(() => jobReader(names.slice(0, -1), (_, value) => value)).toThrow("s3_config");
	});

	it("names are those of the tables", () => {
		expect(namesOf(FIXED)).toEqual([
			"operation",
			"low_priority",
			"submitted_at",
			"ttl_ms",
			"execution_timeout_ms",
			"lease_ms",
			"record_ms",
			"request_id",
			"trace",
		]);
		expect(namesOf(CHANGING)).toContain("s3_config");
	});

	it("members of members are packed by their paths", () => {
		const paths = ["now", ...SUBMISSION_MEMBERS.map((member) => `submission.${member}`)];
		const { id, endpoint, operation } = JOB;
		const query = { now: 1, submission: { ...JOB, id, endpoint, operation } };
		const unpacked = unpacker<typeof query>(paths)(packer(paths)(query));
		expect(unpacked.now).toBe(1);
		expect(unpacked.submission).toMatchObject({ id, ttlMs: JOB.ttlMs, webhook: JOB.webhook });
		expect(unpacked.submission).not.toHaveProperty("attempt");
	});
});
