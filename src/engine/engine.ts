/** Ties the engine's files together into the one object of `api.ts`. */
import type { Clock } from "../clock.ts";
import { ENDPOINT_DEFAULTS } from "../core/endpoint.ts";
import { pingIntervalMs, workerEnv } from "../core/workers/worker-env.ts";
import type { EventBus } from "../events.ts";
import type { Launcher, WorkerLogs } from "../launchers/launcher.ts";
import type { Store } from "../store/contract/store.ts";
import type { SendWebhook } from "../webhooks/sender.ts";
import { ApiError } from "../core/errors.ts";
import type { Service } from "../service.ts";
import type { Engine } from "./api.ts";
import { admission } from "./limits/admission.ts";
import { sharedAdmission } from "./limits/shared-admission.ts";
import { bulk } from "./jobs/bulk.ts";
import { abandon, cancel } from "./jobs/cancel.ts";
import { cluster } from "./cluster/cluster.ts";
import { consoleLinks } from "./access/console-links.ts";
import { webhookDeliverer, delivery, redeliver } from "./webhooks/deliver.ts";
import { dispatch, requeueUndelivered } from "./jobs/dispatch.ts";
import { forgetReported, waitUntilIdle, returnRunning } from "./lifecycle/drain.ts";
import { endpoints } from "./endpoints/endpoints.ts";
import { stopWorker, workerEnded } from "./workers/stop-worker.ts";
import { decryptClaimed } from "./jobs/decrypt-claimed.ts";
import { health } from "./endpoints/health.ts";
import { createAvailability } from "./availability/availability.ts";
import { hex, jobId } from "../ids.ts";
import type { Random } from "../ids.ts";
import { keys } from "./access/keys.ts";
import { workerLauncher } from "./workers/launch.ts";
import { cursorFault, list } from "./jobs/list.ts";
import { logReader } from "./workers/worker-logs.ts";
import { catchUp } from "./cluster/catch-up.ts";
import { metrics } from "./metrics/metrics.ts";
import { liveFeed } from "./metrics/live-feed.ts";
import { ping } from "./workers/ping.ts";
import { endpointSnapshots as presentOf } from "./endpoints/endpoint-snapshots.ts";
import { purge } from "./jobs/purge.ts";
import { rollingWindow } from "./metrics/rolling-window.ts";
import { reconcileAttempts } from "./workers/reconcile-attempts.ts";
import { jobDetails } from "./jobs/job-details.ts";
import { recallStops, recover } from "./lifecycle/recover.ts";
import { endpointRegistry } from "./endpoints/endpoint-registry.ts";
import { replaceChanged } from "./workers/replace-outdated.ts";
import { chunks, report } from "./jobs/report.ts";
import { retry } from "./jobs/retry.ts";
import { autoscaler } from "./workers/autoscaler.ts";
import { encryption } from "./access/encryption.ts";
import { sessions } from "./access/sessions.ts";
import { listen } from "./cluster/signals.ts";
import { retain, status, statusSync, waited } from "./jobs/status.ts";
import { stopSignals } from "./workers/stop-signals.ts";
import { streamFrom, streamNext } from "./jobs/stream.ts";
import { submit } from "./jobs/submit.ts";
import { renewPolledLeases, sweep } from "./jobs/sweep.ts";
import { stopPoll, take } from "./workers/take.ts";
import { tokens } from "./access/worker-tokens.ts";
import { completionWaiters } from "./jobs/wait.ts";
import { webhookSecrets } from "./webhooks/webhook-secrets.ts";
import { workerViews } from "./workers/worker-views.ts";
import { workerRegistry } from "./workers/worker-registry.ts";
import type { Worker } from "./workers/worker-registry.ts";

/** Everything the engine is given. */
export interface EngineOptions {
	store: Store;
	clock: Clock;
	random: Random;
	events: EventBus;
	launchers: ReadonlyMap<string, Launcher>;
	/** What launched workers wrote. */
	workerLogs: WorkerLogs;
	/** Key for `s3Config` and webhook secrets, 32 bytes (D21, D22). */
	sealKey: Uint8Array;
	sendWebhook: SendWebhook;
	/** `SLUICE_API_KEY`. */
	apiKey?: string | undefined;
	/** GPUs of this machine that launched workers share. */
	gpus: number;
	/**
	 * Identity of this server, kept with its data; needed where several share the store, which has
	 * one for all.
	 */
	serviceId?: string | undefined;
}

