/**
 * One worker token of many replicas used under 12,000 ids: the processor time that it costs the service, and what a
 * client of another endpoint waits meanwhile. Prints JSON. `node bench/attacks/worker-ids.ts [ids]`.
 */
import { Agent, get } from "node:http";
import { processorSeconds } from "../memory-of.ts";
import { attacked, print } from "./parts/attacked.ts";
import { type Seen, times } from "./parts/verdict.ts";

const [ids = "12000"] = process.argv.slice(2);
const CONNECTIONS = 64;

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
	async function client(over: () => boolean): Promise<Seen> {
		const found: number[] = [];
		while (!over() || found.length === 0) found.push((await call("/v2/noop/health")).ms);
		return times(found);
	}
	const until = performance.now() + 2000;
	const alone = await client(() => performance.now() > until);
	const before = processorSeconds(child.pid!);
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
		cpuMs: Math.round((processorSeconds(child.pid!) - before) * 1000),
		alone,
		meanwhile,
	};
});
print("worker-ids", figures);
