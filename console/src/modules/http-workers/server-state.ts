/** What is known of the HTTP server behind an endpoint, from its mapping and its workers. */
import type { EndedWorker, Worker } from "../../client/shapes.ts";

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
