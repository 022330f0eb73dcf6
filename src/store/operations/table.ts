/**
 * Every operation of the contract, complete by its type. The stores, the messages to the database
 * thread, the reads of PostgreSQL's transactions and the gate of the store's health are derived
 * from it.
 */
import type { JsonText } from "../../core/json/json-text.ts";
import * as chunks from "./chunks.ts";
import { insert } from "./insert.ts";
import * as jobs from "./jobs.ts";
import {
	type Group,
	type Handler,
	type MethodOf,
	type Operation,
	type OpName,
	perDialect,
	type Query,
} from "./operation.ts";
import * as secrets from "./secrets.ts";
import type { Store } from "../contract/store.ts";
import * as workers from "./workers.ts";

export const OPERATIONS = {
	"jobs.insert": insert,
	"jobs.get": jobs.get,
	"jobs.counts": perDialect("fresh"),
	"jobs.allCounts": perDialect("fresh"),
	"jobs.stored": perDialect("read"),
	"jobs.waiting": perDialect("fresh"),
	"jobs.claim": perDialect("claim"),
	"jobs.report": jobs.report,
	"jobs.progress": jobs.progress,
	"jobs.move": jobs.move,
	"jobs.retain": jobs.retain,
	"jobs.purge": perDialect("write"),
	"jobs.cancelAll": perDialect("write"),
	"jobs.list": perDialect("fresh"),
	"jobs.record": jobs.record,
	"jobs.settle": perDialect("write"),
	"jobs.extendAll": perDialect("write"),
	"jobs.running": perDialect("read"),
	"jobs.unstopped": perDialect("read"),
	"jobs.attempts": jobs.attempts,
	"chunks.append": chunks.append,
	"chunks.read": chunks.read,
	"chunks.reserve": chunks.reserve,
	"chunks.deliver": chunks.deliver,
	"endpoints.put": perDialect("write"),
	"endpoints.list": perDialect("read"),
	"endpoints.pause": perDialect("write"),
	"endpoints.remove": perDialect("write"),
	"endpoints.forget": perDialect("write"),
	"workers.put": perDialect("write"),
	"workers.list": perDialect("read"),
	"workers.remove": perDialect("write"),
	"workers.end": perDialect("write"),
	"workers.ended": perDialect("read"),
	"workers.ping": workers.ping,
	"workers.idle": workers.idle,
	"workers.renew": workers.renew,
	"hosts.drained": perDialect("read"),
	"hosts.drain": perDialect("write"),
	"tokens.put": perDialect("write"),
	"tokens.find": perDialect("read"),
	"tokens.list": perDialect("read"),
	"tokens.remove": perDialect("write"),
	"keys.insert": perDialect("write"),
	"keys.find": perDialect("read"),
	"keys.list": perDialect("read"),
	"keys.used": perDialect("write"),
	"keys.rotate": perDialect("write"),
	"keys.remove": perDialect("write"),
	"sessions.insert": perDialect("write"),
	"sessions.find": perDialect("read"),
	"sessions.list": perDialect("read"),
	"sessions.used": perDialect("write"),
	"sessions.remove": perDialect("write"),
	"sessions.removeAll": perDialect("write"),
	"registries.put": perDialect("write"),
	"registries.list": perDialect("read"),
	"registries.remove": perDialect("write"),
	"registries.replace": perDialect("write"),
	"audit.append": perDialect("write"),
	"audit.list": perDialect("read"),
	"audit.expire": perDialect("write"),
	"webhooks.claim": perDialect("write"),
	"webhooks.body": perDialect("read"),
	"webhooks.tried": perDialect("write"),
	"webhooks.receivers": perDialect("read"),
	"webhooks.enable": perDialect("write"),
	"webhooks.pending": perDialect("read"),
	"webhooks.redeliver": perDialect("write"),
	"webhooks.find": perDialect("read"),
	"webhooks.list": perDialect("read"),
	"webhooks.expire": perDialect("write"),
	"metrics.put": perDialect("write"),
	"metrics.read": perDialect("read"),
	"metrics.expire": perDialect("write"),
	"secrets.jobs": perDialect("read"),
	"secrets.replaceJob": secrets.replaceJob,
	"secrets.replaceEndpoint": perDialect("write"),
	"secrets.replaceCheck": perDialect("write"),
	"time.read": perDialect("read"),
	"time.step": perDialect("write"),
	"time.seen": perDialect("write"),
	identity: perDialect("read"),
	ping: perDialect("write"),
} as const satisfies { [N in OpName]: Operation<N> };

