import type { JobRow } from "../row.ts";
import type { Store } from "../contract/store.ts";
import type { Work } from "../tables/work.ts";
import type { JobKey, KeyPlace, RangeQuery, ReadUnit, UnitOfWork, WorkerKey } from "./unit-of-work.ts";

export type Group =
	| "documents"
	| "jobs"
	| "chunks"
	| "endpoints"
	| "workers"
	| "hosts"
	| "tokens"
	| "keys"
	| "sessions"
	| "registries"
	| "releases"
	| "resources"
	| "audit"
	| "files"
	| "batches"
	| "objects"
	| "webhooks"
	| "metrics"
	| "limits"
	| "secrets"
	| "time";

/** Name of an operation: `group.method`. */
export type OpName = { [G in Group]: `${G}.${keyof Store[G] & string}` }[Group] | "identity" | "ping";

export type MethodOf<N extends OpName> = N extends `${infer G extends Group}.${infer M}`
	? M extends keyof Store[G]
		? Store[G][M]
		: never
	: N extends keyof Store
		? Store[N]
		: never;

export type Query<N extends OpName> = MethodOf<N> extends (q: infer Q) => unknown ? Q : undefined;
export type Answer<N extends OpName> = MethodOf<N> extends (...q: never[]) => Promise<infer A> ? A : never;

export type Handler<N extends OpName> = (q: Query<N>) => Answer<N>;

/**
 * Kinds of operations. `fresh`: a read after passed deadlines are settled. `claim`: a write that runs after all others
 * of its batch (contract rule 6).
 */
export type Kind = "read" | "fresh" | "write" | "claim";

/** Rows that an operation will read. PostgreSQL locks those of a write. */
export interface Reads {
	jobs?: readonly JobKey[];
	workers?: readonly WorkerKey[];
	keys?: readonly KeyPlace[];
	/** Endpoints in addition to those of the rows above. */
	endpoints?: readonly string[];
	/** Payloads to read; only for a `read`. `small`: only the size of large ones. */
	payloads?: "output" | "small" | "all" | "all small";
}

/** Rows that an operation will read, known from what it has read so far. */
export interface FollowUp<Row extends JobRow> {
	jobs?: readonly JobKey[];
	result?: Row;
	lastChunks?: { row: Row; count: number };
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

interface DialectOperation {
	kind: Kind;
	apply?: never;
	work?: never;
}

export type Operation<N extends OpName> = SharedOperation<N> | SharedRead<N> | TableOperation<N> | DialectOperation;

export const perDialect = <K extends Kind>(kind: K): { kind: K } => ({ kind });

export function read<N extends OpName>(work: (q: Query<N>) => Work<Answer<N>>): TableOperation<N> & { kind: "read" } {
	return { kind: "read", work };
}

export function write<N extends OpName>(work: (q: Query<N>) => Work<Answer<N>>): TableOperation<N> & { kind: "write" } {
	return { kind: "write", work };
}
