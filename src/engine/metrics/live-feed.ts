/**
 * What is told live of all endpoints (D39): one look for everybody who listens, none while nobody
 * does; each hears what he may see, when it has changed.
 */
import type { Clock } from "../../clock.ts";
import type { EventBus } from "../../events.ts";
import { loop } from "../../service.ts";
import type { Service } from "../../service.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import { may } from "../access/keys.ts";
import type { KeyStoreAccess } from "../access/keys.ts";
import type { EndpointSnapshot } from "../endpoints/endpoint-snapshots.ts";
import type { RollingWindow } from "./rolling-window.ts";

/**
 * A listener hears something at least so often, ms, or proxies would take its connection for dead.
 */
const SIGN_OF_LIFE_MS = 15_000;

/**
 * Time until a look that the store refused is tried again, ms; and between two looks for those who
 * come one after the other.
 */
const RETRY_MS = 1000;
const PAUSE_MS = 50;

/** While nobody listens nothing wakes the loop but somebody who comes. */
const NOBODY_MS = 3_600_000;

/** Who listens. */
export interface Listener {
	/** Id of the key behind it: with the end of the key it hears no more. */
	keyId: string;
	/** The only endpoint it wants to hear of; absent: all that the key may read. */
	endpoint?: string | undefined;
	intervalMs: number;
	/** Takes JSON text, or undefined for a mere sign of life; false when it cannot take more now. */
	hear: (text: string | undefined) => boolean;
	/** Nothing comes any more. */
	over: () => void;
}

export interface LiveFeed {
	loop: Service;
	/** Tells at once, then after changes, at most every `intervalMs`; the answer ends that. */
	listen(listener: Listener): () => void;
	/** Ends all, also those who come later. */
	close(): void;
}

interface Listening extends Listener {
	/** From when it may be told something new. */
	tellAt: number;
	/** When it last heard anything. */
	heardAt: number;
	/** What it heard last. */
	last?: string;
}

interface Deps {
	clock: Clock;
	events: EventBus;
	keys: Pick<KeyStoreAccess, "holder">;
	present: () => Promise<EndpointSnapshot[]>;
	recent: RollingWindow;
	now: () => number;
}

export function liveFeed(d: Deps): LiveFeed {
	const listening = new Set<Listening>();
	let lookedAt = -Infinity;
	let closed = false;

	/** JSON texts by endpoint. */
	async function look(): Promise<Map<string, string>> {
		await d.recent.load();
		lookedAt = d.clock.now();
		return new Map(
			(await d.present()).map(({ endpoint: { id, name }, paused, jobs, workers }) => [
				id,
				JSON.stringify({ id, name, paused, queue: jobs, workers, ...d.recent.of(id) }),
			]),
		);
	}

	async function tell(listener: Listening, texts: ReadonlyMap<string, string>): Promise<void> {
		const holder = await d.keys.holder(listener.keyId);
		if (!holder) return end(listener);
		const now = d.clock.now();
		const seen = [...texts].filter(
			([id]) =>
				(listener.endpoint === undefined || listener.endpoint === id) &&
				may(holder.principal, "read", id),
		);
		const text = `[${seen.map(([, each]) => each).join(",")}]`;
		const isNews = text !== listener.last && now >= listener.tellAt;
		if (now >= listener.tellAt) listener.tellAt = now + listener.intervalMs;
		if (!isNews && now - listener.heardAt < SIGN_OF_LIFE_MS) return;
		if (
			!listener.hear(
				isNews
					? `{"at":${JSON.stringify(new Date(d.now()).toISOString())},"endpoints":${text}}`
					: undefined,
			)
		)
			return;
		if (isNews) listener.last = text;
		listener.heardAt = now;
	}

	function end(listener: Listening): void {
		if (listening.delete(listener)) listener.over();
	}

	const looking = loop({
		clock: d.clock,
		retryMs: RETRY_MS,
		onError: (error) => {
			// Others tell that the store is away.
			if (!(error instanceof StoreUnavailable))
				d.events.emit("fault", { where: "looking at all endpoints", error });
		},
		step: async () => {
			const wait = lookedAt + PAUSE_MS - d.clock.now();
			if (listening.size > 0 && wait > 0) return wait;
			const dueAt = ({ tellAt, heardAt }: Listening): number =>
				Math.min(tellAt, heardAt + SIGN_OF_LIFE_MS);
			const due = (): Listening[] =>
				[...listening].filter((listener) => dueAt(listener) <= d.clock.now());
			if (due().length > 0) {
				const texts = await look();
				for (const listener of due()) await tell(listener, texts);
			}
			return Math.min(
				NOBODY_MS,
				...[...listening].map((listener) => Math.max(PAUSE_MS, dueAt(listener) - d.clock.now())),
			);
		},
	});

	return {
		loop: looking,
		listen(given) {
			const listener: Listening = { ...given, tellAt: -Infinity, heardAt: -Infinity };
			if (closed) {
				given.over();
				return () => {};
			}
			listening.add(listener);
			looking.nudge();
			return () => void listening.delete(listener);
		},
		close() {
			closed = true;
			for (const listener of [...listening]) end(listener);
		},
	};
}
