/** The endpoints of a run: who uses them, their settings, how they are made. */
import { KEY } from "../support/service.ts";
import type { Api } from "./api.ts";
import type { EndpointName } from "./plan.ts";
import type { Endpoints } from "./site.ts";
import type { Tracker } from "./tracker.ts";

const LEASE_MS = 5000;
const QUEUE_LIMIT = 60;

/** How long results are kept, and records after them, ms. */
export interface Retention {
	bulk: number;
	others: number;
	records: number;
}

/** Jobs of `bulk` are many; webhooks of others take longer. */
const RETENTION: Retention = { bulk: 180_000, others: 600_000, records: 0 };

/** Submissions in flight to servers that share a store. */
export const QUEUE_SLACK = 8;

interface Described {
	retention?: Retention;
	/** Servers share the store: by how many submissions the queue limit may be exceeded (D23). */
	shared?: { queueSlack: number };
}

interface Part {
	clients: number;
	workers: number;
	concurrency: number;
	/** Part of the takes after which a worker crashes. */
	crashes: number;
	/** Its workers send no pings and ask for no stops. */
	silent?: true;
}

export const PARTS: Record<EndpointName, Part> = {
	bulk: { clients: 64, workers: 4, concurrency: 64, crashes: 1 / 1000 },
	mixed: { clients: 6, workers: 3, concurrency: 8, crashes: 1 / 100 },
	stream: { clients: 4, workers: 2, concurrency: 4, crashes: 1 / 50 },
	lapse: { clients: 2, workers: 0, concurrency: 1, crashes: 0 },
	queue: { clients: 4, workers: 1, concurrency: 2, crashes: 0 },
	purge: { clients: 2, workers: 1, concurrency: 4, crashes: 0 },
	// Its leases end while no take is open, and no other worker takes what it has lost.
	plain: { clients: 16, workers: 1, concurrency: 8, crashes: 0, silent: true },
};

export const NAMES = Object.keys(PARTS) as EndpointName[];

/**
 * Endpoints that operators make and change. A server that starts sets the others, which are in its configuration file,
 * to what that says.
 */
const CHANGED: readonly EndpointName[] = ["mixed", "plain"];

/** Settings of the endpoints of a run that are in the configuration file. */
export function endpointsWith(retention: Retention): Endpoints {
	return settingsOf(
		NAMES.filter((name) => !CHANGED.includes(name)),
		retention,
	);
}

const OFF = { per10s: "off", concurrent: "off" };
const NO_RATES = { run: OFF, runsync: OFF, status: OFF };

function settingsOf(names: readonly EndpointName[], { bulk, others, records }: Retention): Endpoints {
	return Object.fromEntries(
		names.map((name) => {
			const kept = name === "bulk" ? bulk : others;
			const settings = {
				launcher: { type: "external" },
				leaseMs: LEASE_MS,
				limits: name === "queue" ? { queue: QUEUE_LIMIT, ...NO_RATES } : "off",
				retention: { run: kept, runsync: kept, records },
			};
			return [name, settings];
		}),
	);
}

export const ENDPOINTS = endpointsWith(RETENTION);

/** Settings of those that are not in it. */
export const changedEndpoints = (retention = RETENTION): Endpoints => settingsOf(CHANGED, retention);

/** Writes into the history what holds for the endpoints. */
export function describe(tracker: Tracker, { shared, retention = RETENTION }: Described): void {
	for (const id of NAMES) {
		const kept = id === "bulk" ? retention.bulk : retention.others;
		tracker.record({
			op: "endpoint",
			id,
			leaseMs: LEASE_MS,
			retentionMs: { run: kept, runsync: kept },
			...(id === "queue" ? { queue: { limit: QUEUE_LIMIT, slack: shared?.queueSlack ?? 0 } } : {}),
			...(shared ? { repeats: true as const } : {}),
		});
	}
}

/** A token of each endpoint, good for all of its workers. */
export async function tokensOf(api: Api): Promise<Map<EndpointName, string>> {
	const tokens = new Map<EndpointName, string>();
	for (const name of NAMES) {
		const url = api.url(0);
		const query = `?replicas=true&url=${encodeURIComponent(url)}`;
		const { json, text } = await api.call(`${url}/v1/endpoints/${name}/worker-env${query}`, {
			method: "POST",
			token: KEY,
		});
		if (!json?.env) throw new Error(`no token for workers of ${name}: ${text}`);
		tokens.set(name, json.env.RUNPOD_AI_API_KEY as string);
	}
	return tokens;
}
