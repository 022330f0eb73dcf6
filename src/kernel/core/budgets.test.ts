import { expect, it } from "vitest";
import { budgetLimits, budgetMeters } from "./budgets.ts";

it("D41: what fits is held and returned, what does not is refused and counted", () => {
	const { connections } = budgetMeters(budgetLimits({ connections: 100 }));
	expect([connections.take(60), connections.take(50), connections.take(40)]).toEqual([true, false, true]);
	connections.give(60);
	expect(connections).toMatchObject({ limit: 100, used: 40, spent: 1 });
});
