/** Resource limits of a server, per caller and in total (D41). */
import { record } from "../lib/record.ts";

export interface Budget {
	unit: "bytes" | "count" | "ms";
	default: number;
	minimum: number;
	maximum: number;
	/** One sentence. */
	description: string;
	/** What happens beyond the budget, one sentence. */
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
			"The oldest connection without a valid key or token is closed, or the new one if there is none. Connections " +
			"without one are also closed while together they hold more than 32 MiB of unfinished headers. " +
			"Any connection with more than 256 unanswered requests (1,024 once authenticated) is closed.",
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
		beyond: "Further wrong ones of the address are answered 429; valid ones pass.",
	},
	webhookSenders: {
		unit: "count",
		default: 256,
		minimum: 4,
		maximum: 10_000,
		description:
			"Webhooks being sent at once; of one endpoint at most 32, to one host and port at most 4. Their bodies have " +
			"at most 128 MiB, of one endpoint 32 MiB. Half of each is for receivers whose last attempt was answered.",
		beyond: "Further ones wait; endpoints, and receivers within each, are served round robin.",
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
			"Inputs, results and chunks of all jobs in the store, read every 15 s, every 2 s beyond half of the budget. " +
			"With SQLite whole payload files count, which exist as long as one of their payloads does. " +
			"For one endpoint see its setting `limits.storedMb`.",
		beyond: "Submissions are 503 `store_full` until less is stored.",
	},
	management: {
		unit: "count",
		default: 32,
		minimum: 4,
		maximum: 10_000,
		description: "Requests in flight under `/v1` of one key. In `/metrics`, `used` is the sum of all keys.",
		beyond: "Further ones are answered 429 `management_busy`.",
	},
	memory: {
		unit: "bytes",
		default: 256 * 1024 * 1024,
		minimum: 64 * 1024 * 1024,
		maximum: 1024 ** 4,
		description:
			"Requests over 16 KiB from their arrival until they are stored, and answers over 16 KiB until they are read. " +
			"Clients together may use half of it, workers all of it, and one key or worker no more than remains free. " +
			"If the service may use less than 1 GiB of memory, the default is a quarter of that.",
		beyond:
			"Requests of clients wait for 5 s, reports of workers for 120 s; then they are answered 429 `memory_share` " +
			"or 503 `memory_spent`.",
	},
	readTimeout: {
		unit: "ms",
		default: 30_000,
		minimum: 1000,
		maximum: 300_000,
		description: "How long a client or worker may pause while it sends a body, or while it reads an answer.",
		beyond: "An unfinished request is answered 408; the connection is closed.",
	},
} as const satisfies Record<string, Budget>;

export type BudgetName = keyof typeof BUDGETS;

export type BudgetLimits = Readonly<Record<BudgetName, number>>;

const BUDGET_NAMES = Object.keys(BUDGETS) as BudgetName[];

/** Returns all budgets: as configured, else the defaults. `available`: bytes of memory that the service may use. */
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
	/** Amount held now; of a budget per caller, that of the caller who holds most. */
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
