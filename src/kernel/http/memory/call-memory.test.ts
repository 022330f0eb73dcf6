/** What a request holds of the memory budget, with the identity that its gates or its handler set. */
import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { budgetLimits, budgetMeters } from "../../core/budgets.ts";
import { manualClock } from "../../../../test/support/manual-clock.ts";
import type { Call } from "../exchange/call.ts";
import { hold, room } from "./call-memory.ts";
import { memoryShares } from "./shares.ts";

const BYTES = 65_536;

it("D41: bytes are given back to the owner from whom they were taken, though the request signs in meanwhile", () => {
	const meter = budgetMeters({ ...budgetLimits(), memory: 8 * BYTES }).memory;
	const memory = memoryShares({ meter, clock: manualClock() });
	const call = (keyId?: string): Call =>
		({
			res: Object.assign(new EventEmitter(), { closed: false }),
			service: { memory },
			identity: keyId === undefined ? {} : { principal: { keyId, name: "", scopes: [] } },
			holds: { bytes: 0 },
		}) as unknown as Call;
	const [other, signIn] = [call("k"), call()];
	void hold(other, BYTES);
	void hold(signIn, BYTES);
	signIn.identity.principal = { keyId: "k", name: "", scopes: [] };
	void hold(signIn, 0);
	expect(room(call("k"))).toBe(BYTES);
	expect(room(call())).toBe((3 * BYTES) / 2);
});
