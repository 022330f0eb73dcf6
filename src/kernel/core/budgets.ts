/** What callers, all together or each of them, may hold or use of a resource of a server (D41). */
import { record } from "../lib/record.ts";

export interface Budget {
	unit: "bytes" | "count" | "ms";
	default: number;
	minimum: number;
	maximum: number;
	/** One sentence. */
	description: string;
	/** What happens once it is spent, one sentence. */
	beyond: string;
}

export const BUDGETS = {
	connections: {
		unit: "count",
		default: 10_000,
		minimum: 100,
		maximum: 1_000_000,
		description: "Open connections of clients and workers.",
		beyond:
			"The oldest without a valid key or token is closed, else the new one. Those without one are also closed " +
			"while they hold more than 32 MiB of unfinished headers together, and any with more than 256 unanswered " +
			"requests, 1,024 once authenticated.",
	},
	auditRetention: {
		unit: "ms",
		default: 365 * 86_400_000,
		minimum: 86_400_000,
		maximum: 3650 * 86_400_000,
		description: "Age of entries of the audit log.",
		beyond: "Older entries are removed.",
	},
	failedKeysPerAddress: {
		unit: "count",
		default: 60,
		minimum: 5,
		maximum: 100_000,
		description: "Wrong keys, worker tokens and sign-in links of one address (IPv6: /64) in a minute.",
		beyond: "Wrong ones of the address are answered 429; valid ones pass.",
	},
	webhookSenders: {
		unit: "count",
		default: 256,
		minimum: 4,
		maximum: 10_000,
		description:
			"Webhooks being sent: of one endpoint at most 32, to one host and port 4, with bodies of 128 MiB, of one " +
			"endpoint 32 MiB. Half of each is for receivers whose last attempt was answered.",
		beyond: "Further ones wait, endpoints and their receivers in turn.",
	},
	reservedDisk: {
		unit: "bytes",
		default: 256 * 2 ** 20,
		minimum: 0,
		maximum: 2 ** 50,
		description: "Free space on the disk of a SQLite store that is kept for results.",
		beyond: "`/run` and `/runsync` are 503 until more is free; reads, results and cancels continue.",
	},
	stored: {
		unit: "bytes",
		default: 64 * 1024 ** 3,
		minimum: 64 * 1024 ** 2,
		maximum: 2 ** 50,
		description:
			"Inputs, results and chunks of all jobs in the store, as of the last 15 s, beyond half of it 2 s. " +
			"With SQLite whole payload files count, which stay as long as one of their payloads. " +
			"Of one endpoint: its setting `limits.storedMb`.",
		beyond: "Submissions are 503 `store_full` until less is stored.",
	},
	management: {
		unit: "count",
		default: 32,
		minimum: 4,
		maximum: 10_000,
		description: "Requests in flight under `/v1` of one key; `used`: of all keys.",
		beyond: "They are answered 429 `management_busy`.",
	},
	memory: {
		unit: "bytes",
		default: 256 * 1024 * 1024,
		minimum: 64 * 1024 * 1024,
		maximum: 1024 ** 4,
		description:
			"Requests from their arrival until they are stored, and answers until they are read, over " +
			"16 KiB each; half of it for clients, all of it for workers, and to one key or worker no " +
			"more than remains free. Where the service may use less than 1 GiB, the default is a quarter of it.",
		beyond:
			"Requests of clients wait for 5 s, reports of workers for 120 s, then 429 `memory_share` or 503 `memory_spent`.",
	},
	readTimeout: {
		unit: "ms",
		default: 30_000,
		minimum: 1000,
		maximum: 300_000,
		description:
			"How long a client or worker may send nothing of a body that it has begun, or read nothing of an answer " +
			"that it waits for.",
		beyond: "A request is answered 408; the connection is closed.",
	},
} as const satisfies Record<string, Budget>;

export type BudgetName = keyof typeof BUDGETS;

export type BudgetLimits = Readonly<Record<BudgetName, number>>;

const BUDGET_NAMES = Object.keys(BUDGETS) as BudgetName[];

/** `available`: bytes of memory the service may use. */
export function budgetLimits(
	configured: Partial<BudgetLimits> = {},
	available = Number.POSITIVE_INFINITY,
): BudgetLimits {
	const { default: most, minimum } = BUDGETS.memory;
	const memory = Math.max(minimum, Math.min(most, Math.floor(available / 4)));
	const defaults: Partial<BudgetLimits> = { memory };
	return record(BUDGET_NAMES, (name) => configured[name] ?? defaults[name] ?? BUDGETS[name].default);
}

export class BudgetMeter {
	readonly limit: number;
	/** Held now; of a budget per caller, by the one with most. */
	used = 0;
	spent = 0;

	constructor(limit: number) {
		this.limit = limit;
	}

	/** Returns false and counts a refusal if `amount` does not fit. */
	take(amount: number): boolean {
		const fits = this.used + amount <= this.limit;
		if (fits) this.hold(amount);
		else this.refuse();
		return fits;
	}

	hold(amount: number): void {
		this.used += amount;
	}

	give(amount: number): void {
		this.used -= amount;
	}

	refuse(): void {
		this.spent += 1;
	}
}

export type BudgetMeters = Readonly<Record<BudgetName, BudgetMeter>>;

export function budgetMeters(limits: BudgetLimits): BudgetMeters {
	return record(BUDGET_NAMES, (name) => new BudgetMeter(limits[name]));
}
