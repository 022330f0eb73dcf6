/**
 * Budgets: the most that all callers together, or each of them, may hold or use of one resource of
 * a server (D41). One table for the configuration, the meters, the metrics and the documents.
 */
export interface Budget {
	/** Unit of {@link default}, and of the meter. */
	unit: "bytes" | "count" | "ms";
	default: number;
	minimum: number;
	maximum: number;
	/** What is counted, one sentence. */
	description: string;
	/** What happens once it is spent, one sentence. */
	beyond: string;
}

/** Members of `budgets` in `sluice.yaml`. */
export const BUDGETS = {
	connections: {
		unit: "count",
		default: 10_000,
		minimum: 100,
		maximum: 1_000_000,
		description: "Open connections of clients and workers.",
		beyond: "The oldest without a valid key or token is closed, else the new one.",
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
	failedKeys: {
		unit: "count",
		default: 1000,
		minimum: 10,
		maximum: 1_000_000,
		description: "Wrong keys, worker tokens and sign-in links of all addresses in a minute.",
		beyond: "Keys are found in a list that is read once a second, not by a read of the store each.",
	},
	webhookSenders: {
		unit: "count",
		default: 256,
		minimum: 4,
		maximum: 10_000,
		description: "Webhooks being sent. Half is for receivers whose last attempt was answered.",
		beyond: "Further ones wait, endpoints in turn.",
	},
	webhookSendersPerEndpoint: {
		unit: "count",
		default: 32,
		minimum: 2,
		maximum: 10_000,
		description: "Webhooks being sent for one endpoint. Half is for receivers whose last attempt was answered.",
		beyond: "Further ones of the endpoint wait, its receivers in turn.",
	},
	webhookSendersPerReceiver: {
		unit: "count",
		default: 4,
		minimum: 1,
		maximum: 1000,
		description: "Webhooks being sent to one host and port.",
		beyond: "Further ones to the receiver wait.",
	},
	webhookBytes: {
		unit: "bytes",
		default: 128 * 1024 * 1024,
		minimum: 1024 * 1024,
		maximum: 64 * 1024 ** 3,
		description: "Bodies of webhooks being sent, or one. Half is for receivers whose last attempt was answered.",
		beyond: "Further ones wait, endpoints in turn.",
	},
	webhookBytesPerEndpoint: {
		unit: "bytes",
		default: 32 * 1024 * 1024,
		minimum: 1024 * 1024,
		maximum: 64 * 1024 ** 3,
		description:
			"Bodies of webhooks being sent for one endpoint, or one. Half is for receivers whose last attempt was answered.",
		beyond: "Further ones of the endpoint wait.",
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
			"Of one endpoint: its setting `limits.storedMb`.",
		beyond: "Submissions are 503 `store_full` until less is stored.",
	},
	pipelined: {
		unit: "count",
		default: 256,
		minimum: 16,
		maximum: 100_000,
		description: "Unanswered requests per connection; four times as many once authenticated.",
		beyond: "The connection is closed.",
	},
	headers: {
		unit: "bytes",
		default: 32 * 1024 * 1024,
		minimum: 1024 * 1024,
		maximum: 1024 ** 4,
		description: "Unfinished headers on connections without a valid key or token so far.",
		beyond: "The connections with the longest ones are closed.",
	},
	headersTimeout: {
		unit: "ms",
		default: 15_000,
		minimum: 1000,
		maximum: 300_000,
		description: "How long the headers of a request may take to arrive.",
		beyond: "The answer is 408 and the connection is closed.",
	},
	management: {
		unit: "count",
		default: 32,
		minimum: 4,
		maximum: 10_000,
		description: "Requests in flight under `/v1` of one key; `used`: of all keys.",
		beyond: "They are answered 429 `management_busy`.",
	},
	managementTime: {
		unit: "ms",
		default: 150,
		minimum: 10,
		maximum: 1000,
		description:
			"Time in each second for which calls of one key under `/v1`, `/metrics`, `/requests` and " +
			"`/purge-queue`, and its reads of results from 64 KiB on, may run; two seconds' worth at once. " +
			"As much for documents and files of the console to one address.",
		beyond:
			"They run one after the other, as time is left; more than 256 requests of an address for documents " +
			"that wait are answered 429 `documents_busy`.",
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
		beyond: "Requests wait for `memoryWait`, then 429 `memory_share` or 503 `memory_spent`.",
	},
	memoryWait: {
		unit: "ms",
		default: 5000,
		minimum: 0,
		maximum: 300_000,
		description: "How long a request of a client waits for `memory`.",
		beyond: "It is refused.",
	},
	readTimeout: {
		unit: "ms",
		default: 30_000,
		minimum: 1000,
		maximum: 300_000,
		description: "How long a client or worker may send nothing of a body that it has begun.",
		beyond: "The answer is 408 and the connection is closed.",
	},
	writeTimeout: {
		unit: "ms",
		default: 30_000,
		minimum: 1000,
		maximum: 300_000,
		description: "How long a client or worker may read nothing of an answer that it waits for.",
		beyond: "The connection is closed.",
	},
} as const satisfies Record<string, Budget>;

export type BudgetName = keyof typeof BUDGETS;

/** A number for each budget, in its unit. */
export type BudgetLimits = Readonly<Record<BudgetName, number>>;

export const BUDGET_NAMES = Object.keys(BUDGETS) as BudgetName[];

/** The configured budgets over the defaults; `available`: bytes of memory the service may use. */
export function budgetLimits(
	configured: Partial<BudgetLimits> = {},
	available = Number.POSITIVE_INFINITY,
): BudgetLimits {
	const { default: most, minimum } = BUDGETS.memory;
	const memory = Math.max(minimum, Math.min(most, Math.floor(available / 4)));
	const defaults: Partial<BudgetLimits> = { memory };
	const limits = BUDGET_NAMES.map((name) => [name, configured[name] ?? defaults[name] ?? BUDGETS[name].default]);
	return Object.fromEntries(limits) as BudgetLimits;
}
