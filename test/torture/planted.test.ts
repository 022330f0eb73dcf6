/** The checker finds bugs that are planted in the store of a running service. */
import { MODULES } from "../../src/modules/index.ts";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { systemClock } from "../../src/kernel/system/clock.ts";
import { startApp } from "../../src/kernel/compose.ts";
import { loadConfig } from "../../src/kernel/config/config.ts";
import { eventBus } from "../../src/kernel/events.ts";
import type { Store } from "../../src/kernel/store/contract/store.ts";
import { openStore } from "../../src/kernel/stores.ts";
import { KEY, folder } from "../support/service.ts";
import { ENDPOINTS } from "./endpoints.ts";
import type { EndpointName } from "./plan.ts";
import { SETTINGS } from "./site.ts";
import { torture } from "./torture.ts";

/** Longest time for a bug that shows in a job; for one that shows when all is known, or the service starts again. */
const [MS, AT_END_MS] = [12_000, 1500];
const AT_END = new Set(["health", "purge-count", "queue-limit"]);

/** Between two restarts, ms, at least and at most; operators who change much between them. */
const [RESTARTS, OPERATORS] = [[700, 1000] as const, 16];

/** Part of the clients; more where a queue must fill, or all places of a worker. */
const [SCALE, SCALES] = [0.1, { queue: 4, plain: 1 } as Partial<Record<EndpointName, number>>];

type Plant = (store: Store) => { [Group in keyof Store]?: Partial<Store[Group]> };

/** True at every `n`th call. */
function every(n: number): () => boolean {
	let calls = 0;
	return () => (calls += 1) % n === 0;
}

interface Use {
	/** {@link MS} by default. */
	ms?: number;
	/** Operators change endpoints, and the service is started again while they do. */
	operators?: number;
}

/** Rules broken by a service with such a store. */
async function rulesOf(plant: Plant, names: readonly EndpointName[], use: Use = {}): Promise<string[]> {
	const { ms = MS, operators = 0 } = use;
	const place = folder();
	const config = join(place.path, "sluice.yaml");
	const file = JSON.stringify({ ...SETTINGS, endpoints: ENDPOINTS });
	writeFileSync(config, file);
	const loaded = loadConfig({
		modules: MODULES,
		flags: { config, port: "0", store: `sqlite:${join(place.path, "s.db")}`, "drain-timeout": "0" },
		env: { SLUICE_API_KEY: KEY },
		cwd: place.path,
		readFile: () => file,
	});
	if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
	const start = () =>
		startApp(loaded.config, {
			modules: MODULES,
			clock: systemClock,
			events: eventBus(),
			env: process.env,
			async open(q) {
				const store = await openStore(q);
				const planted = Object.entries(plant(store)).map(([group, operations]) => [
					group,
					{ ...(store[group as keyof Store] as object), ...(operations as object) },
				]);
				return { ...store, ...Object.fromEntries(planted) } as Store;
			},
		});
	let app = await start();
	async function fault(): Promise<string> {
		await app.stop();
		app = await start();
		return "a restart";
	}
	try {
		const scale = SCALES[names[0]!] ?? SCALE;
		const site = { urls: () => [app.url], end: () => Promise.resolve(), ...(operators > 0 && { fault }) };
		const { violations } = await torture({ site, seed: 1, ms, scale, names, operators, pauses: RESTARTS });
		return violations.map(({ rule }) => rule);
	} finally {
		await app.stop();
		place.remove();
	}
}

it("a service without a bug breaks no rule", { timeout: 60_000 }, async () => {
	expect(await rulesOf(() => ({}), ["bulk", "purge", "queue"], { ms: 1500 })).toEqual([]);
	expect(await rulesOf(() => ({}), ["purge"], { ms: 3000, operators: OPERATORS })).toEqual([]);
});

