/** The type of an operation: the rows it reads, and its rule. */
import type { JobRow } from "../row.ts";
import type { Store } from "../contract/store.ts";
import type { Work } from "../tables/work.ts";
import type { JobKey, KeyPlace, RangeQuery, ReadUnit, UnitOfWork, WorkerKey } from "./unit-of-work.ts";

/** A group of the contract. */
export type Group =
	| "jobs"
	| "chunks"
	| "endpoints"
	| "workers"
	| "hosts"
	| "tokens"
	| "keys"
	| "sessions"
	| "registries"
	| "audit"
	| "webhooks"
	| "metrics"
	| "limits"
	| "secrets"
	| "time";

/** A method of the contract as `group.method`. */
export type OpName = { [G in Group]: `${G}.${keyof Store[G] & string}` }[Group] | "identity" | "ping";

/** A method of the contract by its name. */
export type MethodOf<N extends OpName> = N extends `${infer G extends Group}.${infer M}`
	? M extends keyof Store[G]
		? Store[G][M]
		: never
	: N extends keyof Store
		? Store[N]
		: never;

/** Query and answer of an operation. */
export type Query<N extends OpName> = MethodOf<N> extends (q: infer Q) => unknown ? Q : undefined;
export type Answer<N extends OpName> = MethodOf<N> extends (...q: never[]) => Promise<infer A> ? A : never;

/** How a dialect runs an operation, synchronously. */
export type Handler<N extends OpName> = (q: Query<N>) => Answer<N>;

/**
 * How an operation runs in a batch: `read` never writes; `fresh` is a read after passed deadlines
 * are settled; `claim` is a write that runs after all others of its batch (contract rule 6).
 */
export type Kind = "read" | "fresh" | "write" | "claim";

/** Rows that an operation will read, known from its query. PostgreSQL locks those of a write. */
export interface Reads {
	jobs?: readonly JobKey[];
	/** Workers, with all jobs that they run or may still run. */
	workers?: readonly WorkerKey[];
	keys?: readonly KeyPlace[];
	/** Endpoints besides those of the rows above. */
	endpoints?: readonly string[];
	/** Payloads read with the jobs; only for a `read`. `small`: of a large output its size. */
	payloads?: "output" | "small" | "all";
}

/** Rows that an operation will read, known from what it has read so far. */
export interface FollowUp<Row extends JobRow> {
	jobs?: readonly JobKey[];
	/** A job whose stored result is read. */
	result?: Row;
	/** The last chunks of a job. */
	lastChunks?: { row: Row; count: number };
	/** A range of chunks; with `reader`, also whether another reader's reservation is active. */
	range?: RangeQuery & { row: Row; reader?: string };
	/** A queue whose passed deadlines are settled until at most `most` jobs wait. */
	waiting?: { endpoint: string; now: number; most: number };
}

/** A rule for every dialect. `apply` reads only rows that `reads` or `follow` name. */
export interface SharedOperation<N extends OpName> {
	kind: "write";
	work?: never;
	reads(q: Query<N>): Reads;
	/** Evaluated right before `apply`; not used by SQLite. */
	follow?<Row extends JobRow>(unit: UnitOfWork<Row>, q: Query<N>): FollowUp<Row> | undefined;
	apply<Row extends JobRow>(unit: UnitOfWork<Row>, q: Query<N>): Answer<N>;
}

/** Likewise for an operation that writes nothing. */
export interface SharedRead<N extends OpName> {
	kind: "read";
	work?: never;
	reads(q: Query<N>): Reads;
	follow?<Row extends JobRow>(unit: ReadUnit<Row>, q: Query<N>): FollowUp<Row> | undefined;
	apply<Row extends JobRow>(unit: ReadUnit<Row>, q: Query<N>): Answer<N>;
}

/** An operation on a small table, in statements that both dialects understand (`tables/`). */
export interface TableOperation<N extends OpName> {
	kind: "read" | "write";
	work(q: Query<N>): Work<Answer<N>>;
	apply?: never;
}

/** An operation whose statements differ by dialect: each has its own handler. */
interface DialectOperation {
	kind: Kind;
	apply?: never;
	work?: never;
}

export type Operation<N extends OpName> = SharedOperation<N> | SharedRead<N> | TableOperation<N> | DialectOperation;

/** An operation that each dialect implements. */
export const perDialect = <K extends Kind>(kind: K): { kind: K } => ({ kind });

/** An operation on a small table that writes nothing. */
export function read<N extends OpName>(work: (q: Query<N>) => Work<Answer<N>>): TableOperation<N> & { kind: "read" } {
	return { kind: "read", work };
}

/** An operation on a small table that runs in a transaction. */
export function write<N extends OpName>(work: (q: Query<N>) => Work<Answer<N>>): TableOperation<N> & { kind: "write" } {
	return { kind: "write", work };
}
