/**
 * What every launcher that starts workers must do, run against a real one: `conformance(name,
 * subject)` inside a test file.
 */
import { randomUUID } from "node:crypto";
import { describe, expect, it, type TestContext } from "vitest";
import { MAPPING_VARIABLE, workerEnv } from "../../src/kernel/core/workers/worker-env.ts";
import type { Exit, Handle, Launcher, WorkerSpec } from "../../src/kernel/launchers/launcher.ts";
import { until } from "../support/until.ts";

/**
 * What a sample worker does. `runs`: until it is asked to end. `exits`: prints "last words" and
 * ends with code 7. `drains`: when asked to end it takes a moment, prints "drained" and ends with
 * code 5. `deaf`: it and its child ignore being asked. `orphans`: starts a child and ends with code
 * 3 once `release` was called.
 */
export type Behaviour = "runs" | "exits" | "drains" | "deaf" | "orphans";

/** A launcher under test and what the suite must know about its platform. */
export interface Subject {
	/** A new launcher object on the same platform. */
	open(): Launcher;
	/** A worker with an id of its own. */
	spec(behaviour: Behaviour): WorkerSpec;
	/** Resolves when the worker and its child, if any, do what they are meant to. */
	ready(spec: WorkerSpec): Promise<unknown>;
	/** Lets an `orphans` worker end. */
	release(spec: WorkerSpec): void;
	/** How many processes of the worker run, not asked of the launcher. */
	processes(spec: WorkerSpec): number | Promise<number>;
	/** The same place held by another process: what a handle names after its pid was reused. */
	reused(handle: Handle): Handle;
	/** Whether the platform reports the exit code of a worker that another launcher started. */
	reportsAdopted?: true;
	/** Whether the platform may not know the exit code of a worker that was stopped: it is then absent, never another. */
	losesCodes?: true;
	/** Whether a worker is started by a queue: what is wrong with it shows at its exit. */
	queues?: true;
	/**
	 * Each worker is an adapter beside a server ({@link adapted}), which is its child or in a container. Both print, and
	 * after a stop the code is the adapter's. The only program that runs where such a worker runs is the adapter's own.
	 */
	adapted?: "beside a child" | "beside a container";
	/** Whether the tests run one after another, for a platform that takes many connections slowly. */
	sequential?: true;
}

/** The worker of a spec as a server beside an adapter. It never listens, so its adapter takes no jobs. */
export function adapted<S extends WorkerSpec>(spec: S): S {
	const mapping = JSON.stringify({ port: 1, ready: { everyMs: 10_000 } });
	const { endpoint, url, workerId: worker } = spec;
	const access = workerEnv({ url, endpoint, worker, token: "worker-key", leaseMs: 20_000 });
	const env = { ...spec.env, ...access, [MAPPING_VARIABLE]: mapping };
	return { ...spec, env, adapter: { mapping, port: 1 } };
}

/** The exits a launcher reports from now on, in order, and a wait for the first of one worker. */
export function exitsOf(launcher: Launcher) {
	const all: Exit[] = [];
	launcher.onExit((exit) => all.push(exit));
	const of = (workerId: string) => all.filter((exit) => exit.workerId === workerId);
	return {
		of,
		async next(workerId: string): Promise<Exit> {
			// Some kubelets report the end of a short container a minute later.
			await until(`the exit of ${workerId} is reported`, () => of(workerId).length > 0, 90_000);
			return of(workerId)[0]!;
		},
	};
}

/** A grace that no test lives to see the end of, in ms. */
const FOREVER = 600_000;

