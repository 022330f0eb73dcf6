/**
 * Admission: the numbers of section 8 exactly, budgets of their own, what is reported about them, and
 * nothing kept for those that were removed.
 */
import { beforeEach, describe, expect, it } from "vitest";
import { DEFAULT_LIMITS, LIMITED_OPERATIONS } from "../../core/endpoints/limits.ts";
import { type Admission, type AdmissionRequest, Admissions } from "./admission.ts";

const EP = { id: "ep", limits: {} };
let now: number;
let budgets: Admissions;
beforeEach(() => {
	now = 1_800_000_000_000;
	budgets = new Admissions(() => now);
});

/** Asks; the answer is there at once, as there are no other servers. */
const admit = (q: AdmissionRequest): Admission | undefined => budgets.admit(q) as Admission | undefined;

/** Asks, and at once gives back what was given. */
function passing(q: AdmissionRequest): Admission | undefined {
	const answer = admit(q);
	answer?.release?.();
	return answer;
}

describe.each(LIMITED_OPERATIONS)("/%s", (operation) => {
	const { per10s = 0, concurrent } = DEFAULT_LIMITS[operation];

	it("spec 8.1, D24: the table's rate passes in 10 s, the next is 429, one more when the first is 10 s old", () => {
		for (let index = 0; index < per10s; index += 1) {
			expect(passing({ endpoint: EP, operation })).toMatchObject({
				quota: { limit: per10s, remaining: per10s - index - 1, reset: 10 },
			});
			if (index === 0) now += 400;
		}
		const refused = admit({ endpoint: EP, operation });
		expect(refused).toEqual({
			quota: { limit: per10s, remaining: 0, reset: 10 },
			refusal: expect.objectContaining({ code: "rate_limited", status: 429, retryAfter: 10 }),
		});
		expect(refused?.refusal?.message).toContain(`'ep' allows ${per10s} requests of '${operation}' in any 10 s`);
		now += 9_599;
		expect(admit({ endpoint: EP, operation })?.refusal?.retryAfter).toBe(1);
		now += 1;
		expect(passing({ endpoint: EP, operation })?.refusal).toBeUndefined();
		expect(admit({ endpoint: EP, operation })?.refusal?.code).toBe("rate_limited");
	});

	it("spec 8.1, D24: the number of the table is in flight, the next is 429, one more when one has ended", () => {
		const held = Array.from({ length: concurrent ?? per10s }, () => admit({ endpoint: EP, operation }));
		expect(held.map((each) => each?.refusal)).toEqual(held.map(() => undefined));
		if (concurrent === undefined) return;
		const refused = admit({ endpoint: EP, operation });
		expect(refused?.refusal).toMatchObject({
			code: "too_many_at_once",
			status: 429,
			retryAfter: 1,
		});
		expect(refused?.refusal?.message).toContain(`'ep' allows ${concurrent} concurrent requests of '${operation}'`);
		expect(refused?.release).toBeUndefined();
		held[0]?.release?.();
		// Only admitted requests count: the refused one has used nothing up.
		expect(admit({ endpoint: EP, operation })).toMatchObject({
			quota: { remaining: per10s - concurrent - 1 },
			release: expect.any(Function),
		});
		expect(admit({ endpoint: EP, operation })?.refusal?.code).toBe("too_many_at_once");
	});
});

describe("admission", () => {
	it("D24: each operation of each endpoint has its own budget", () => {
		const limits = Object.fromEntries(LIMITED_OPERATIONS.map((operation) => [operation, { per10s: 1, concurrent: 1 }]));
		for (const id of ["a", "b", "a/run"]) {
			for (const operation of LIMITED_OPERATIONS) {
				expect(admit({ endpoint: { id, limits }, operation })?.refusal).toBeUndefined();
				expect(admit({ endpoint: { id, limits }, operation })?.refusal).toBeDefined();
			}
		}
	});

	it("D35: with limits off nothing is counted or reported, nothing kept", () => {
		for (let index = 0; index < 5000; index += 1)
			expect(admit({ endpoint: { id: "ep", limits: "off" }, operation: "run" })).toBeUndefined();
		expect(budgets.size).toBe(0);
	});

	it("D35: one of the two may be off", () => {
		const rate = { id: "rate", limits: { run: { per10s: 1, concurrent: "off" as const } } };
		expect(admit({ endpoint: rate, operation: "run" })?.refusal).toBeUndefined();
		expect(admit({ endpoint: rate, operation: "run" })?.refusal?.code).toBe("rate_limited");
		const atOnce = { id: "atOnce", limits: { run: { per10s: "off" as const, concurrent: 1 } } };
		expect(admit({ endpoint: atOnce, operation: "run" })).toEqual({
			release: expect.any(Function),
		});
		expect(admit({ endpoint: atOnce, operation: "run" })).toEqual({
			refusal: expect.objectContaining({ code: "too_many_at_once" }),
		});
	});

	it("D35: a limit of 0 takes nothing", () => {
		const closed = { id: "ep", limits: { run: { per10s: 0 }, cancel: { concurrent: 0 } } };
		expect(admit({ endpoint: closed, operation: "run" })).toEqual({
			quota: { limit: 0, remaining: 0, reset: 10 },
			refusal: expect.objectContaining({ code: "rate_limited", retryAfter: 10 }),
		});
		expect(admit({ endpoint: closed, operation: "cancel" })?.refusal?.code).toBe("too_many_at_once");
	});

	it("D24, D35: a changed number holds from the next request on, with what was counted before", () => {
		for (let index = 0; index < 5; index += 1) passing({ endpoint: EP, operation: "cancel" });
		expect(
			admit({
				endpoint: { id: "ep", limits: { cancel: { per10s: 3 } } },
				operation: "cancel",
			}),
		).toMatchObject({ quota: { limit: 3, remaining: 0 }, refusal: { code: "rate_limited" } });
		expect(passing({ endpoint: { id: "ep", limits: { cancel: { per10s: 6 } } }, operation: "cancel" })).toMatchObject({
			quota: { limit: 6, remaining: 0 },
		});
	});

	it("D24: a caller that waits as long as Retry-After says is admitted", () => {
		const endpoint = { id: "ep", limits: { run: { per10s: 3 } } };
		let refusals = 0;
		for (let index = 0; index < 200; index += 1) {
			now += (index * 977) % 3_001;
			const refusal = passing({ endpoint, operation: "run" })?.refusal;
			if (!refusal) continue;
			refusals += 1;
			expect(refusal.retryAfter).toBeGreaterThanOrEqual(1);
			expect(refusal.retryAfter).toBeLessThanOrEqual(10);
			now += 1000 * refusal.retryAfter!;
			expect(passing({ endpoint, operation: "run" })?.refusal).toBeUndefined();
		}
		expect(refusals).toBeGreaterThan(20);
	});

	it("D24: budgets of endpoints that are removed or idle are let go, those in use are not", () => {
		for (let index = 0; index < 1000; index += 1)
			passing({ endpoint: { id: `e${index}`, limits: {} }, operation: "run" });
		const held = admit({ endpoint: { id: "held", limits: {} }, operation: "runsync" });
		expect(budgets.size).toBe(1001);
		now += 20_000;
		passing({ endpoint: EP, operation: "status" });
		budgets.reported(new Map());
		expect(budgets.size).toBe(2);
		held?.release?.();
		now += 20_000;
		budgets.reported(new Map());
		expect(budgets.size).toBe(0);
	});
});
