/** Meters of the budgets of this server (D41): what is used, and how often one was spent. */
import { BUDGET_NAMES, type BudgetLimits, type BudgetName } from "./core/budgets.ts";

export interface BudgetMeter {
	readonly limit: number;
	/** Held at this moment; of a budget per caller, by the one with most. */
	readonly used: number;
	/** Refusals since the start. */
	readonly spent: number;
	/** Holds `amount`, or counts a refusal and returns false. */
	take(amount: number): boolean;
	/** Holds `amount`, even beyond the limit. */
	hold(amount: number): void;
	/** Returns what was taken. */
	give(amount: number): void;
	/** Counts a refusal whose amounts the caller keeps itself. */
	refuse(): void;
}

export type BudgetMeters = Readonly<Record<BudgetName, BudgetMeter>>;

export function budgetMeters(limits: BudgetLimits): BudgetMeters {
	const meters = BUDGET_NAMES.map((name) => [name, budgetMeter(limits[name])]);
	return Object.fromEntries(meters) as BudgetMeters;
}

function budgetMeter(limit: number): BudgetMeter {
	let used = 0;
	let spent = 0;
	return {
		limit,
		get used() {
			return used;
		},
		get spent() {
			return spent;
		},
		take(amount) {
			if (used + amount > limit) {
				spent += 1;
				return false;
			}
			used += amount;
			return true;
		},
		hold(amount) {
			used += amount;
		},
		give(amount) {
			used -= amount;
		},
		refuse() {
			spent += 1;
		},
	};
}
