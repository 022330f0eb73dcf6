/**
 * Encrypts all stored secrets with the current key while a previous one is set (D22, decision 0033):
 * once every server has the current key, in bounded steps.
 */
import type { SealKeys } from "../access/encryption.ts";
import { loop, type Loop } from "../../service.ts";
import type { Domains } from "./domains.ts";

/** Wait for other servers, ms. */
const WAIT_MS = 5000;

/**
 * With several servers: time until each has noticed that all have the current key, ms; more than a
 * heartbeat may be late.
 */
const SETTLE_MS = 15_000;

/** Wait when nothing is left to do, ms. */
const DONE_MS = 86_400_000;

type Deps = Pick<Domains, "clock" | "events" | "store" | "access" | "cluster" | "endpoints" | "workers"> & {
	sealKeys: SealKeys;
};

export function reseal(d: Deps): Loop[] {
	const { checks } = d.sealKeys;
	if (!checks) return [];
	const { encryption } = d.access;
	const { secrets } = d.store;
	/** When this server found that all have the current key. */
	let readyAt: number | undefined;
	let done = false;
	let reported = false;

	async function replaceJobs(): Promise<void> {
		let after: string | undefined;
		do {
			const { jobs, next } = await secrets.jobs({ after });
			for (const { endpoint, id, s3Config } of jobs) {
				if (encryption.isCurrent(s3Config)) continue;
				const opened = encryption.decrypt(s3Config);
				if (!opened.ok) continue;
				const to = encryption.encrypt(opened.text);
				await secrets.replaceJob({ endpoint, id, from: s3Config, to });
			}
			after = next;
		} while (after !== undefined);
	}

	/** Whether all servers can read what the current key encrypts. */
	function allReady(): boolean {
		if (!d.workers.allViews.allHaveKey(encryption.keyId)) {
			readyAt = undefined;
			if (!reported) d.events.emit("secrets.waiting", {});
			reported = true;
			return false;
		}
		readyAt ??= d.clock.now();
		encryption.useCurrent();
		return true;
	}

	async function step(): Promise<number> {
		if (done) return DONE_MS;
		if (!allReady()) return WAIT_MS;
		if (!d.cluster.leads("sweep")) return WAIT_MS;
		await secrets.replaceCheck({ from: checks!.before, to: checks!.both });
		// Until then another server may still use the previous key.
		const settled = !d.cluster.shared || d.clock.now() - readyAt! >= SETTLE_MS;
		await d.endpoints.reseal();
		await d.access.registries.reseal();
		await replaceJobs();
		if (!settled) return WAIT_MS;
		await secrets.replaceCheck({ from: checks!.both, to: checks!.after });
		done = true;
		d.events.emit("secrets.resealed", {});
		return DONE_MS;
	}

	return [
		loop({
			clock: d.clock,
			retryMs: WAIT_MS,
			onError: (error) => d.events.emit("fault", { where: "encrypting secrets again", error }),
			step,
		}),
	];
}
