/** Reads of the HTTP server behind an endpoint: its preset and mapping, and what its workers say about it. */
import { ask, Failure, ofEndpoint, search } from "../../client/api.ts";
import type { EndedWorker, Endpoint, FoundLine, HttpPreset, Worker } from "../../client/shapes.ts";
import { type HttpMapping, type HttpServer, presetOf, type Readiness, readinessOf } from "./server-state.ts";

export interface Presets {
	presets: readonly HttpPreset[];
	/** Types of launchers whose workers can be HTTP servers. */
	launchers: readonly string[];
}

export function hasHttp(endpoint: Endpoint): boolean {
	return "http" in endpoint;
}

/** No presets where the service has no HTTP workers. */
export async function readPresets(signal: AbortSignal): Promise<Presets> {
	return await ask<Presets>("v1/http-presets", { signal }).catch((error: unknown) => {
		if (error instanceof Failure && error.status === 404) return { presets: [], launchers: [] };
		throw error;
	});
}

/** Of an endpoint with the setting http. */
export async function readServer(endpoint: string, signal: AbortSignal): Promise<HttpServer> {
	const { http, mapping } = await ask<{ http: unknown; mapping: HttpMapping }>(ofEndpoint(endpoint, "/http"), {
		signal,
	});
	return { preset: presetOf(http), mapping };
}

/** How the adapter's line begins that has the server's last answer, while it waits for the server. */
const WAITING = "Waiting for the server:";

/** `admin`: the log of a worker may be read. */
export async function readReadiness(endpoint: string, admin: boolean, signal: AbortSignal): Promise<Readiness> {
	const { workers, ended } = await ask<{ workers: Worker[]; ended: EndedWorker[] }>(
		ofEndpoint(endpoint, "/workers?ended=true"),
		{ signal },
	);
	const starting = workers.find(({ state, launcher }) => state === "initializing" && launcher !== "external");
	if (!admin || !starting) return readinessOf(workers, ended, undefined);
	const query = search({ worker: starting.id, search: WAITING, limit: 1 });
	const found = await ask<{ lines: FoundLine[] }>(ofEndpoint(endpoint, `/logs${query}`), { signal }).catch(
		(error: unknown) => {
			// Without it the state is shown alone.
			if (error instanceof Failure) return { lines: [] };
			throw error;
		},
	);
	return readinessOf(workers, ended, found.lines[0]?.text);
}
