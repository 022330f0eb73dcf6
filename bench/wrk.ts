/** Drives a server with `wrk` and reads what it says. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** What one run showed: answers a second, latency in ms, and answers that were not 2xx. */
export interface Load {
	perSecond: number;
	p50: number;
	p99: number;
	refused: number;
}

/** The request that is repeated. */
export interface Shot {
	url: string;
	/** Of a POST; absent: a GET. */
	body?: string;
	headers: Readonly<Record<string, string>>;
}

const REPORT = `
done = function(summary, latency, requests)
  io.write(string.format("\\nRESULT %d %d %d %d %d %d\\n", summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), summary.errors.status, summary.errors.timeout + summary.errors.read + summary.errors.write + summary.errors.connect))
end
`;

/**
 * Repeats a request over `connections` for `seconds`. Needs `wrk` on PATH (Debian package of that
 * name).
 */
export async function shoot(
	{ url, body, headers }: Shot,
	{ connections, seconds }: { connections: number; seconds: number },
): Promise<Load> {
	const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
	try {
		const script = join(folder, "post.lua");
		const lines = Object.entries(headers).map(
			([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`,
		);
		writeFileSync(
			script,
			[
				...(body === undefined ? [] : [`wrk.method = "POST"`, `wrk.body = ${JSON.stringify(body)}`]),
				...lines,
				REPORT,
			].join("\n"),
		);
		const { stdout } = await run("wrk", [
			"-t1",
			`-c${connections}`,
			`-d${seconds}s`,
			"--timeout",
			"20s",
			"-s",
			script,
			url,
		]);
		const found = /RESULT (\d+) (\d+) (\d+) (\d+) (\d+) (\d+)/.exec(stdout);
		if (!found) throw new Error(`wrk said nothing usable:\n${stdout}`);
		const [requests, micros, p50, p99, status, broken] = found.slice(1).map(Number) as [
			number,
			number,
			number,
			number,
			number,
			number,
		];
		return {
			perSecond: Math.round((requests / micros) * 1e6),
			p50: p50 / 1000,
			p99: p99 / 1000,
			refused: status + broken,
		};
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}
