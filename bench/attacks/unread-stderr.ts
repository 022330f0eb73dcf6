/**
 * A service whose stderr is not read, with an access log, under 100,000 requests: its memory before and after, and
 * how many lines it says are missing once it is read again. Prints JSON. `node bench/attacks/unread-stderr.ts
 * [requests]`.
 */
import { Agent, get } from "node:http";
import { residentMb } from "../memory-of.ts";
import { attacked, print } from "./parts/attacked.ts";
import { eventually, judged } from "./parts/verdict.ts";

const [requests = "100000"] = process.argv.slice(2);
const [CONNECTIONS, WARM_UP] = [32, 20_000];
/** The service keeps 1 MiB of lines; the rest is what its heap takes more or less between two collections. */
const MOST_GROWTH_MB = 64;
const MISSING = /(\d+) lines of this log are missing/;

const figures = await attacked({ args: ["--access-log", "all"], stderr: "pipe" }, async ({ url, child }) => {
	const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
	// Each line of the log has the id.
	const headers = { "x-request-id": "x".repeat(120) };
	const ask = (): Promise<number> =>
		new Promise((resolve, reject) => {
			get(`${url}/healthz`, { agent, headers }, (res) => res.resume().on("end", () => resolve(res.statusCode!))).on(
				"error",
				reject,
			);
		});
	async function flood(count: number): Promise<number> {
		let [asked, failed] = [0, 0];
		const client = async (): Promise<void> => {
			while (asked++ < count) if ((await ask()) !== 200) failed += 1;
		};
		await Promise.all(Array.from({ length: CONNECTIONS }, client));
		return failed;
	}
	const stderr = child.stderr!.setEncoding("utf8");
	let lines = 0;
	let missing: number | undefined;
	let rest = "";
	stderr.on("data", (piece: string) => {
		const all = (rest + piece).split("\n");
		rest = all.pop()!;
		for (const line of all) {
			if (line.includes("xxx")) lines += 1;
			missing ??= MISSING.test(line) ? Number(MISSING.exec(line)![1]) : undefined;
		}
	});
	await flood(WARM_UP);
	await eventually(() => lines === WARM_UP);
	const before = residentMb(child.pid!);
	stderr.pause();
	const began = performance.now();
	const failed = await flood(Number(requests));
	const seconds = (performance.now() - began) / 1000;
	const after = residentMb(child.pid!);
	agent.destroy();
	const read = lines;
	stderr.resume();
	await eventually(() => missing !== undefined);
	return {
		...judged({
			grownMb: { found: Math.round(after - before), atMost: MOST_GROWTH_MB },
			failed: { found: failed, atMost: 0 },
			linesNotAccountedFor: { found: Math.abs(Number(requests) - (lines - WARM_UP) - (missing ?? 0)), atMost: 0 },
		}),
		requests: Number(requests),
		perSecond: Math.round(Number(requests) / seconds),
		residentMb: { before, after },
		lines: { keptUnread: lines - read, missing: missing ?? null },
	};
});
print("unread-stderr", figures);
