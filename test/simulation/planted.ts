/** Bugs that are planted in a simulated server, each with the rules by which it may be found. */
import type { Plant } from "./server.ts";

interface Planted {
	rules: readonly string[];
	what: string;
	/** The first schedule in which it is looked for; where it shows late. */
	seed?: number;
	/** Made for each start of the server. */
	plant: () => Plant;
}

/** True at every `n`th call. */
function every(n: number): () => boolean {
	let calls = 0;
	return () => (calls += 1) % n === 0;
}

export const PLANTED: readonly Planted[] = [
	{
		rules: ["acknowledged-exists"],
		what: "acknowledges a job that it stores elsewhere",
		plant() {
			const lies = every(10);
			return {
				store: ({ jobs }) => ({
					jobs: {
						insert: (q) =>
							jobs.insert(!q.idempotency && lies() ? { ...q, submission: { ...q.submission, endpoint: "x" } } : q),
					},
				}),
			};
		},
	},
	{
		rules: ["one-job-per-request"],
		what: "forgets idempotency keys",
		plant: () => ({
			store: ({ jobs }) => ({
				jobs: { insert: (q) => jobs.insert({ ...q, idempotency: undefined }) },
			}),
		}),
	},
	{
		rules: ["acknowledged-result", "late-result", "ends"],
		what: "acknowledges a result that it does not store",
		plant() {
			const lies = every(7);
			return {
				store: ({ jobs }) => ({
					jobs: {
						report: (q) => (lies() ? Promise.resolve({ ok: false, why: "state" } as const) : jobs.report(q)),
					},
				}),
			};
		},
	},
	{
		rules: ["late-result"],
		what: "ignores the late result of a lost run",
		plant: () => ({
			store: ({ jobs }) => ({
				jobs: {
					async report(q) {
						const found = await jobs.get({ ...q, large: "size" });
						return await jobs.report(found?.job.state === "IN_QUEUE" ? { ...q, outcome: { on: "release" } } : q);
					},
				},
			}),
		}),
	},
	{
		rules: ["output-of-one-attempt"],
		what: "takes a returned job for completed, as a version that does not know returns",
		plant: () => ({
			store: ({ jobs }) => ({
				jobs: {
					report: (q) =>
						jobs.report(
							q.outcome.on === "return" || q.outcome.on === "lose" ? { ...q, outcome: { on: "complete" } } : q,
						),
				},
			}),
		}),
	},
	{
		rules: ["return"],
		what: "counts each return as a loss",
		plant: () => ({
			store: ({ jobs }) => ({
				jobs: {
					report: (q) => jobs.report(q.outcome.on === "return" ? { ...q, outcome: { ...q.outcome, on: "lose" } } : q),
				},
			}),
		}),
	},
	{
		rules: ["run-number"],
		what: "counts each attempt as a run",
		plant: () => ({
			store: ({ jobs }) => ({
				jobs: {
					async claim(q) {
						const claim = await jobs.claim(q);
						return {
							...claim,
							jobs: claim.jobs.map((each) => ({ ...each, job: { ...each.job, run: each.job.attempt } })),
						};
					},
				},
			}),
		}),
	},
	{
		rules: ["fence", "acknowledged-result"],
		what: "takes the result of a lost run while another worker has the job",
		seed: 60,
		plant: () => ({
			store: ({ jobs }) => ({
				jobs: {
					async report(q) {
						const reported = await jobs.report(q);
						if (reported.ok || reported.why !== "stale" || reported.state !== "IN_PROGRESS") return reported;
						const { job } = (await jobs.get({ ...q, large: "size" }))!;
						return await jobs.report({ ...q, worker: job.worker! });
					},
				},
			}),
		}),
	},
	{
		rules: ["acknowledged-exists"],
		what: "lets results expire at once",
		plant: () => ({
			store: ({ jobs }) => ({
				jobs: {
					insert: (q) => jobs.insert({ ...q, submission: { ...q.submission, retainMs: 1 } }),
				},
			}),
		}),
	},
	{
		rules: ["chunks"],
		what: "stores the repeat of a post whose first answer was lost",
		plant: () => ({
			store: ({ chunks }) => ({
				chunks: { append: (q) => chunks.append({ ...q, unlessLast: false }) },
			}),
		}),
	},
	{
		rules: ["chunks"],
		what: "stores the late repeat of a post under the next attempt of its worker",
		seed: 1096,
		plant: () => ({
			store: ({ chunks }) => ({
				chunks: { append: (q) => chunks.append({ ...q, attempt: undefined }) },
			}),
		}),
	},
	{
		rules: ["chunks"],
		what: "delivers chunks again that were delivered",
		plant() {
			const forgets = every(2);
			return {
				store: ({ chunks }) => ({
					chunks: {
						deliver: (q) => chunks.deliver(forgets() ? { ...q, delivered: false } : q),
					},
				}),
			};
		},
	},
	{
		rules: ["webhook-per-end"],
		what: "counts each try of a webhook as delivered",
		seed: 380,
		plant: () => ({
			store: ({ webhooks }) => ({
				webhooks: {
					tried: (q) => webhooks.tried({ ...q, state: "delivered", dueAt: undefined } as typeof q),
				},
			}),
		}),
	},
	{
		rules: ["workers-max", "gpus-promised-once"],
		what: "leaves workers alone whose start was not recorded before a crash",
		seed: 65,
		plant: () => ({
			launcher: (launcher) => ({ ...launcher, removeStrays: () => Promise.resolve(0) }),
		}),
	},
	{
		rules: ["queue-limit"],
		what: "does not limit the queue",
		plant: () => ({
			store: ({ jobs }) => ({
				jobs: { insert: (q) => jobs.insert({ ...q, queueBound: undefined }) },
			}),
		}),
	},
	{
		rules: ["deadlines"],
		what: "lets jobs run too long",
		plant: () => ({
			store: ({ jobs }) => ({
				jobs: {
					insert: ({ submission, ...q }) => {
						const executionTimeoutMs = submission.executionTimeoutMs + 700;
						return jobs.insert({ ...q, submission: { ...submission, executionTimeoutMs } });
					},
				},
			}),
		}),
	},
	{
		rules: ["cancel", "ends", "final-once", "acknowledged-result"],
		what: "answers a cancel that it has not stored",
		plant: () => ({
			store: ({ jobs }) => ({
				jobs: {
					async move(q) {
						if (q.on !== "cancel") return await jobs.move(q);
						const found = await jobs.get({ ...q, large: "size" });
						return found ? { ok: true, job: { ...found.job, state: "CANCELLED", endedAt: q.now } } : await jobs.move(q);
					},
				},
			}),
		}),
	},
	{
		rules: ["purge-count"],
		what: "counts a purged job too many",
		plant: () => ({
			store: ({ jobs }) => ({ jobs: { purge: async (q) => (await jobs.purge(q)) + 1 } }),
		}),
	},
	{
		rules: ["health"],
		what: "counts an ended job too many",
		plant: () => ({
			store: ({ jobs }) => ({
				jobs: {
					async counts(q) {
						const counts = await jobs.counts(q);
						return { ...counts, completed: counts.completed + 1 };
					},
				},
			}),
		}),
	},
	{
		rules: [
			"acknowledged-exists",
			"acknowledged-result",
			"final-once",
			"health",
			"internal-error",
			"ends",
			"turn",
			"chunks",
		],
		what: "keeps in memory what a failed commit did not store",
		plant: () => ({
			unit(unit) {
				const rollback = unit.rollback.bind(unit);
				const faulty = (): void => {
					if (unit.db.inTransaction) unit.db.exec("ROLLBACK");
				};
				const transaction: typeof unit.transaction = (work) => {
					// An operation that runs alone is undone properly.
					Object.assign(unit, { rollback });
					try {
						return Object.getPrototypeOf(unit).transaction.call(unit, work);
					} finally {
						Object.assign(unit, { rollback: faulty });
					}
				};
				return Object.assign(unit, { rollback: faulty, transaction });
			},
		}),
	},
	{
		rules: ["handed-out"],
		what: "does not notice new jobs while workers wait",
		plant: () => ({
			store: ({ jobs }) => ({ jobs: { insert: (q) => jobs.insert({ ...q, sent() {} }) } }),
		}),
	},
	{
		rules: ["batch-size", "one-attempt-at-a-time", "fence"],
		what: "hands a job out twice",
		plant() {
			const again = every(5);
			return {
				store: ({ jobs }) => ({
					jobs: {
						async claim(q) {
							const claim = await jobs.claim(q);
							return again() ? { ...claim, jobs: [...claim.jobs, ...claim.jobs] } : claim;
						},
					},
				}),
			};
		},
	},
	{
		rules: ["gpus-promised-once"],
		what: "gives each worker the first GPU",
		seed: 12,
		plant: () => ({
			engine(engine) {
				const { launcher } = engine.workers;
				const start = launcher.start.bind(launcher);
				const first = (gpus: readonly number[]): number[] => gpus.map((_, index) => index);
				launcher.start = (endpoint, q, room) => start(endpoint, { ...q, gpus: first(q?.gpus ?? []) }, room);
				return engine;
			},
		}),
	},
	{
		rules: ["turn", "ends"],
		what: "lets no worker make room for those of another endpoint",
		seed: 65,
		plant: () => ({
			engine(engine) {
				const { launcher, sleep } = engine.workers;
				const isForRoom = (why: string): boolean => why.includes("makes room for endpoint");
				const [stop, retire, begin] = [launcher.stop.bind(launcher), launcher.retire.bind(launcher), sleep.begin];
				launcher.stop = (worker, q) => (isForRoom(q.why) ? Promise.resolve() : stop(worker, q));
				launcher.retire = (worker, why, code) => (isForRoom(why) ? undefined : retire(worker, why, code));
				sleep.begin = (worker, why) => (isForRoom(why) ? undefined : begin(worker, why));
				return engine;
			},
		}),
	},
	{
		rules: ["no-job-while-leaving"],
		what: "takes workers that sleep for awake",
		seed: 61,
		plant: () => ({
			engine(engine) {
				const { registry } = engine.workers;
				engine.kernel.events.on("worker.asleep", (facts) => {
					const worker = registry.get({ endpoint: facts.endpoint, id: facts.worker })!;
					Object.assign(worker, { state: { ...worker.state, stage: "ready" }, sleep: undefined });
				});
				return engine;
			},
		}),
	},
	{
		rules: ["rollout-keeps-one"],
		what: "replaces all workers of a version at once",
		seed: 40,
		plant: () => ({
			engine(engine) {
				const { registry, launcher } = engine.workers;
				engine.kernel.events.on("worker.draining", ({ endpoint, why }) => {
					if (why.startsWith("its endpoint has another"))
						for (const worker of registry.of(endpoint)) if (!launcher.isLeaving(worker)) launcher.retire(worker, why);
				});
				return engine;
			},
		}),
	},
	{
		rules: ["workers-rest", "turn", "ends"],
		what: "waits without end for a worker that stops",
		seed: 12,
		plant() {
			const isLost = every(3);
			return {
				launcher: (launcher) => ({
					...launcher,
					stop: (id, graceMs) => (isLost() ? new Promise(() => {}) : launcher.stop(id, graceMs)),
				}),
			};
		},
	},
	{
		rules: ["workers-rest"],
		what: "keeps the rows of workers that have ended",
		plant: () => ({ store: () => ({ workers: { end: () => Promise.resolve() } }) }),
	},
];
