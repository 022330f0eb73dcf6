/** Every operation of the contract, complete by its type. */
import type { JsonText } from "../../lib/json/json-text.ts";
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
import type { Store } from "../contract/store.ts";
import { batches } from "../tables/batches.ts";
import { files } from "../tables/files.ts";
import { objects } from "../tables/objects.ts";
import { documents, audit, metrics } from "../tables/records.ts";
import { endpoints, releases, resources } from "../tables/endpoints.ts";
import { hosts, workerRows } from "../tables/workers.ts";
import { keys, tokens, registries, sessions } from "../tables/access.ts";
import { limits, time } from "../tables/cluster.ts";
import { webhooks } from "../tables/webhooks.ts";
import * as workers from "./workers.ts";

/**
 * Names the operations of a group in the order of `operations`, which numbers them. The order of a module's namespace
 * may differ between threads.
 */
function named<G extends Group, O extends object>(group: G, operations: O) {
	const entries = Object.entries(operations).map(([method, operation]) => [`${group}.${method}`, operation] as const);
	return Object.fromEntries(entries) as { [M in keyof O & string as `${G}.${M}`]: O[M] };
}

export const OPERATIONS = {
	"jobs.insert": insert,
	"jobs.get": jobs.get,
	"jobs.counts": perDialect("fresh"),
	"jobs.allCounts": perDialect("fresh"),
	"jobs.stored": perDialect("read"),
	"jobs.oldestWaiting": perDialect("fresh"),
	"jobs.waiting": perDialect("fresh"),
	"jobs.claim": perDialect("claim"),
	"jobs.report": jobs.report,
	"jobs.progress": jobs.progress,
	"jobs.renew": jobs.renew,
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
	...named("endpoints", endpoints),
	"endpoints.forget": perDialect("write"),
	...named("workers", workerRows),
	"workers.ping": workers.ping,
	"workers.idle": workers.idle,
	"workers.renew": workers.renew,
	...named("hosts", hosts),
	...named("tokens", tokens),
	...named("keys", keys),
	...named("sessions", sessions),
	...named("registries", registries),
	...named("releases", releases),
	...named("resources", resources),
	...named("audit", audit),
	...named("files", files),
	...named("batches", batches),
	...named("objects", objects),
	...named("webhooks", webhooks),
	"webhooks.claim": perDialect("write"),
	"webhooks.body": perDialect("read"),
	"webhooks.input": perDialect("read"),
	"webhooks.tried": perDialect("write"),
	"webhooks.expire": perDialect("write"),
	...named("metrics", metrics),
	...named("limits", limits),
	"secrets.jobs": perDialect("read"),
	"secrets.replaceJob": jobs.replaceSealed,
	"secrets.replaceEndpoint": perDialect("write"),
	"secrets.replaceCheck": perDialect("write"),
	...named("time", time),
	...named("documents", documents),
	identity: perDialect("read"),
	ping: perDialect("write"),
} as const satisfies { [N in OpName]: Operation<N> };

export const OP_NAMES = Object.keys(OPERATIONS) as OpName[];

/** Returns the characters of payload in a query, counted by `size`; limits the size of batches. */
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

/** Whether an operation works while the store cannot write (D40). */
export function isRead(name: string): boolean {
	const { kind } = OPERATIONS[name as OpName];
	return kind === "read" || kind === "fresh";
}

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

export type DialectHandlers<G extends DialectGroup> = {
	[N in DialectName as N extends `${G}.${infer M}` ? M : never]: Handler<N>;
};

export type AllDialectHandlers = { [G in DialectGroup]: DialectHandlers<G> } & {
	[N in DialectName & ("identity" | "ping")]: Handler<N>;
};
export type AllDialectMethods = {
	[G in DialectGroup]: { [N in DialectName as N extends `${G}.${infer M}` ? M : never]: MethodOf<N> };
} & { [N in DialectName & ("identity" | "ping")]: MethodOf<N> };

export function memberOf(groups: AllDialectHandlers | AllDialectMethods, name: OpName): unknown {
	const [group = "", method] = name.split(".");
	const members = (groups as unknown as Record<string, unknown>)[group];
	return method === undefined ? members : (members as Record<string, unknown>)[method];
}

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

/** Makes inserts call `sent` of their query: claims that are requested later run after them. */
export function withSentCallback<S extends Pick<Store, "jobs">>(store: S): S {
	const { jobs } = store;
	const insert: Store["jobs"]["insert"] = (q) => {
		const answer = jobs.insert(q);
		q.sent?.();
		return answer;
	};
	return { ...store, jobs: { ...jobs, insert } };
}
