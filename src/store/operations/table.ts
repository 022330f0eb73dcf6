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
import { audit } from "../tables/audit.ts";
import { endpoints } from "../tables/endpoints.ts";
import { hosts } from "../tables/hosts.ts";
import { keys, tokens } from "../tables/keys.ts";
import { limits } from "../tables/limits.ts";
import { metrics } from "../tables/metrics.ts";
import { registries } from "../tables/registries.ts";
import { sessions } from "../tables/sessions.ts";
import { time } from "../tables/time.ts";
import { webhooks } from "../tables/webhooks.ts";
import { workerRows } from "../tables/workers.ts";
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
	"endpoints.put": endpoints.put,
	"endpoints.list": endpoints.list,
	"endpoints.pause": endpoints.pause,
	"endpoints.remove": endpoints.remove,
	"endpoints.forget": perDialect("write"),
	"workers.put": workerRows.put,
	"workers.list": workerRows.list,
	"workers.remove": workerRows.remove,
	"workers.end": workerRows.end,
	"workers.ended": workerRows.ended,
	"workers.ping": workers.ping,
	"workers.idle": workers.idle,
	"workers.renew": workers.renew,
	"hosts.drained": hosts.drained,
	"hosts.drain": hosts.drain,
	"tokens.put": tokens.put,
	"tokens.find": tokens.find,
	"tokens.list": tokens.list,
	"tokens.remove": tokens.remove,
	"keys.insert": keys.insert,
	"keys.find": keys.find,
	"keys.list": keys.list,
	"keys.used": keys.used,
	"keys.rotate": keys.rotate,
	"keys.remove": keys.remove,
	"sessions.insert": sessions.insert,
	"sessions.find": sessions.find,
	"sessions.list": sessions.list,
	"sessions.used": sessions.used,
	"sessions.remove": sessions.remove,
	"sessions.removeAll": sessions.removeAll,
	"registries.put": registries.put,
	"registries.list": registries.list,
	"registries.remove": registries.remove,
	"registries.replace": registries.replace,
	"audit.append": audit.append,
	"audit.list": audit.list,
	"audit.expire": audit.expire,
	"webhooks.claim": perDialect("write"),
	"webhooks.body": perDialect("read"),
	"webhooks.tried": perDialect("write"),
	"webhooks.receivers": webhooks.receivers,
	"webhooks.enable": webhooks.enable,
	"webhooks.pending": webhooks.pending,
	"webhooks.redeliver": webhooks.redeliver,
	"webhooks.find": webhooks.find,
	"webhooks.list": webhooks.list,
	"webhooks.expire": perDialect("write"),
	"metrics.put": metrics.put,
	"metrics.read": metrics.read,
	"metrics.expire": metrics.expire,
	"limits.put": limits.put,
	"limits.list": limits.list,
	"limits.expire": limits.expire,
	"secrets.jobs": perDialect("read"),
	"secrets.replaceJob": secrets.replaceJob,
	"secrets.replaceEndpoint": perDialect("write"),
	"secrets.replaceCheck": perDialect("write"),
	"time.read": time.read,
	"time.seen": time.seen,
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
type TableName = {
	[N in OpName]: (typeof OPERATIONS)[N] extends { work: unknown } ? N : never;
}[OpName];
type DialectName = Exclude<OpName, SharedName | TableName>;
type DialectGroup = DialectName extends infer N ? (N extends `${infer G}.${string}` ? G : never) : never;

/** What a dialect implements of a group, synchronously. */
export type DialectHandlers<G extends DialectGroup> = {
	[N in DialectName as N extends `${G}.${infer M}` ? M : never]: Handler<N>;
};

/** All that a dialect implements, synchronously; or as methods of the contract. */
export type AllDialectHandlers = { [G in DialectGroup]: DialectHandlers<G> } & {
	[N in DialectName & ("identity" | "ping")]: Handler<N>;
};
export type AllDialectMethods = {
	[G in DialectGroup]: { [N in DialectName as N extends `${G}.${infer M}` ? M : never]: MethodOf<N> };
} & { [N in DialectName & ("identity" | "ping")]: MethodOf<N> };

/** The function of an operation among those of all groups. */
export function memberOf(groups: AllDialectHandlers | AllDialectMethods, name: OpName): unknown {
	const [group = "", method] = name.split(".");
	const members = (groups as unknown as Record<string, unknown>)[group];
	return method === undefined ? members : (members as Record<string, unknown>)[method];
}

/** The operations of the contract, each made by `operation`. */
export function storeOf(
	operation: (name: OpName) => (q: never) => Promise<unknown>,
): Pick<Store, Group | "identity" | "ping"> {
	const store: Record<string, unknown> = {};
	for (const name of OP_NAMES) {
		const [group = "", method] = name.split(".");
		if (method === undefined) store[name] = operation(name);
		else Object.assign((store[group] ??= {}) as object, { [method]: operation(name) });
	}
	return store as unknown as ReturnType<typeof storeOf>;
}

/** The store with inserts that call `sent` of their query: claims that are requested later run after them. */
export function withSentCallback<S extends Pick<Store, "jobs">>(store: S): S {
	const { jobs } = store;
	const insert: Store["jobs"]["insert"] = (q) => {
		const answer = jobs.insert(q);
		q.sent?.();
		return answer;
	};
	return { ...store, jobs: { ...jobs, insert } };
}
