/**
 * Sends changes of all endpoints to listeners (D39): one read for all of them, none without. Each
 * gets the endpoints that its key may read.
 */
import type { LocalMs } from "../../core/time.ts";
import type { WorkerReason } from "../../core/workers/worker-reason.ts";
import { loop, type Service } from "../../service.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import { may, type Principal } from "../access/keys.ts";
import type { EngineContext } from "../context.ts";
import type { EndpointSnapshot } from "./endpoint-snapshots.ts";
import type { RollingWindow } from "./rolling-window.ts";

/** Something is sent at least so often, ms, or proxies would close the connection. */
const KEEP_ALIVE_MS = 15_000;

/** Time until a failed read is repeated, and least time between two reads, ms. */
const RETRY_MS = 1000;
const PAUSE_MS = 50;

/** Maximum pause without listeners; a new one ends it. */
const IDLE_MS = 3_600_000;

export interface Listener {
	/** Who it is, as its key is now; undefined, when key or session has ended, removes it. */
	principal: () => Promise<Principal | undefined>;
	/** The only endpoint to send; absent: all that the key may read. */
	endpoint?: string | undefined;
	intervalMs: number;
	/** Gets JSON text, or undefined to keep the connection; false when it cannot take more now. */
	send: (text: string | undefined) => boolean;
	/** Nothing is sent any more. */
	closed: () => void;
}

export interface LiveFeed {
	service: Service;
	/** Sends at once, then after changes, at most every `intervalMs`. Returns what ends that. */
	listen(listener: Listener): () => void;
	/** Removes all listeners, also those added later. */
	close(): void;
}

interface Subscription extends Listener {
	/** When changes may be sent. */
	dueAt: LocalMs;
	/** When anything was last sent. */
	sentAt: LocalMs;
	/** The last change sent. */
	last?: string;
}

type Texts = ReadonlyMap<string, { admin: string; others: string }>;

interface Deps extends Pick<EngineContext, "clock" | "events" | "calendar"> {
	snapshots: () => Promise<EndpointSnapshot[]>;
	window: RollingWindow;
}

export function liveFeed(d: Deps): LiveFeed {
	const subscriptions = new Set<Subscription>();
	let readAt: LocalMs = -Infinity;
	let closed = false;

	/** Times as callers see them; output of workers only for admin keys. */
	const shown = ({ lastLine, retryAt, ...reason }: WorkerReason, admin: boolean): object => ({
		...reason,
		...(retryAt !== undefined && { retryAt: new Date(d.calendar.of(retryAt)).toISOString() }),
		...(admin && { lastLine }),
	});

	function textOf({ endpoint, paused, jobs, workers, health }: EndpointSnapshot, admin: boolean): string {
		const { id, name } = endpoint;
		const reason = health.reason && shown(health.reason, admin);
		return JSON.stringify({
			id,
			name,
			paused,
			health: { ...health, reason },
			queue: jobs,
			workers,
			...d.window.of(id),
		});
	}

	/** JSON texts by endpoint, for admin keys and for others. */
	async function read(): Promise<Texts> {
		await d.window.load();
		readAt = d.clock.now();
		return new Map(
			(await d.snapshots()).map((each) => {
				const text = textOf(each, true);
				const others = each.health.reason?.lastLine === undefined ? text : textOf(each, false);
				return [each.endpoint.id, { admin: text, others }];
			}),
		);
	}

	async function update(listener: Subscription, texts: Texts): Promise<void> {
		const principal = await listener.principal();
		if (!principal) return remove(listener);
		const now = d.clock.now();
		const visible = [...texts].filter(
			([id]) => (listener.endpoint === undefined || listener.endpoint === id) && may(principal, "read", id),
		);
		const text = `[${visible.map(([id, each]) => (may(principal, "admin", id) ? each.admin : each.others)).join(",")}]`;
		const hasChanged = text !== listener.last && now >= listener.dueAt;
		if (now >= listener.dueAt) listener.dueAt = now + listener.intervalMs;
		if (!hasChanged && now - listener.sentAt < KEEP_ALIVE_MS) return;
		if (
			!listener.send(
				hasChanged
					? `{"at":${JSON.stringify(new Date(d.calendar.now()).toISOString())},"endpoints":${text}}`
					: undefined,
			)
		)
			return;
		if (hasChanged) listener.last = text;
		listener.sentAt = now;
	}

	function remove(listener: Subscription): void {
		if (subscriptions.delete(listener)) listener.closed();
	}

	const updates = loop({
		clock: d.clock,
		retryMs: RETRY_MS,
		onError: (error) => {
			// `store.away` reports an unavailable store.
			if (!(error instanceof StoreUnavailable)) d.events.emit("fault", { where: "reading all endpoints", error });
		},
		step: async () => {
			const wait = readAt + PAUSE_MS - d.clock.now();
			if (subscriptions.size > 0 && wait > 0) return wait;
			const nextAt = ({ dueAt, sentAt }: Subscription): LocalMs => Math.min(dueAt, sentAt + KEEP_ALIVE_MS);
			const due = (): Subscription[] => [...subscriptions].filter((listener) => nextAt(listener) <= d.clock.now());
			if (due().length > 0) {
				const texts = await read();
				for (const listener of due()) await update(listener, texts);
			}
			return Math.min(
				IDLE_MS,
				...[...subscriptions].map((listener) => Math.max(PAUSE_MS, nextAt(listener) - d.clock.now())),
			);
		},
	});

	return {
		service: updates,
		listen(given) {
			const listener: Subscription = { ...given, dueAt: -Infinity, sentAt: -Infinity };
			if (closed) {
				given.closed();
				return () => {};
			}
			subscriptions.add(listener);
			updates.nudge();
			return () => void subscriptions.delete(listener);
		},
		close() {
			closed = true;
			for (const listener of [...subscriptions]) remove(listener);
		},
	};
}
