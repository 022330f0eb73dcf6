/**
 * One worker token of many replicas used under 12,000 ids: the processor time that it costs the service, and what a
 * client of another endpoint waits meanwhile. Prints JSON. `node bench/attacks/worker-ids.ts [ids]`.
 */
import { readFileSync } from "node:fs";
import { Agent, get } from "node:http";
import { attacked, print } from "./parts/attacked.ts";

const [ids = "12000"] = process.argv.slice(2);
const CONNECTIONS = 64;

/** Processor time of the service so far, in ms (Linux, 100 ticks a second). */
function cpuMs(pid: number): number {
	const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
	return (Number(fields[11]) + Number(fields[12])) * 10;
}

function quantile(values: readonly number[], part: number): number {
	return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * part)] ?? 0;
}

const endpoints = {
	noop: { launcher: { type: "external" }, limits: "off" },
	replicas: { launcher: { type: "external" } },
};

const figures = await attacked({ file: { endpoints } }, async ({ url, call, child }) => {
	const { env } = (
		await call(`/v1/endpoints/replicas/worker-env?replicas=true&url=${encodeURIComponent(url)}`, {
			method: "POST",
		})
	).json;
	const token = env.RUNPOD_AI_API_KEY as string;
	const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
	const statuses: Record<number, number> = {};
	const ping = (id: string): Promise<void> =>
		new Promise((resolve, reject) => {
			get(`${url}/worker/replicas/ping/${id}`, { agent, headers: { authorization: token } }, (res) => {
				statuses[res.statusCode!] = (statuses[res.statusCode!] ?? 0) + 1;
				res.resume().on("end", resolve);
			}).on("error", reject);
		});
	/** Times of a client of another endpoint, until `over`, ms. */
	async function client(over: () => boolean): Promise<{ p50: number; p99: number }> {
		const times: number[] = [];
		while (!over() || times.length === 0) {
			const began = performance.now();
			await call("/v2/noop/health");
			times.push(performance.now() - began);
		}
		return { p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
	}
	const until = performance.now() + 2000;
	const alone = await client(() => performance.now() > until);
	const before = cpuMs(child.pid!);
	const began = performance.now();
	let next = 0;
	let isOver = false;
	const flood = Promise.all(
		Array.from({ length: CONNECTIONS }, async () => {
			while (next < Number(ids)) await ping(`replica-${next++}`);
		}),
	).finally(() => (isOver = true));
	const [meanwhile] = await Promise.all([client(() => isOver), flood]);
	agent.destroy();
	return {
		ids: Number(ids),
		statuses,
		ms: performance.now() - began,
		cpuMs: cpuMs(child.pid!) - before,
		alone,
		meanwhile,
	};
});
print("worker-ids", figures);
