/** Budgets of wrong credentials (D41). */
import { expect, it } from "vitest";
import { given } from "../../../../test/support/given.ts";
import { budgetLimits, budgetMeters } from "../../core/budgets.ts";
import { failures, type Failures } from "./failures.ts";

let present = 1_800_000_000_000;
const at = (remoteAddress: string): { remoteAddress: string } => ({ remoteAddress });
const [A, B] = [at("192.0.2.1"), at("192.0.2.2")];

function counter(failedKeysPerAddress?: number): Failures & { spent: () => number } {
	const budgets = budgetMeters(budgetLimits(failedKeysPerAddress === undefined ? {} : { failedKeysPerAddress }));
	return {
		...failures(given({ now: () => present, budgets })),
		spent: () => budgets.failedKeysPerAddress.spent,
	};
}

it("D41: beyond its budget an address gets 429 until the minute is over, and no other address does", () => {
	const counted = counter(5);
	for (let count = 0; count < 5; count += 1) expect(counted.count(A)).toBeUndefined();
	expect([counted.strained(A), counted.strained(B)]).toEqual([true, false]);
	present += 20_001;
	expect(counted.count(A)).toMatchObject({ code: "too_many_failures", retryAfter: 40 });
	expect(counted.count(B)).toBeUndefined();
	expect(counted.spent()).toBe(1);
	present += 39_999;
	expect(counted.strained(A)).toBe(false);
	expect(counted.count(A)).toBeUndefined();
});

it("D41: beyond the bound of all addresses, reads are saved and no address is refused that has its own left", () => {
	const counted = counter();
	for (let count = 0; count < 999; count += 1) expect(counted.count(at(`192.0.2.${count % 200}`))).toBeUndefined();
	const stranger = at("198.51.100.1");
	expect(counted.strained(stranger)).toBe(false);
	expect(counted.count(stranger)).toBeUndefined();
	expect([counted.strained(stranger), counted.spent()]).toEqual([true, 0]);
	present += 60_000;
	expect(counted.strained(A)).toBe(false);
});

it("D41: a clock that steps back does not prolong it", () => {
	const counted = counter(5);
	for (let count = 0; count < 6; count += 1) counted.count(A);
	present -= 3_600_000;
	expect(counted.strained(A)).toBe(false);
});
