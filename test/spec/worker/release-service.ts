/** A service whose endpoint `ep` starts real processes that do nothing; tests call for them, on a clock of its own. */
import { afterEach, beforeEach } from "vitest";
import { busOf } from "../../../src/kernel/events.ts";
import type { EVENTS } from "../../../src/modules/releases/events.ts";
import { rollBackTo } from "../../../src/modules/releases/roll-back.ts";
import type { Worker } from "../../../src/kernel/engine/workers/worker-registry.ts";
import { manualClock, type ManualClock } from "../../support/manual-clock.ts";
import { folder, type Folder, startService, type TestService } from "../../support/service.ts";
import { endWith } from "../hand-worker.ts";
import { launchedWorkers } from "../launched-workers.ts";

export const ALL_VERSIONS = { before: 1000, limit: 1000, hold: () => undefined };

const SLEEPS = { type: "process", command: ["sleep", "300"] };
/** The address for its workers, which is the same after a restart. */
export const AT = { publicUrl: "http://127.0.0.1:9", gpus: 8 };
/** With GPUs, which are counted: there may be workers over workersMax. */
export const LAUNCHED = { launcher: SLEEPS, gpusPerWorker: 1, stopGraceMs: 0, idleTimeout: 3600 };

/** Registers hooks: one service for each test of the file. */
export function releaseService() {
	const at = {} as { clock: ManualClock; place: Folder; service: TestService };
	const steps = launchedWorkers(() => at);
	const { pass, of } = steps;

	beforeEach(() => {
		at.clock = manualClock();
		at.place = folder();
	});
	afterEach(async () => {
		await endWith(at.service, at.clock);
		at.place.remove();
	});

	async function serve(settings: object, options: Record<string, unknown> = {}): Promise<void> {
		at.service = await startService({
			endpoints: { ep: { ...LAUNCHED, ...settings } },
			settings: { ...AT, ...options },
			clock: at.clock,
			in: at.place,
		});
	}

	const change = (body: object): Promise<unknown> => at.service.engine.endpoints.update("ep", body);
	const callOf = ({ id, endpoint }: Worker): Worker => at.service.engine.workers.recordCall({ id, endpoint });

	/** Time passes until so many workers stay that this service launched. */
	async function staying(count: number): Promise<Worker[]> {
		const present = (): Worker[] => of("ep").filter(({ draining }) => !draining);
		while (present().length !== count) await pass(50);
		return present();
	}

	const rollBack = (version: number): Promise<void> =>
		rollBackTo(at.service.engine.endpoints, "ep", { version, by: "key" });

	/** What the service says next of a version. */
	const said = (event: keyof typeof EVENTS): Promise<unknown> =>
		new Promise((resolve) => busOf<typeof EVENTS>(at.service.events).on(event, resolve));

	/** The service undoes a version. */
	const nextRollback = (): Promise<unknown> => said("release.rolled_back");

	const versions = (workers: readonly Worker[]): (number | undefined)[] =>
		workers.map((worker) => at.service.engine.endpoints.releaseOf("ep", worker.launchedAs));

	async function states(): Promise<[number, string][]> {
		const { releases } = await at.service.engine.releases.history("ep", ALL_VERSIONS);
		return releases.map(({ version, state }) => [version, state]);
	}

	/** Workers of version 1 that have called. */
	async function ready(count: number): Promise<Worker[]> {
		const workers = await staying(count);
		for (const worker of workers) callOf(worker);
		await pass(1000);
		return workers;
	}

	/** The service ends, its workers go on, and the next one takes them over. */
	async function restart(): Promise<void> {
		let over = false;
		void at.service.stop({ leaveWorkers: true }).finally(() => (over = true));
		while (!over) await at.clock.advance(50);
		at.service = await startService({ endpoints: {}, settings: AT, clock: at.clock, in: at.place });
	}

	return {
		...steps,
		at,
		serve,
		change,
		callOf,
		staying,
		versions,
		states,
		ready,
		restart,
		rollBack,
		said,
		nextRollback,
	};
}
