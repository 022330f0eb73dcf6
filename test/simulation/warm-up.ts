/** A worker's requests with those of its warm-up, which is no job of a client: some fail at it, some never end it. */
import type { Api } from "../torture/api.ts";

/** Part of the warm-ups that fail, and that never end. */
const [FAILED, HUNG] = [0.05, 0.03];

/** Longest warm-up, ms. */
const WARM_UP_MS = 2000;

export function warmingUp(
	api: Api,
	{ random, sleep }: { random: () => number; sleep: (ms: number) => Promise<void> },
): Api {
	const call: Api["call"] = async (url, q) => {
		const answer = await api.call(url, q);
		const first = Array.isArray(answer.json) ? (answer.json[0] as { id?: string } | undefined) : undefined;
		if (!url.includes("/job-take-batch/") || !first?.id?.startsWith("warmup-")) return answer;
		if (random() < HUNG) return { ...answer, status: 204, json: undefined };
		await sleep(random() * WARM_UP_MS);
		const body = random() < FAILED ? { error: "it does not warm up" } : { output: "warm" };
		const [before, worker = ""] = url.split("/job-take-batch/");
		const id = worker.split("?")[0]!;
		await api.call(`${before}/job-done/${id}/${first.id}?isStream=false`, { ...q, body: JSON.stringify(body) });
		return await call(url, q);
	};
	return { ...api, call };
}
