/** Answers to `GET /v1/models` by endpoint: a list that is known needs no worker (D32). */
import type { Kernel } from "../../kernel/module.ts";
import type { EpochMs } from "../../kernel/lib/time.ts";

export const MODELS_ROUTE = "/v1/models";

/** While workers run, a list that is older is asked for again, ms. */
const FRESH_MS = 120_000;
/** Endpoints whose lists are kept, those that were asked for last, and characters of one. */
const MAX_LISTS = 256;
const MAX_LENGTH = 65_536;

/** The release of an endpoint. One with the same id may have been deleted. */
export interface ReleaseName {
	version: number;
	createdAt: EpochMs;
}

interface ModelList extends ReleaseName {
	text: string;
	at: EpochMs;
}

export type ModelLists = ReturnType<typeof modelLists>;

export function modelLists({
	now,
	releases,
	endpoints,
	workers: { registry },
}: Pick<Kernel, "now" | "releases" | "endpoints" | "workers">) {
	const lists = new Map<string, ModelList>();

	const isRunning = (endpoint: string): boolean =>
		[...registry.of(endpoint)].some((worker) => worker.ready && !worker.unhealthy && !worker.sleep);

	return {
		/** The list and its age in seconds. Undefined: a worker must be asked. */
		find(endpoint: string): { text: string; age: number } | undefined {
			const list = lists.get(endpoint);
			if (!list || !isSame(list, releases.current(endpoint))) return undefined;
			const ageMs = now() - list.at;
			if (ageMs > FRESH_MS && isRunning(endpoint)) return undefined;
			lists.delete(endpoint);
			lists.set(endpoint, list);
			return { text: list.text, age: Math.floor(ageMs / 1000) };
		},
		/** `asked`: the release when the job was submitted. A worker of another one may have answered. */
		keep(endpoint: string, text: string, { asked, worker }: { asked: ReleaseName; worker: string | undefined }): void {
			if (text.length > MAX_LENGTH || !endpoints.has(endpoint) || !isSame(asked, releases.current(endpoint))) return;
			const launchedAs = worker === undefined ? undefined : registry.get({ endpoint, id: worker })?.launchedAs;
			const version = endpoints.releaseOf(endpoint, launchedAs);
			if (version !== undefined && version !== asked.version) return;
			lists.delete(endpoint);
			lists.set(endpoint, { version: asked.version, createdAt: asked.createdAt, text, at: now() });
			if (lists.size > MAX_LISTS) lists.delete(lists.keys().next().value!);
		},
	};
}

function isSame(a: ReleaseName, b: ReleaseName): boolean {
	return a.version === b.version && a.createdAt === b.createdAt;
}
