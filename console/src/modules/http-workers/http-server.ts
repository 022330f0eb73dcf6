/** The HTTP server behind an endpoint: what the service knows of it, and what its workers say about it. */
import { ask, Failure, ofEndpoint, search } from "../../client/api.ts";
import type { EndedWorker, Endpoint, FoundLine, HttpPreset, Worker } from "../../client/shapes.ts";

export interface Presets {
	presets: readonly HttpPreset[];
	/** Types of launchers whose workers can be HTTP servers. */
	launchers: readonly string[];
}

/** The parts of a mapping that pages show or decide by. */
export interface HttpMapping {
	port?: number;
	socket?: string;
	url?: string;
	openai?: { routes?: readonly string[] };
}

export interface HttpServer {
	preset: string;
	mapping: HttpMapping;
}

const CHAT_ROUTE = "POST /v1/chat/completions";

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

export function presetOf(http: unknown): string {
	const { preset = "raw" } = typeof http === "string" ? { preset: http } : (http as { preset?: string });
	return preset;
}

/** Whether the server is a language model with OpenAI's chats. */
export function isChat({ openai }: HttpMapping): boolean {
	return openai?.routes?.includes(CHAT_ROUTE) ?? false;
}

/** Where the server listens. Undefined if only `sluice connect` knows. */
export function placeOf({ port, socket, url }: HttpMapping): { port: number } | { address: string } | undefined {
	if (port !== undefined) return { port };
	const address = socket ?? url;
	return address === undefined ? undefined : { address };
}

export interface Readiness {
	state: "ready" | "asleep" | "starting" | "unready" | "none";
	/** Number of workers in this state. */
	workers: number;
	/** What the server answered last, as a worker reported it. */
	answer?: string | undefined;
}

/** A worker takes jobs only when its server is ready. `waiting`: the last line of one that starts. */
export function readinessOf(
	workers: readonly Worker[],
	ended: readonly EndedWorker[],
	waiting: string | undefined,
): Readiness {
	const count = (...states: Worker["state"][]): number => workers.filter(({ state }) => states.includes(state)).length;
	const ready = count("idle", "running");
	if (ready > 0) return { state: "ready", workers: ready };
	const last = ended[0]?.lastLine;
	const starting = count("initializing");
	if (starting > 0) return { state: "starting", workers: starting, answer: waiting ?? last };
	const asleep = count("asleep");
	if (asleep > 0) return { state: "asleep", workers: asleep };
	return last === undefined ? { state: "none", workers: 0 } : { state: "unready", workers: 0, answer: last };
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
