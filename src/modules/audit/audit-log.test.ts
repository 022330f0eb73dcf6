/** What the audit log keeps in mind of values that were shown, where the store fails (D42). */
import { expect, it } from "vitest";
import { eventBus } from "../../kernel/events.ts";
import type { AuditEntry } from "../../kernel/store/contract/records.ts";
import { auditLog } from "./audit-log.ts";

function sample() {
	const appended: (readonly string[])[] = [];
	const failures: Error[] = [];
	const events = eventBus();
	const store = {
		audit: {
			async append({ entry }: { entry: AuditEntry }) {
				const failure = failures.shift();
				if (failure) throw failure;
				appended.push(entry.subject);
			},
			async expire() {},
		},
	};
	const faults: unknown[] = [];
	events.on("fault", ({ error }) => void faults.push(error));
	const context = { now: () => 0, budgets: { auditRetention: { limit: 1 } }, events, store };
	const log = auditLog(context as unknown as Parameters<typeof auditLog>[0]);
	const call = { principal: { keyId: "k", name: "n" }, peer: {}, action: "getManaged", requestId: "r" };
	const shown = (ids: readonly string[]) => log.shown({ ...call, ids } as unknown as Parameters<typeof log.shown>[0]);
	return { appended, failures, faults, shown };
}

it("D42: a read whose entry could not be stored has one when it is repeated", async () => {
	const { appended, failures, faults, shown } = sample();
	failures.push(new Error("no"));
	await shown(["a"]);
	expect(appended).toEqual([]);
	expect(faults).toMatchObject([{ message: "no" }]);
	for (let n = 0; n < 2; n += 1) await shown(["a"]);
	expect(appended).toEqual([["a"]]);
});

it("D42: of a page of several entries only those that failed are repeated", async () => {
	const { appended, failures, shown } = sample();
	const ids = Array.from({ length: 60 }, (_, n) => `${n}`);
	failures.push(new Error("no"));
	for (let n = 0; n < 3; n += 1) await shown(ids);
	expect(appended).toEqual([ids.slice(50), ids.slice(0, 50)]);
});
