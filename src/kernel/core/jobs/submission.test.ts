/** What may be submitted: every member just inside and just outside its bounds. */
import { describe, expect, it } from "vitest";
import type { Schema } from "../../lib/schema.ts";
import { readSubmission, SUBMISSION_JSON, SUBMISSION_SCHEMA, type SubmissionParts } from "./submission.ts";

const GOOD: SubmissionParts = { input: "object" };

function fields(parts: SubmissionParts): string[] {
	const read = readSubmission(parts);
	return read.ok ? [] : read.faults.map(({ field }) => field);
}

function optionsOf(parts: SubmissionParts): object {
	const read = readSubmission(parts);
	if (!read.ok) throw new Error(JSON.stringify(read.faults));
	return read.options;
}

describe("readSubmission", () => {
	it("spec 2.3: only an input that is an object is needed; what is absent stays absent", () => {
		expect(optionsOf(GOOD)).toEqual({ lowPriority: false, s3Config: false });
	});

	it.each([undefined, "array", "string", "number", "true", "false", "null"] as const)(
		"D4: an input that is %s is named",
		(input) => {
			const read = readSubmission({ input });
			expect(read).toMatchObject({
				ok: false,
				faults: [{ field: "input", message: expect.stringContaining(input ?? "missing") }],
			});
		},
	);

	it("D4: null for an optional member means absent", () => {
		expect(optionsOf({ ...GOOD, webhook: null, policy: null, s3Config: null })).toEqual(optionsOf(GOOD));
		expect(optionsOf({ ...GOOD, policy: { executionTimeout: null, ttl: null, lowPriority: null } })).toEqual(
			optionsOf(GOOD),
		);
	});

	it.each(["http://a.test/", "https://a.test/x?y=z#w", "HTTP://A.test", "http://127.0.0.1:9/", "http://[::1]:8/"])(
		"spec 2.3: the webhook %s is taken as it stands",
		(webhook) => {
			expect(optionsOf({ ...GOOD, webhook })).toMatchObject({ webhook });
		},
	);

	it.each([
		"",
		" ",
		"no url",
		"/hook",
		"ftp://a.test/",
		"javascript:alert(1)",
		"http://",
		7,
		true,
		{},
		[],
		`http://a.test/${"x".repeat(8192)}`,
	])("D4: the webhook %j is refused", (webhook) => {
		expect(fields({ ...GOOD, webhook })).toEqual(["webhook"]);
	});

	it.each([5001, 600_000, Number.MAX_SAFE_INTEGER])("D15: an executionTimeout of %d is inside", (executionTimeout) => {
		expect(optionsOf({ ...GOOD, policy: { executionTimeout } })).toMatchObject({
			executionTimeoutMs: executionTimeout,
		});
	});

	it.each([5000, 0, -1, 5001.5, Number.MAX_SAFE_INTEGER + 1, 1e300, "6000", true, [], {}])(
		"D15: an executionTimeout of %j is refused",
		(executionTimeout) => {
			expect(fields({ ...GOOD, policy: { executionTimeout } })).toEqual(["policy.executionTimeout"]);
			expect(readSubmission({ ...GOOD, policy: { executionTimeout } })).toMatchObject({
				faults: [{ message: expect.stringContaining("above 5000 and at most 9007199254740991") }],
			});
		},
	);

	it.each([10_000, 604_800_000])("D15: a ttl of %d is inside", (ttl) => {
		expect(optionsOf({ ...GOOD, policy: { ttl } })).toMatchObject({ ttlMs: ttl });
	});

	it.each([9_999, 604_800_001, 10_000.5, -10_000, "10000", false, []])("D15: a ttl of %j is refused", (ttl) => {
		expect(fields({ ...GOOD, policy: { ttl } })).toEqual(["policy.ttl"]);
	});

	it("spec 2.4: lowPriority is a boolean", () => {
		expect(optionsOf({ ...GOOD, policy: { lowPriority: true } })).toMatchObject({ lowPriority: true });
		expect(optionsOf({ ...GOOD, policy: { lowPriority: false } })).toMatchObject({ lowPriority: false });
		for (const lowPriority of ["true", 1, 0, {}, []])
			expect(fields({ ...GOOD, policy: { lowPriority } })).toEqual(["policy.lowPriority"]);
	});

	it.each(["x", 7, true, []])("D4: a policy that is %j is refused", (policy) => {
		expect(fields({ ...GOOD, policy })).toEqual(["policy"]);
	});

	it("spec 2.5: the members of s3Config are text; unknown ones and absent ones pass", () => {
		expect(optionsOf({ ...GOOD, s3Config: {} })).toMatchObject({ s3Config: true });
		expect(
			optionsOf({
				...GOOD,
				s3Config: {
					accessId: "a",
					accessSecret: "b",
					bucketName: "c",
					endpointUrl: "d",
					objectPath: 7,
				},
			}),
		).toMatchObject({ s3Config: true });
		for (const s3Config of ["x", 7, false, []]) expect(fields({ ...GOOD, s3Config })).toEqual(["s3Config"]);
		expect(
			fields({
				...GOOD,
				s3Config: { accessId: 1, accessSecret: {}, bucketName: [], endpointUrl: true },
			}),
		).toEqual(["s3Config.accessId", "s3Config.accessSecret", "s3Config.bucketName", "s3Config.endpointUrl"]);
	});

	it("D2: all faults are named at once, each sentence with its bound", () => {
		const read = readSubmission({
			input: "array",
			webhook: "",
			policy: { ttl: 1, executionTimeout: 1, lowPriority: 1 },
			s3Config: 3,
		});
		if (read.ok) throw new Error("taken");
		expect(read.faults.map(({ field }) => field)).toEqual([
			"input",
			"webhook",
			"policy.executionTimeout",
			"policy.ttl",
			"policy.lowPriority",
			"s3Config",
		]);
		expect(read.faults.map(({ message }) => message).join(" ")).toMatch(/5000.*10000.*604800000/);
	});

	it("D4: the limits of the scan are those of the decision", () => {
		expect(SUBMISSION_JSON).toEqual({
			members: ["input", "webhook", "policy", "s3Config"],
			maxDepth: 500,
			maxDigits: 4000,
		});
	});

	it("D4: a webhook has at most 8192 characters, and one far longer is not even parsed", () => {
		const webhook = `http://a.test/${"x".repeat(8192 - 14)}`;
		expect(optionsOf({ ...GOOD, webhook })).toMatchObject({ webhook });
		for (const long of [`${webhook}x`, webhook.repeat(1000)]) {
			expect(readSubmission({ ...GOOD, webhook: long })).toEqual({
				ok: false,
				faults: [
					{
						field: "webhook",
						message:
							"must be an absolute http or https URL of at most 8192 characters, none of them a control " +
							"character; leave it out for no webhook.",
					},
				],
			});
		}
	});

	it("D4: unknown members of policy are ignored", () => {
		expect(optionsOf({ ...GOOD, policy: { executionTimeoutMs: 1, priority: "high" } })).toEqual(optionsOf(GOOD));
	});

	it("D22: no value of s3Config is in a sentence", () => {
		const read = readSubmission({
			...GOOD,
			s3Config: { accessId: 1234567, accessSecret: ["hidden"] },
		});
		expect(JSON.stringify(read)).not.toMatch(/hidden|1234567/);
	});

	it("spec 2.3 to 2.5: the schema describes every member, with the defaults of the specification", () => {
		const { policy, s3Config } = SUBMISSION_SCHEMA.properties;
		for (const members of [SUBMISSION_SCHEMA.properties, policy.properties, s3Config.properties]) {
			for (const [name, { description }] of Object.entries<Schema>(members)) expect(description, name).toMatch(/\.$/);
		}
		const defaults = Object.entries<Schema>(policy.properties).map(([name, { default: standard }]) => [name, standard]);
		expect(Object.fromEntries(defaults)).toEqual({
			executionTimeout: 600_000,
			ttl: 86_400_000,
			lowPriority: false,
		});
	});
});