/** Builds the engine; nothing runs before `start`. */
export function createEngine(o: EngineOptions): Engine {
	const { clock, random } = o;
	const availability = createAvailability({ clock, events: o.events, store: o.store });
	const { store, events, now, retry: holding } = availability;
	const sealing = encryption(o.sealKey, random);
	const run = hex(random(8));
	const together =
		store.limits && sharedAdmission({ limits: store.limits, server: run, clock, now, events });
	const known = endpointRegistry(store.endpoints, { seal: sealing, random });
	const present = workerRegistry(events);
	const waits = completionWaiters(clock);
	const secrets = webhookSecrets({ registry: known, seal: sealing, random, now });
	// A worker whose token must be looked up again keeps its result.
	const tokenBook = tokens({
		store: { ...store.tokens, find: (q) => holding(() => store.tokens.find(q)) },
		now,
		random,
	});
	const keyBook = keys({
		store: store.keys,
		now,
		random,
		fromEnvironment: o.apiKey,
		onFault: (error) => events.emit("fault", { where: "noting the use of a key", error }),
	});
	const group = cluster({
		clock,
		now,
		events,
		run,
		store: store.cluster,
		id: o.serviceId ?? run,
		timely: () => availability.clockFault() === undefined,
		note: () => views.note(),
		launched: () =>
			[...known.all()].flatMap(({ endpoint }) =>
				endpoint.launcher.type === "external" ? [] : [endpoint.id],
			),
		movable: (endpoint) => launchSide?.scaling.movable(endpoint) ?? "free",
		changed: () => {
			for (const each of [sweeping, managing.loop, deliveries]) each.nudge();
			launchSide?.scaling.recount();
		},
	});
	const views = workerViews({
		workers: present,
		now,
		store: store.cluster,
		cluster: () => group,
		heldBack: (endpoint) =>
			group.scales(endpoint)
				? {
						crashing: launchSide?.scaling.crashing(endpoint),
						withoutGpu: launchSide?.scaling.withoutGpu(endpoint),
					}
				: {},
		scaled: () => [...known.all()].map(({ endpoint }) => endpoint.id).filter(group.scales),
	});
	const deliveries = webhookDeliverer({
		clock,
		now,
		webhooks: store.webhooks,
		events,
		hold: holding,
		secrets,
		send: o.sendWebhook,
		cluster: group,
	});
	const lanes = dispatch({
		jobs: store.jobs,
		now,
		events,
		paused: (id) => draining || known.paused(id),
		release: (worker, jobs) =>
			inBackground(
				"returning jobs",
				giveBack(
					worker,
					jobs.map(({ job }) => job),
				),
			),
	});
	const stops = stopSignals({
		clock,
		now,
		events,
		workers: present,
		graceMs,
		kill: (worker, why) =>
			inBackground(`ending ${worker.id}`, launch().stop(worker, { why, graceMs: 0 })),
		...(group.shared && { unstopped: () => store.jobs.unstopped() }),
	});
	const reckoning = {
		now,
		events,
		dispatch: lanes,
		waiting: waits,
		stopping: stops,
		others: group.others,
	};
	const sweeping = sweep({ clock, now, jobs: store.jobs, events, cluster: group });
	const attending = renewPolledLeases({
		clock,
		now,
		store,
		events,
		workers: present,
		registry: known,
		dispatch: lanes,
		cluster: group,
		views,
	});
	let launchSide:
		| { launching: ReturnType<typeof workerLauncher>; scaling: ReturnType<typeof autoscaler> }
		| undefined;
	let draining = false;
	/** Whether other servers lived when this one started. */
	let others = false;
	/** Ends what is held for a store that is away, when everything else has ended. */
	const stopped = new AbortController();
	let listening: (() => void)[] = [];

	function launch(): ReturnType<typeof workerLauncher> {
		if (!launchSide) throw new Error("The engine has not been started.");
		return launchSide.launching;
	}

	const background = new Set<Promise<unknown>>();

	/** Of an endpoint that is being deleted too. */
	function graceMs(endpoint: string): number {
		return known.has(endpoint) ? known.get(endpoint).stopGraceMs : ENDPOINT_DEFAULTS.stopGraceMs;
	}

	/** Work that nobody waits for, until the engine stops. */
	function inBackground(where: string, work: Promise<unknown>): void {
		const done = work
			.catch((error: unknown) => events.emit("fault", { where, error }))
			.finally(() => background.delete(done));
		background.add(done);
	}

	async function giveBack(
		worker: Worker,
		jobs: readonly { id: string; attempt: number }[],
	): Promise<void> {
		const back = await requeueUndelivered(
			{ move: (q) => holding(() => store.jobs.move(q), { signal: stopped.signal }), now },
			worker,
			jobs,
		);
		for (const id of back)
			events.emit("job.returned", {
				endpoint: worker.endpoint,
				id,
				worker: worker.id,
				why: "released",
			});
		if (back.length === 0) return;
		lanes.announce(worker.endpoint, back.length);
		onQueued(worker.endpoint);
	}

	const onQueued = (endpoint: string): void => {
		if (known.has(endpoint)) launchSide?.scaling.queued(endpoint);
	};

	const reading = { jobs: store.jobs, now, waiting: waits };
	const submitting = { ...reading, events, dispatch: lanes, seal: sealing, onQueued };
	const taking = {
		...reckoning,
		clock,
		hold: holding,
		workerStore: store.workers,
		draining: () => draining,
	};
	const reporting = {
		store,
		now,
		events,
		hold: holding,
		dispatch: lanes,
		waiting: waits,
		stopping: stops,
		restart: (worker: Worker) => launchSide?.scaling.retire(worker, "it asked to be started anew"),
	};
	const cancelling = { jobs: store.jobs, now, events, waiting: waits, stopping: stops };
	const streaming = { chunks: store.chunks, clock, now, waiting: waits };
	const managing = endpoints({
		clock,
		now,
		random,
		events,
		store,
		registry: known,
		workers: present,
		tokens: tokenBook,
		dispatch: lanes,
		end: (worker) =>
			inBackground(
				`ending ${worker.id}`,
				launch().stop(worker, {
					why: "its endpoint was deleted",
					graceMs: graceMs(worker.endpoint),
				}),
			),
		look: () => {
			replaceOld();
			launchSide?.scaling.look();
			// A new endpoint may need a server that starts its workers.
			group.look();
		},
		cluster: group,
	});
	const onEndpoints = (): void => inBackground("reading endpoints", managing.refresh());
	const onAccess = (): void => {
		keyBook.forget();
		tokenBook.forget();
	};
	const looks = catchUp({
		clock,
		now,
		events,
		store: store.cluster,
		jobs: store.jobs,
		waiting: waits,
		dispatch: lanes,
		stopping: stops,
		onEndpoints,
		onAccess,
	});
	const recovering = { store, now, events, registry: known, workers: present, cluster: group };
	const allPresent = (): ReturnType<typeof presentOf> =>
		presentOf({ jobs: store.jobs, registry: known, views, now });
	const keeping = metrics({
		clock,
		now,
		events,
		store: store.metrics,
		source: run,
		registry: known,
		cluster: group,
		present: allPresent,
	});
	const telling = liveFeed({
		clock,
		now,
		events,
		keys: keyBook,
		present: allPresent,
		recent: rollingWindow({ events, now, store: store.metrics }),
	});
	const loops: Service[] = [
		...availability.services,
		keeping.loop,
		telling.loop,
		...group.loops,
		...looks.loops,
		sweeping,
		attending,
		managing.loop,
		deliveries,
		...(together ? [together.loop] : []),
	];

	function replaceOld(): void {
		replaceChanged({
			registry: known,
			workers: present,
			retire: (worker, why) => launchSide?.scaling.retire(worker, why),
		});
	}

	return {
		access: {
			keys: keyBook,
			sessions: sessions({ keys: keyBook, sealKey: o.sealKey, now }),
			consoleLinks: consoleLinks({ keys: keyBook, now, random }),
			tokens: tokenBook,
		},
		limits: { admit: together?.admit ?? admission(now).admit },
		jobs: {
			newId: (operation) => jobId(operation, now(), random),
			submit: async (q) => (await submit(submitting, q)).id,
			async submitAndWait(q, { ms, caller }) {
				const until = clock.now() + ms;
				const end = waits.forEnd({ endpoint: q.endpoint.id, id: q.id, ms, caller, early: true });
				try {
					const job = await submit(submitting, q);
					end.stored();
					if (job.id === q.id) return await waited(reading, job, end);
					end.leave();
					return await statusSync(reading, {
						endpoint: job.endpoint,
						id: job.id,
						ms: until - clock.now(),
						caller,
					});
				} finally {
					end.leave();
				}
			},
			status: (q) => status(reading, q),
			retain: (q) => retain(reading, q),
			statusSync: (q) => statusSync(reading, q),
			streamNext: (q) => streamNext(streaming, { ...q, reader: hex(random(8)) }),
			streamFrom: (q) => streamFrom(streaming, q),
			retry: ({ endpoint, id }) => retry(submitting, { endpoint: known.get(endpoint), id }),
			purge: (endpoint) => purge({ jobs: store.jobs, now, events }, endpoint),
			list: (q) => list(reading, q),
			bulk: (q) =>
				bulk(
					{
						list: (page) => list(reading, page),
						async act(on, { endpoint, id }) {
							if (on === "cancel")
								return (await cancel(cancelling, { endpoint, id })) === "CANCELLED";
							await retry(submitting, { endpoint: known.get(endpoint), id });
							return true;
						},
					},
					q,
				),
			details: (q) => jobDetails({ jobs: store.jobs, now, views, entry: known.entry }, q),
			cancel: (q) => cancel(cancelling, q),
			abandon: (q) =>
				inBackground(
					`cancelling job ${q.id}`,
					abandon({ ...cancelling, hold: holding }, q, stopped.signal),
				),
			async take(q) {
				const { handed, unreadable } = decryptClaimed(await take(taking, q), sealing);
				for (const { id, error } of unreadable)
					await report(reporting, {
						worker: q.worker,
						id,
						report: { kind: "end", on: "fail", error, restart: false },
					});
				return handed;
			},
			requeueUndelivered: giveBack,
			report: (q) => report(reporting, q),
			addChunks: (q) => chunks(reporting, q),
			ping: (q) =>
				ping(
					{
						...reckoning,
						hold: holding,
						workerStore: store.workers,
						pingIntervalMs: pingIntervalMs(known.get(q.worker.endpoint).leaseMs),
					},
					q,
				),
			endWorker: (q) =>
				workerEnded(
					{
						now,
						workers: present,
						tokens: tokenBook,
						cluster: group,
						clusterStore: store.cluster,
						giveBack,
					},
					q,
				),
		},
		endpoints: {
			...managing,
			get: known.get,
			has: known.has,
			all: known.all,
			entry: known.entry,
			sealedSecret: known.sealedSecret,
		},
		webhooks: {
			list: (q) =>
				store.webhooks.list(q).catch((error: unknown) => {
					throw cursorFault(error, q.cursor);
				}),
			get: (id) => delivery(store.webhooks, id),
			redeliver: (id) => redeliver({ webhooks: store.webhooks, now }, id),
			renewSecret: (id) => managing.inTurn(() => secrets.renew(id)),
		},
		workers: {
			of: present.of,
			views: views.of,
			logs: logReader({ clock, logs: o.workerLogs, workers: present }),
			stop: (q) =>
				stopWorker(
					{
						workers: present,
						views,
						retire: (worker) => launchSide?.scaling.retire(worker, "an operator asked for it"),
					},
					q,
				),
			recordCall({ id, endpoint }) {
				const at = now();
				const worker =
					present.get({ endpoint, id }) ?? present.meet({ id, endpoint, ready: true, now: at });
				present.seen(worker, at);
				return worker;
			},
			pollStops: (q) => stopPoll(taking, q),
			async env({ endpoint, url, replicas }) {
				const { leaseMs } = known.get(endpoint);
				const worker = replicas ? undefined : `${endpoint}-${hex(random(6))}`;
				const token = await tokenBook.issue({
					endpoint,
					...(worker === undefined ? {} : { worker }),
				});
				return workerEnv({ url, endpoint, worker, token, leaseMs });
			},
		},
		metrics: {
			health: (endpoint) => health({ jobs: store.jobs, views, now }, endpoint),
			snapshots: allPresent,
			history: keeping.history,
			totals: keeping.totals,
			storeMs: keeping.storeMs,
			listen: telling.listen,
		},
		cluster: group,
		now,
		get draining() {
			return draining;
		},
		async ready() {
			const why = availability.clockFault() ?? group.fault();
			if (why !== undefined) throw new ApiError("not_ready", { why });
			await store.ping();
		},
		async prepare(endpoints) {
			await availability.prepare();
			({ others } = await recover(recovering, endpoints));
		},
		async start({ url }) {
			const launchingSide = workerLauncher({
				store,
				clock,
				now,
				random,
				events,
				workers: present,
				tokens: tokenBook,
				launchers: o.launchers,
				url,
				inBackground,
				serviceId: o.serviceId ?? group.id ?? (await store.identity()),
				server: group.id,
				onGone: (worker, exit) => {
					launchSide?.scaling.ended(worker, exit);
					inBackground(
						`what worker ${worker.id} held`,
						reconcileAttempts(reckoning, worker, () =>
							holding(
								() =>
									store.workers.idle({
										endpoint: worker.endpoint,
										worker: worker.id,
										before: Infinity,
										dead: true,
										now: now(),
									}),
								{ signal: stopped.signal },
							),
						),
					);
				},
			});
			const scale = autoscaler({
				clock,
				now,
				jobs: store.jobs,
				events,
				workers: present,
				registry: known,
				launching: launchingSide,
				cluster: group,
				gpus: o.gpus,
			});
			launchSide = { launching: launchingSide, scaling: scale };
			await launchingSide.restore();
			replaceOld();
			await recallStops({ ...recovering, others, stopping: stops });
			const onLost = (): void => {
				for (const each of [looks, group]) each.look();
				onEndpoints();
				onAccess();
				deliveries.nudge();
				scale.recount();
			};
			listening = [
				listen({
					store,
					now,
					events,
					waiting: waits,
					dispatch: lanes,
					stopping: stops,
					deliver: deliveries.nudge,
					onQueued,
					onEndpoints,
					onAccess,
					onServers: group.look,
					onLost,
					inBackground,
				}),
				events.on("store.back", () => {
					lanes.look();
					sweeping.nudge();
					onLost();
				}),
				events.on("worker.ready", () => scale.look()),
				events.on("worker.unhealthy", ({ endpoint, worker: id, reason }) => {
					const worker = present.get({ endpoint, id });
					if (worker) scale.unfit(worker, reason);
				}),
			];
			await group.join(url);
			for (const each of [...loops, scale.loop]) each.start();
		},
		async stop({ drainMs }) {
			if (draining) return;
			draining = true;
			events.emit("service.draining", { drainMs });
			waits.sendHome();
			telling.close();
			await launchSide?.scaling.loop.stop();
			const othersLive = group.others();
			for (const worker of present.all()) {
				worker.draining = true;
				for (const end of worker.polls) end();
			}
			await group.leave();
			if (group.shared) await forgetReported({ now, jobs: store.jobs, workers: present });
			await waitUntilIdle({ clock, events, workers: present, others: othersLive }, drainMs);
			await returnRunning({ now, events, jobs: store.jobs, workers: present });
			if (launchSide) {
				const all = [...present.all()].filter((worker) => worker.launcher !== "external");
				const faulty = (where: string) => (error: unknown) =>
					events.emit("fault", { where, error });
				await Promise.all(
					all.map((worker) =>
						launch()
							.stop(worker, { why: "the service stops", graceMs: graceMs(worker.endpoint) })
							.catch(faulty(`stopping ${worker.id}`)),
					),
				);
				await launch().close();
			}
			for (const each of loops.toReversed()) await each.stop();
			for (const end of listening) end();
			stopped.abort();
			await Promise.all(background);
		},
	};
}