/** Declares the suite. Its tests run at once, each as a service of its own, unless the subject says otherwise. */
export function conformance(name: string, subject: Subject): void {
	const printed = (text: string): unknown => (subject.adapted ? expect.stringContaining(text) : text);
	describe(`launcher contract: ${name}${subject.adapted ? `, an adapter ${subject.adapted}` : ""}`, {
		concurrent: !subject.sequential,
	}, () => {
		/** Returns what opens launchers of one service. */
		function service({ onTestFinished }: Pick<TestContext, "onTestFinished">) {
			const serviceId = `contract-${randomUUID()}`;
			return function open(by = serviceId) {
				const launcher = subject.open();
				const started: string[] = [];
				onTestFinished(async () => {
					await Promise.allSettled(started.map((id) => launcher.stop(id, 0)));
					await launcher.close();
				});
				return {
					launcher,
					exits: exitsOf(launcher),
					adopt: (id: string, handle: Handle) => launcher.adopt(id, handle, by),
					start: async (behaviour: Behaviour, settings: object = {}) => {
						const sample = subject.spec(behaviour);
						const spec = { ...sample, serviceId, settings: { ...sample.settings, ...settings } };
						started.push(spec.workerId);
						return { spec, id: spec.workerId, handle: await launcher.start(spec) };
					},
				};
			};
		}

		/** A shell that pauses counts as a process more for a moment. */
		const runsTwo = (spec: WorkerSpec): Promise<true> =>
			until("a worker and its child run", async () => (await subject.processes(spec)) === 2);

		it("carries its name", (test) => {
			expect(service(test)().launcher.name).toBe(name);
		});

		it("lists what it started, and no longer once it was stopped", async (test) => {
			const { launcher, start, exits } = service(test)();
			const one = await start("runs");
			const two = await start("runs");
			await subject.ready(one.spec);
			await subject.ready(two.spec);
			expect(new Set(await launcher.list())).toEqual(new Set([one.id, two.id]));
			await launcher.stop(one.id, FOREVER);
			expect(await launcher.list()).toEqual([two.id]);
			expect(await subject.processes(one.spec)).toBe(0);
			expect(exits.of(one.id)).toHaveLength(1);
		});

		it("reports an end once, with code and last output", async (test) => {
			const { launcher, start, exits } = service(test)();
			const { id } = await start("exits");
			const exit = await exits.next(id);
			expect(exit).toEqual({ workerId: id, code: 7, lastOutput: printed("last words") });
			expect(await launcher.list()).toEqual([]);
			await launcher.stop(id, 0);
			await exits.next((await start("exits")).id);
			expect(exits.of(id)).toHaveLength(1);
		});

		it("runs programs where the worker runs, with its variables, also after a restart", async (test) => {
			const open = service(test);
			const { launcher, start } = open();
			if (!launcher.run || subject.adapted) return;
			const { spec, id, handle } = await start("runs");
			await subject.ready(spec);
			const { launcher: after, adopt } = open();
			expect(await adopt(id, handle)).toBe(true);
			const asked = { settings: spec.settings, timeoutMs: FOREVER };
			await launcher.run(id, { ...asked, command: ["sh", "-c", ': > "$PIDS/beside"'] });
			const isThere = { ...asked, command: ["sh", "-c", 'test -e "$PIDS/beside"'] };
			for (const each of [launcher, after]) await each.run!(id, isThere);
			const fails = launcher.run(id, { ...asked, command: ["sh", "-c", "exit 3"] });
			await expect(fails).rejects.toThrow(/^"sh" exited with code 3/);
			const late = launcher.run(id, { ...asked, command: ["sleep", "300"], timeoutMs: 200 });
			await expect(late).rejects.toThrow('"sleep" took longer than 200 ms.');
			await launcher.stop(id, 0);
			expect(await subject.processes(spec)).toBe(0);
			await expect(launcher.run(id, isThere)).rejects.toThrow("it has ended.");
		});

		it("takes stops of an unknown, an ended and a stopping worker", async (test) => {
			const { launcher, start, exits } = service(test)();
			await launcher.stop("never-started", 0);
			const { spec, id } = await start("runs");
			await subject.ready(spec);
			await Promise.all([launcher.stop(id, FOREVER), launcher.stop(id, FOREVER), launcher.stop(id, FOREVER)]);
			await launcher.stop(id, FOREVER);
			expect(exits.of(id)).toHaveLength(1);
		});

		it("D18: kills a worker that does not end in its grace, and its children", async (test) => {
			const { launcher, start, exits } = service(test)();
			const { spec, id } = await start("deaf");
			await subject.ready(spec);
			await runsTwo(spec);
			await launcher.stop(id, 200);
			expect(await subject.processes(spec)).toBe(0);
			expect(exits.of(id)).toHaveLength(1);
		});

		it("lets a worker finish in its grace, and lists it until it did", async (test) => {
			const { launcher, start, exits } = service(test)();
			const { spec, id } = await start("drains");
			await subject.ready(spec);
			const stop = launcher.stop(id, FOREVER);
			expect(await launcher.list()).toEqual([id]);
			await stop;
			const end = exits.of(id);
			// An adapter that has not begun yet ends by the signal.
			const expected = subject.adapted ? expect.toBeOneOf([0, 143]) : 5;
			const code = subject.losesCodes && end[0]?.code === undefined ? {} : { code: expected };
			expect(end).toEqual([{ workerId: id, ...code, lastOutput: printed("drained") }]);
		});

		it("lets a shorter grace shorten a stop in progress, and no longer one extend it", async (test) => {
			const { launcher, start } = service(test)();
			const { spec, id } = await start("deaf");
			await subject.ready(spec);
			const long = launcher.stop(id, FOREVER);
			await Promise.all([launcher.stop(id, 100), launcher.stop(id, FOREVER), long]);
			expect(await subject.processes(spec)).toBe(0);
		});

		it("D16: a worker that exited is reported when its children have ended too", async (test) => {
			const { start, exits } = service(test)();
			const { spec, id } = await start("orphans");
			await subject.ready(spec);
			await runsTwo(spec);
			subject.release(spec);
			expect(await exits.next(id)).toMatchObject({ code: 3 });
			expect(await subject.processes(spec)).toBe(0);
		});

		it("D34: leaves workers running on close, and another launcher adopts them", async (test) => {
			const open = service(test);
			const first = open();
			const { spec, id, handle } = await first.start("runs");
			await subject.ready(spec);
			await first.launcher.close();
			expect(await subject.processes(spec)).toBe(1);

			const second = open();
			expect(await second.launcher.list()).toEqual([]);
			const recorded = JSON.parse(JSON.stringify(handle)) as Handle;
			expect(await second.adopt(id, recorded)).toBe(true);
			expect(await second.launcher.list()).toEqual([id]);
			await second.launcher.stop(id, FOREVER);
			expect(await second.launcher.list()).toEqual([]);
			expect(await subject.processes(spec)).toBe(0);
			expect(second.exits.of(id)).toHaveLength(1);
			expect(first.exits.of(id)).toEqual([]);
		});

		it("D34: reports nothing after close, also of a worker that is being stopped", async (test) => {
			const open = service(test);
			const { launcher, start, exits } = open();
			const { spec, id, handle } = await start("drains");
			await subject.ready(spec);
			const stop = launcher.stop(id, FOREVER);
			await launcher.close();
			await stop;
			expect(exits.of(id)).toEqual([]);
			// The worker may not have got the signal, and a launcher that is closed ends nothing any more.
			const next = open();
			if (await next.adopt(id, handle)) await next.launcher.stop(id, 0);
		});

		it("D34: reports the exit of an adopted worker once, with its code if known; ends its children", async (test) => {
			const open = service(test);
			const first = open();
			const one = await first.start("orphans");
			const two = await first.start("orphans");
			await subject.ready(one.spec);
			await subject.ready(two.spec);
			await first.launcher.close();
			const { launcher, exits, adopt } = open();
			for (const { id, handle } of [one, one, two]) expect(await adopt(id, handle)).toBe(true);
			subject.release(one.spec);
			expect((await exits.next(one.id)).code).toBe(subject.reportsAdopted ? 3 : undefined);
			expect(await subject.processes(one.spec)).toBe(0);
			await launcher.stop(one.id, 0);
			subject.release(two.spec);
			await exits.next(two.id);
			expect(exits.of(one.id)).toHaveLength(1);
		});

		it("D34: does not adopt a worker that ended, nor one whose place another process has", async (test) => {
			const open = service(test);
			const { launcher, start } = open();
			const ended = await start("runs");
			const running = await start("runs");
			await launcher.stop(ended.id, FOREVER);
			const { launcher: other, adopt } = open();
			expect(await adopt(ended.id, ended.handle)).toBe(false);
			expect(await adopt(running.id, subject.reused(running.handle))).toBe(false);
			expect(await adopt(running.id, {})).toBe(false);
			expect(await other.list()).toEqual([]);
			await other.stop(running.id, 0);
			expect(await launcher.list()).toEqual([running.id]);
		});

		it("D34: leaves a worker alone whose mark is that of another service, whatever its handle says", async (test) => {
			const open = service(test);
			const original = open();
			const { spec, id, handle } = await original.start("runs");
			await subject.ready(spec);
			const copyId = `copy-${randomUUID()}`;
			const copy = open(copyId);
			expect(await copy.adopt(id, handle)).toBe(false);
			const endpoints = [{ id: spec.endpoint, settings: spec.settings }];
			await copy.launcher.removeStrays({ serviceId: copyId, recorded: [id], endpoints });
			await copy.launcher.stop(id, 0);
			expect(await copy.launcher.list()).toEqual([]);
			expect(await subject.processes(spec)).toBe(1);
			await original.launcher.close();
			const next = open();
			expect(await next.adopt(id, handle), "its own service finds it where it was").toBe(true);
			await next.launcher.stop(id, 0);
			expect(await subject.processes(spec)).toBe(0);
		});

		it("says in a sentence why a worker cannot start", async (test) => {
			const { launcher, exits, start } = service(test)();
			const starting = start("runs", { command: ["no-such-command-anywhere"] });
			if (subject.adapted === "beside a child") {
				// The adapter starts, and finds no server to start.
				const { code, lastOutput } = await exits.next((await starting).id);
				expect([code !== 0, lastOutput]).toEqual([true, expect.stringContaining("no-such-command-anywhere")]);
				return;
			}
			if (subject.queues) {
				const { reason } = await exits.next((await starting).id);
				expect(reason).toMatchObject({ code: "config", crash: true });
				expect(reason?.message).toMatch(/no-such-command-anywhere/);
				return;
			}
			await expect(starting).rejects.toThrow(/cannot start a worker of endpoint "sample": .*no-such-command-anywhere/);
			expect(await launcher.list()).toEqual([]);
		});
	});
}