it.each<[string, string, EndpointName, Plant]>([
	[
		"acknowledged-exists",
		"acknowledges a job that it does not store",
		"bulk",
		({ jobs }) => {
			const lies = every(40);
			return {
				jobs: {
					insert: async (q) =>
						await jobs.insert(!q.idempotency && lies() ? { ...q, submission: { ...q.submission, endpoint: "x" } } : q),
				},
			};
		},
	],
	[
		"acknowledged-exists",
		"lets results expire at once",
		"bulk",
		({ jobs }) => ({
			jobs: { insert: (q) => jobs.insert({ ...q, submission: { ...q.submission, retainMs: 1 } }) },
		}),
	],
	[
		"acknowledged-result",
		"acknowledges a result that it does not store",
		"bulk",
		({ jobs }) => {
			const lies = every(20);
			return {
				jobs: {
					report: async (q) => (lies() ? { ok: false, why: "state" as const } : await jobs.report(q)),
				},
			};
		},
	],
	[
		"late-result",
		"ignores the late result of a lost run",
		"plain",
		({ jobs }) => ({
			jobs: {
				async report(q) {
					const found = await jobs.get({ ...q, large: "size" });
					return await jobs.report(found?.job.state === "IN_QUEUE" ? { ...q, outcome: { on: "release" } } : q);
				},
			},
		}),
	],
	[
		"one-job-per-request",
		"forgets idempotency keys",
		"bulk",
		({ jobs }) => ({ jobs: { insert: (q) => jobs.insert({ ...q, idempotency: undefined }) } }),
	],
	[
		"one-attempt-at-a-time",
		"hands a job out twice",
		"bulk",
		({ jobs }) => {
			const again = every(5);
			return {
				jobs: {
					async claim(q) {
						const claim = await jobs.claim(q);
						return again() ? { ...claim, jobs: [...claim.jobs, ...claim.jobs] } : claim;
					},
				},
			};
		},
	],
	[
		"input-unchanged",
		"hands out another input",
		"bulk",
		({ jobs }) => ({
			jobs: {
				async claim(q) {
					const claim = await jobs.claim(q);
					const changed = (input: unknown) => String(input).replace('"payload":"x', '"payload":"y');
					return {
						...claim,
						jobs: claim.jobs.map((each) => ({ ...each, input: changed(each.input) })),
					};
				},
			},
		}),
	],
	[
		"output-of-one-attempt",
		"stores another result",
		"bulk",
		({ jobs }) => ({
			jobs: { report: (q) => jobs.report({ ...q, outcome: { ...q.outcome, output: '"x"' } }) },
		}),
	],
	[
		"health",
		"counts a job too many",
		"bulk",
		({ jobs }) => ({
			jobs: {
				async counts(q) {
					const counts = await jobs.counts(q);
					return { ...counts, completed: counts.completed + 1 };
				},
			},
		}),
	],
	[
		"queue-limit",
		"does not limit the queue",
		"queue",
		({ jobs }) => ({ jobs: { insert: (q) => jobs.insert({ ...q, queueBound: undefined }) } }),
	],
	[
		"purge-count",
		"counts a purged job too many",
		"purge",
		({ jobs }) => ({ jobs: { purge: async (q) => (await jobs.purge(q)) + 1 } }),
	],
	[
		"deadlines",
		"lets jobs run too long",
		"mixed",
		({ jobs }) => ({
			jobs: {
				insert: ({ submission, ...q }) => {
					const executionTimeoutMs = submission.executionTimeoutMs + 700;
					return jobs.insert({ ...q, submission: { ...submission, executionTimeoutMs } });
				},
			},
		}),
	],
	[
		"chunks",
		"loses a chunk",
		"stream",
		({ chunks }) => {
			const loses = every(9);
			return {
				chunks: { append: (q) => chunks.append(loses() ? { ...q, chunks: [] } : q) },
			};
		},
	],
	[
		"chunks",
		"delivers chunks again",
		"stream",
		({ chunks }) => {
			const forgets = every(3);
			return {
				chunks: { deliver: (q) => chunks.deliver(forgets() ? { ...q, delivered: false } : q) },
			};
		},
	],
])("%s: a service that %s", { timeout: 60_000 }, async (rule, _, name, plant) => {
	const ms = AT_END.has(rule) ? AT_END_MS : MS;
	expect(await rulesOf(plant, [name], { ms })).toContain(rule);
});

it.each<[string, Plant]>([
	[
		"drops an acknowledged change of an endpoint",
		({ endpoints }) => {
			const lies = every(2);
			return { endpoints: { put: async (q) => (q.before && lies() ? true : await endpoints.put(q)) } };
		},
	],
	["lets a deleted endpoint come back", () => ({ endpoints: { remove: () => Promise.resolve(true) } })],
	[
		"drops an acknowledged change of a template",
		({ resources }) => {
			const lies = every(3);
			return { resources: { update: async (q) => lies() || (await resources.update(q)) } };
		},
	],
])("change-kept: a service that %s", { timeout: 60_000 }, async (_, plant) => {
	const broken = await rulesOf(plant, ["purge"], { ms: 5000, operators: OPERATORS });
	expect(new Set(broken)).toEqual(new Set(["change-kept"]));
});
