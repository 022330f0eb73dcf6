/** A worker's process that is stopped and continued: meanwhile it sends, reads and notices nothing. */
import type { Api } from "../api.ts";
import type { Time } from "../time.ts";

export interface Suspension {
	api: Api;
	time: Time;
	/** Stops the process for so many ms; resolves when it goes on. */
	stop(ms: number): Promise<void>;
}

export function suspension({ api, time }: { api: Api; time: Time }): Suspension {
	let stopped: Promise<void> | undefined;

	async function running(): Promise<void> {
		while (stopped !== undefined) await stopped;
	}

	/** An answer that arrives meanwhile is read afterwards. */
	async function gated<T>(work: () => Promise<T>): Promise<T> {
		await running();
		const answer = await work();
		await running();
		return answer;
	}

	return {
		api: {
			...api,
			call: (url, q) =>
				gated(async () => {
					const answer = await api.call(url, q);
					if (stopped === undefined) return answer;
					await running();
					return { ...answer, to: time.now() };
				}),
			open: (url, headers) => gated(() => api.open(url, headers)),
		},
		time: { now: time.now, sleep: (ms, signal) => gated(() => time.sleep(ms, signal)) },
		stop(ms) {
			stopped ??= time.sleep(ms).then(() => (stopped = undefined));
			return stopped;
		},
	};
}