/** Names of all operations, in one order. */
export const OP_NAMES = Object.keys(OPERATIONS) as OpName[];

/** Characters of payload in a query, as `size` counts them; limits the size of batches. */
export function weightOf(name: OpName, q: unknown, size: (text: JsonText) => number): number {
	switch (name) {
		case "jobs.insert":
			return size((q as Query<"jobs.insert">).input);
		case "jobs.report":
			return size((q as Query<"jobs.report">).outcome.output ?? "");
		case "jobs.progress":
			return size((q as Query<"jobs.progress">).value);
		case "chunks.append":
			return (q as Query<"chunks.append">).chunks.reduce((sum, chunk) => sum + chunk.length, 0);
		default:
			return 0;
	}
}

/** Whether an operation (`group.method`) works while the store cannot write (D40). */
export function isRead(name: string): boolean {
	const { kind } = OPERATIONS[name as OpName];
	return kind === "read" || kind === "fresh";
}

/** Operations with a shared rule, and those that each dialect implements. */
type SharedName = {
	[N in OpName]: (typeof OPERATIONS)[N] extends { apply: unknown } ? N : never;
}[OpName];
export type SharedReadName = {
	[N in SharedName]: (typeof OPERATIONS)[N] extends { kind: "read" } ? N : never;
}[SharedName];
export type SharedWriteName = Exclude<SharedName, SharedReadName>;
type DialectName = Exclude<OpName, SharedName>;

/** What a dialect implements of a group, synchronously. */
export type DialectHandlers<G extends Group> = {
	[N in DialectName as N extends `${G}.${infer M}` ? M : never]: Handler<N>;
};

/** All that a dialect implements, synchronously; or as methods of the contract. */
export type AllDialectHandlers = { [G in Group]: DialectHandlers<G> } & {
	[N in DialectName & ("identity" | "ping")]: Handler<N>;
};
export type AllDialectMethods = {
	[G in Group]: { [N in DialectName as N extends `${G}.${infer M}` ? M : never]: MethodOf<N> };
} & { [N in DialectName & ("identity" | "ping")]: MethodOf<N> };

/** The function of an operation among those of all groups. */
export function memberOf(groups: AllDialectHandlers | AllDialectMethods, name: OpName): unknown {
	const [group = "", method] = name.split(".");
	const members = (groups as unknown as Record<string, unknown>)[group];
	return method === undefined ? members : (members as Record<string, unknown>)[method];
}

/** An insert that calls `sent` of its query: claims that are asked for later run after it. */
function withSentCallback(insert: (q: never) => Promise<unknown>) {
	return (q: Query<"jobs.insert">): Promise<unknown> => {
		const answer = insert(q as never);
		q.sent?.();
		return answer;
	};
}

/** The operations of the contract, each made by `operation`. */
export function storeOf(
	operation: (name: OpName) => (q: never) => Promise<unknown>,
): Pick<Store, Group | "identity" | "ping"> {
	const store: Record<string, unknown> = {};
	for (const name of OP_NAMES) {
		const [group = "", method] = name.split(".");
		const ask = name === "jobs.insert" ? withSentCallback(operation(name)) : operation(name);
		if (method === undefined) store[name] = ask;
		else Object.assign((store[group] ??= {}) as object, { [method]: ask });
	}
	return store as unknown as ReturnType<typeof storeOf>;
}
