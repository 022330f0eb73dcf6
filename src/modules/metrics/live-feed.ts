/** Sends changes of endpoints to listeners (D39). One read serves all of them; each gets what its key may read. */
import type { LocalMs } from "../../kernel/lib/time.ts";
import type { WorkerReason } from "../../kernel/core/workers/worker-reason.ts";
import { loop } from "../../kernel/system/loop.ts";
import { may, type Principal } from "../../kernel/engine/access/keys.ts";
import { type EngineContext, unlessUnavailable } from "../../kernel/engine/context.ts";
import type { EndpointSnapshot } from "../../kernel/engine/metrics/health.ts";
import type { rollingWindow } from "./rolling-window.ts";

/** Something is sent this often, because proxies close silent connections. */
const KEEP_ALIVE_MS = 15_000;

const RETRY_MS = 1000;
const PAUSE_MS = 50;

/** Pause without listeners; a new one ends it. */
const IDLE_MS = 3_600_000;

export interface Listener {
	/** The caller as its key is now; undefined, when key or session has ended, removes the listener. */
	principal: () => Promise<Principal | undefined>;
	/** Absent: all that the key may read. */
	endpoint?: string | undefined;
	intervalMs: number;
	/** Gets JSON text, or undefined to keep the connection. Returns false when it cannot take more now. */
	send: (text: string | undefined) => boolean;
	closed: () => void;
}

interface Subscription extends Listener {
	dueAt: LocalMs;
	sentAt: LocalMs;
	last?: string;
}

type Texts = ReadonlyMap<string, { admin: string; others: string }>;

export function liveFeed(
	d: EngineContext & { snapshots: () => Promise<EndpointSnapshot[]>; window: ReturnType<typeof rollingWindow> },
) {
	const subscriptions = new Set<Subscription>();
	let readAt: LocalMs = -Infinity;
	let closed = false;

	/** Only admin keys see output of workers. */
	const shown = ({ lastLine, retryAt, ...reason }: WorkerReason, admin: boolean): object => ({
		...reason,
		...(retryAt !== undefined && { retryAt: new Date(d.calendar.of(retryAt)).toISOString() }),
		...(admin && { lastLine }),
	});

	function textOf({ endpoint, paused, jobs, workers, health }: EndpointSnapshot, admin: boolean): string {
		const { id, name } = endpoint;
		const reason = health.reason && shown(health.reason, admin);
		const state = { ...health, reason };
		return JSON.stringify({ id, name, paused, health: state, queue: jobs, workers, ...d.window.of(id) });
	}

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
		const at = new Date(d.calendar.now()).toISOString();
		if (!listener.send(hasChanged ? `{"at":"${at}","endpoints":${text}}` : undefined)) return;
		if (hasChanged) listener.last = text;
		listener.sentAt = now;
	}

	function remove(listener: Subscription): void {
		if (subscriptions.delete(listener)) listener.closed();
	}

	const updates = loop({
		clock: d.clock,
		retryMs: RETRY_MS,
		onError: unlessUnavailable(d, "reading all endpoints"),
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
		/** Sends at once, then after changes, at most every `intervalMs`. The returned function ends it. */
		listen(given: Listener): () => void {
			const listener: Subscription = { ...given, dueAt: -Infinity, sentAt: -Infinity };
			if (closed) {
				given.closed();
				return () => {};
			}
			subscriptions.add(listener);
			updates.nudge();
			return () => void subscriptions.delete(listener);
		},
		close(): void {
			closed = true;
			for (const listener of [...subscriptions]) remove(listener);
		},
	};
}
