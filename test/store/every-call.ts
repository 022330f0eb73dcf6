/**
 * One call of every operation of the contract, by its name, as a store without any rows takes it.
 */
import type { Store } from "../../src/kernel/store/contract/store.ts";
import { sessionRow } from "./sessions.ts";
import { resourceRow } from "./resources.ts";
import { batchRow } from "./batches.ts";
import { fileRow } from "./files.ts";
import { objectRow } from "./objects.ts";
import { endedWorker } from "./ended-workers.ts";
import { nextId, siteOf, T0 } from "./site.ts";

type Calls = Readonly<Record<string, () => Promise<unknown>>>;

const now = T0;

/** The calls of a store that several servers can open. */
export function everyCall(store: Store): Calls {
	const { cluster, pieces } = store;
	if (!cluster || !pieces) throw new Error("Only one server can open this store.");
	const site = siteOf(store);
	const { endpoint } = site;
	const named = { endpoint, id: nextId(), now };
	const of = { endpoint, worker: "w1", now };
	const { objects } = store;
	const at = { endpoint, bucket: "b", key: "k" };
	const room = { endpointBytes: 9, totalBytes: 9 };
	const part = { number: 1, file: named.id, bytes: 1, etag: "e", createdAt: now };
	const object = objectRow({ ...at, content: named.id });
	return {
		"jobs.insert": () => site.insert(),
		"jobs.get": () => store.jobs.get(named),
		"jobs.counts": () => store.jobs.counts({ endpoint, now }),
		"jobs.allCounts": () => store.jobs.allCounts({ now }),
		"jobs.waiting": () => store.jobs.waiting({ endpoint, now }),
		"jobs.claim": () => site.take(),
		"jobs.report": () => site.report(named.id),
		"jobs.progress": () => store.jobs.progress({ ...named, worker: "w1", value: "1" }),
		"jobs.renew": () => store.jobs.renew({ ...named, worker: "w1" }),
		"jobs.move": () => site.move(named.id, "cancel"),
		"jobs.retain": () => site.retain(named.id, 1),
		"jobs.purge": () => site.purge(),
		"jobs.cancelAll": () => site.cancelAll(),
		"jobs.list": () => site.list(),
		"jobs.record": () => store.jobs.record(named),
		"jobs.oldestWaiting": () => store.jobs.oldestWaiting({ now }),
		"jobs.stored": () => store.jobs.stored(),
		"jobs.settle": () => site.settle(now),
		"jobs.extendAll": () => store.jobs.extendAll({ now }),
		"jobs.running": () => store.jobs.running(),
		"jobs.unstopped": () => store.jobs.unstopped(),
		"jobs.attempts": () => store.jobs.attempts(named),
		"chunks.append": () => store.chunks.append({ ...named, worker: "w1", chunks: ["1"], unlessLast: false }),
		"chunks.read": () => store.chunks.read({ ...named, from: 0, maxBytes: 1 }),
		"chunks.reserve": () => store.chunks.reserve({ ...named, reader: "r", maxBytes: 1 }),
		"chunks.deliver": () => store.chunks.deliver({ ...named, reader: "r", delivered: true }),
		"endpoints.put": () => store.endpoints.put({ id: endpoint, settings: "{}", now }),
		"endpoints.list": () => store.endpoints.list(),
		"endpoints.pause": () => store.endpoints.pause({ id: endpoint, paused: true }),
		"endpoints.remove": () => store.endpoints.remove({ id: "none" }),
		"endpoints.forget": () => store.endpoints.forget({ id: "none", now }),
		"workers.put": () => store.workers.put({ id: "w1", endpoint, launcher: "external", createdAt: now }),
		"workers.list": () => store.workers.list(),
		"workers.replaceHandle": () => store.workers.replaceHandle({ id: "w1", from: "{}", to: "{}" }),
		"workers.remove": () => store.workers.remove({ id: "w1" }),
		"workers.end": () => store.workers.end({ worker: endedWorker({ endpoint }), count: 1, since: now }),
		"workers.ended": () => store.workers.ended({ endpoint, since: now, limit: 1 }),
		"workers.ping": () => store.workers.ping({ ...of, named: [], handedBefore: now, intervalMs: 0 }),
		"workers.idle": () => store.workers.idle({ ...of, before: now }),
		"workers.renew": () => store.workers.renew(of),
		"hosts.drained": () => store.hosts.drained(),
		"hosts.drain": () => store.hosts.drain({ name: "rig1", drained: true, now }),
		"tokens.put": () => store.tokens.put({ hash: "h", endpoint, createdAt: now }),
		"tokens.find": () => store.tokens.find({ hash: "h" }),
		"tokens.list": () => store.tokens.list(),
		"tokens.remove": () => store.tokens.remove({ worker: "w1" }),
		"keys.insert": () =>
			store.keys.insert({
				row: { id: nextId(), hash: nextId(), name: "k", scopes: ["read"], createdAt: now },
				ifNone: false,
			}),
		"keys.find": () => store.keys.find({ hash: "h" }),
		"keys.list": () => store.keys.list(),
		"keys.used": () => store.keys.used({ id: named.id, now }),
		"keys.rotate": () => store.keys.rotate({ id: named.id, hash: nextId() }),
		"keys.remove": () => store.keys.remove({ id: named.id, now }),
		"sessions.insert": () =>
			store.sessions.insert({
				row: sessionRow(1, { id: nextId(), hash: nextId() }),
				atMost: 9,
				usedSince: now,
				now,
			}),
		"sessions.find": () => store.sessions.find({ hash: "h" }),
		"sessions.list": () => store.sessions.list(),
		"sessions.used": () => store.sessions.used({ id: named.id, now, address: "" }),
		"sessions.remove": () => store.sessions.remove({ id: named.id }),
		"sessions.removeAll": () => store.sessions.removeAll({ keyId: "none" }),
		"audit.append": () =>
			store.audit.append({
				entry: {
					at: now,
					keyId: "k",
					keyName: "k",
					address: "",
					action: "a",
					subject: [],
					result: "ok",
				},
			}),
		"files.insert": () => store.files.insert({ row: fileRow({ endpoint }), endpointBytes: 9, totalBytes: 9 }),
		"files.find": () => store.files.find(named),
		"files.list": () => store.files.list({ endpoint, order: "asc", limit: 1, now }),
		"files.remove": () => store.files.remove(named),
		"files.expire": () => store.files.expire({ now, limit: 1 }),
		"files.unknown": () => store.files.unknown({ ids: ["none"] }),
		"files.totals": () => store.files.totals(),
		"objects.put": () => objects.put({ object, file: fileRow({ endpoint }), ifAbsent: false, now, ...room }),
		"objects.copy": () =>
			objects.copy({ from: at, object: { ...at, key: "c", createdAt: now, headers: undefined }, now }),
		"objects.find": () => objects.find({ ...at, now }),
		"objects.list": () => objects.list({ ...at, prefix: "", delimiter: "", after: "", limit: 1, now }),
		"objects.inFolder": () => objects.inFolder({ endpoint, folder: "f", now, limit: 1 }),
		"objects.remove": () => objects.remove({ ...at, keys: ["none"] }),
		"objects.removeFolder": () => objects.removeFolder({ endpoint, folder: "f", limit: 1 }),
		"objects.expire": () => objects.expire({ now, uploadsBefore: 0, limit: 1 }),
		"objects.buckets": () => objects.buckets({ endpoint }),
		"objects.hasBucket": () => objects.hasBucket({ endpoint, name: "b" }),
		"objects.createBucket": () => objects.createBucket({ endpoint, name: nextId(), createdAt: now }),
		"objects.removeBucket": () => objects.removeBucket({ endpoint, name: "none", now }),
		"objects.createUpload": () =>
			objects.createUpload({ upload: { ...at, id: nextId(), headers: "{}", createdAt: now } }),
		"objects.findUpload": () => objects.findUpload({ ...at, id: "none" }),
		"objects.uploads": () => objects.uploads({ ...at, prefix: "", after: { key: "", id: "" }, limit: 1 }),
		"objects.putPart": () => objects.putPart({ upload: "none", part, row: fileRow({ endpoint }), ...room }),
		"objects.parts": () => objects.parts({ upload: "none", after: 0, limit: 1 }),
		"objects.complete": () => objects.complete({ object, parts: [], maxBytes: 1, ifAbsent: false, now }),
		"objects.abort": () => objects.abort({ ...at, id: "none" }),
		"batches.insert": () => store.batches.insert({ row: batchRow({ endpoint }), repeatsSince: now }),
		"batches.find": () => store.batches.find(named),
		"batches.list": () => store.batches.list({ endpoint, limit: 1 }),
		"batches.open": () => store.batches.open({ limit: 1 }),
		"batches.replace": () => store.batches.replace({ ...named, version: 1, isOpen: false, progress: "{}" }),
		"batches.cancel": () => store.batches.cancel(named),
		"batches.expire": () => store.batches.expire({ before: now, limit: 1 }),
		"pieces.put": () => pieces.put({ file: named.id, number: 0, bytes: Buffer.from("a"), now }),
		"pieces.get": () => pieces.get({ file: named.id, number: 0, into: Buffer.alloc(1) }),
		"pieces.touch": () => pieces.touch({ file: named.id, now }),
		"pieces.remove": () => pieces.remove({ file: named.id }),
		"pieces.sweep": () => pieces.sweep({ before: 0 }),
		"audit.list": () => store.audit.list({ limit: 1 }),
		"audit.expire": () => store.audit.expire({ before: now, limit: 1 }),
		"webhooks.claim": () => store.webhooks.claim({ limit: 1, each: 1, skip: [], holdMs: 1, now }),
		"webhooks.body": () => store.webhooks.body(named),
		"webhooks.input": () => store.webhooks.input(named),
		"webhooks.tried": () => store.webhooks.tried({ id: named.id, tried: { at: now, tookMs: 1 }, state: "failed" }),
		"webhooks.pending": () => store.webhooks.pending({ atMost: 1 }),
		"webhooks.redeliver": () => store.webhooks.redeliver(named),
		"webhooks.find": () => store.webhooks.find(named),
		"webhooks.list": () => store.webhooks.list({ limit: 1 }),
		"webhooks.expire": () => store.webhooks.expire({ before: now, limit: 1 }),
		"metrics.put": () => store.metrics.put({ rows: [{ endpoint, step: 60_000, at: now, source: "s", tally: "[]" }] }),
		"metrics.read": () => store.metrics.read({ step: 60_000, from: now, to: now + 1 }),
		"metrics.expire": () => store.metrics.expire({ step: 60_000, before: now, limit: 1 }),
		"cluster.servers": () => cluster.servers({ now }),
		"cluster.beat": () =>
			cluster.beat({
				server: "s",
				run: "r",
				url: "u",
				startedAt: now,
				first: true,
				bury: true,
				aliveMs: 1000,
				known: new Map(),
				now,
			}),
		"cluster.leave": () => cluster.leave({ server: "s", run: "r" }),
		"cluster.lead": () => cluster.lead({ names: ["a"], atMost: 1, server: "s", run: "r" }),
		"cluster.yield": () => cluster.yield({ names: ["a"], server: "s" }),
		"cluster.clock": () => cluster.clock(),
		"cluster.standbys": () => cluster.standbys(),
		"cluster.over": () => cluster.over({ jobs: [named] }),
		"cluster.running": () => cluster.running({ endpoint }),
		"cluster.versions": () => cluster.versions(),
		"documents.read": () => store.documents.read("a"),
		"documents.replace": () => store.documents.replace({ name: "a", from: undefined, to: "{}" }),
		"limits.put": () => store.limits.put({ run: "r", server: "s", at: now, counts: "{}" }),
		"limits.list": () => store.limits.list({ after: now }),
		"limits.expire": () => store.limits.expire({ until: now - 1000 }),
		"releases.heads": () => store.releases.heads(),
		"releases.list": () => store.releases.list({ endpoint, before: 9, limit: 9 }),
		"releases.size": () => store.releases.size({ endpoint, before: 9, limit: 9 }),
		"releases.find": () => store.releases.find({ endpoint, version: 9 }),
		"releases.prove": () => store.releases.prove({ endpoint, version: 9 }),
		"releases.crashed": () => store.releases.crashed({ endpoint, version: 9 }),
		"releases.replace": () => store.releases.replace({ endpoint, version: 9, from: "a", to: "b" }),
		"registries.put": () =>
			store.registries.put({
				row: { registry: "r", username: "u", password: "p", updatedAt: now },
			}),
		"resources.insert": () => store.resources.insert({ row: resourceRow(), atMost: 9 }),
		"resources.list": () => store.resources.list({ kind: "template" }),
		"resources.named": () => store.resources.named({ kind: "template", name: "none" }),
		"resources.page": () => store.resources.page({ kind: "template", limit: 1 }),
		"resources.size": () => store.resources.size({ kind: "template", limit: 1 }),
		"resources.find": () => store.resources.find({ kind: "template", id: "none" }),
		"resources.update": () => store.resources.update({ row: resourceRow(), from: 1 }),
		"resources.remove": () => store.resources.remove({ kind: "template", id: "none" }),
		"registries.list": () => store.registries.list(),
		"registries.remove": () => store.registries.remove({ registry: "none" }),
		"registries.replace": () => store.registries.replace({ registry: "none", from: "a", to: "b" }),
		"secrets.jobs": () => store.secrets.jobs({}),
		"secrets.replaceJob": () => store.secrets.replaceJob({ ...named, from: "a", to: "b" }),
		"secrets.replaceEndpoint": () =>
			store.secrets.replaceEndpoint({ id: "none", from: { settings: "a" }, to: { settings: "b" } }),
		"secrets.replaceCheck": () => store.secrets.replaceCheck({ from: "a", to: "b" }),
		"time.read": () => store.time.read(),
		"time.seen": () => store.time.seen({ at: now, wall: now }),
		ping: () => store.ping(),
	};
}

/** Names of all operations of a store that ask its database. */
export function operationsOf(store: Store): string[] {
	const groups = Object.entries(store).flatMap(([group, methods]) =>
		typeof methods === "object" ? Object.keys(methods).map((method) => `${group}.${method}`) : [],
	);
	return [...groups, "ping"];
}
