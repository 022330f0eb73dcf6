/** The operations of the contract by name, and how each runs where many share one transaction. */
import type { Store } from "./contract/store.ts";

/** A group of the contract, one noun. */
export type Group =
	| "jobs"
	| "chunks"
	| "endpoints"
	| "workers"
	| "tokens"
	| "keys"
	| "webhooks"
	| "metrics";

/** A method of the contract as `group.method`. */
export type OpName =
	| { [G in Group]: `${G}.${keyof Store[G] & string}` }[Group]
	| "identity"
	| "ping";

type MethodOf<N extends OpName> = N extends `${infer G extends Group}.${infer M}`
	? M extends keyof Store[G]
		? Store[G][M]
		: never
	: N extends keyof Store
		? Store[N]
		: never;
type Sync<F> = F extends (...q: infer Q) => Promise<infer A> ? (...q: Q) => A : never;

/** The methods of one noun, done at once. */
export type GroupHandlers<G extends Group> = { [M in keyof Store[G]]: Sync<Store[G][M]> };

/** What an operation is asked, and what it answers. */
export type Query<N extends OpName> = MethodOf<N> extends (q: infer Q) => unknown ? Q : undefined;
export type Answer<N extends OpName> =
	MethodOf<N> extends (...q: never[]) => Promise<infer A> ? A : never;

/**
 * How an operation runs in a batch: `read` never writes, `fresh` is a read for which passed
 * deadlines are settled first, `claim` is a write that runs after all others of its batch (contract
 * rule 6).
 */
export type Kind = "read" | "fresh" | "write" | "claim";

/** Every operation; the list is complete by its type. */
export const OPS: Readonly<Record<OpName, Kind>> = {
	"jobs.insert": "write",
	"jobs.get": "read",
	"jobs.counts": "fresh",
	"jobs.allCounts": "fresh",
	"jobs.waiting": "fresh",
	"jobs.claim": "claim",
	"jobs.report": "write",
	"jobs.progress": "write",
	"jobs.move": "write",
	"jobs.retain": "write",
	"jobs.purge": "write",
	"jobs.cancelAll": "write",
	"jobs.list": "fresh",
	"jobs.record": "read",
	"jobs.settle": "write",
	"jobs.extendAll": "write",
	"jobs.running": "read",
	"jobs.unstopped": "read",
	"jobs.attempts": "read",
	"chunks.append": "write",
	"chunks.read": "read",
	"chunks.reserve": "read",
	"chunks.deliver": "write",
	"endpoints.put": "write",
	"endpoints.list": "read",
	"endpoints.pause": "write",
	"endpoints.remove": "write",
	"endpoints.forget": "write",
	"workers.put": "write",
	"workers.list": "read",
	"workers.remove": "write",
	"workers.ping": "write",
	"workers.idle": "write",
	"workers.renew": "write",
	"tokens.put": "write",
	"tokens.find": "read",
	"tokens.remove": "write",
	"keys.insert": "write",
	"keys.find": "read",
	"keys.list": "read",
	"keys.used": "write",
	"keys.remove": "write",
	"webhooks.claim": "write",
	"webhooks.tried": "write",
	"webhooks.redeliver": "write",
	"webhooks.find": "read",
	"webhooks.list": "read",
	"webhooks.expire": "write",
	"metrics.put": "write",
	"metrics.read": "read",
	"metrics.expire": "write",
	identity: "read",
	ping: "write",
};

/** All of them, in one order. */
export const OP_NAMES = Object.keys(OPS) as OpName[];
