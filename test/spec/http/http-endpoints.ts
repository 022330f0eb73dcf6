/** Endpoints of HTTP workers, for tests: the launcher process starts `test/support/http-worker-server.ts`. */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { call, type Folder } from "../../support/service.ts";
import { until } from "../../support/until.ts";

const SERVER = fileURLToPath(new URL("../../support/http-worker-server.ts", import.meta.url));

/** What a server under test has written about itself. */
export interface ServerNote {
	pid: number;
	port: number;
	env: Record<string, string>;
}

export function httpEndpoints(place: Folder) {
	const path = (name: string): string => join(place.path, name);
	return {
		/** One worker for one job. `http`: members of the mapping; the job's `route` is the path. */
		endpoint(http: object = {}, rest: object = {}): object {
			return {
				launcher: { type: "process", command: [process.execPath, SERVER, "{port}"] },
				env: { PLACE: place.path },
				http: {
					port: 0,
					ready: { path: "/ready", everyMs: 20 },
					request: { path: "/{input.route}" },
					...http,
				},
				idleTimeout: 3600,
				scalerType: "REQUEST_COUNT",
				scalerValue: 1,
				workersMax: 1,
				...rest,
			};
		},
		setLoading(isLoading: boolean): void {
			if (isLoading) writeFileSync(path("loading"), "");
			else rmSync(path("loading"), { force: true });
		},
		/** Ends the requests of `slow`. */
		release: (): void => writeFileSync(path("release"), ""),
		/** Servers that came up, also those that have ended. */
		servers: (): ServerNote[] =>
			readdirSync(place.path)
				.filter((name) => /^server-\d+$/.test(name))
				.map((name) => ({
					pid: Number(name.slice("server-".length)),
					...(JSON.parse(readFileSync(path(name), "utf8")) as Omit<ServerNote, "pid">),
				})),
		/** Resolves when servers have noted it so often. */
		seen: (what: string, times = 1, ms?: number): Promise<true> =>
			until(
				`${times} times ${what}`,
				() =>
					existsSync(path("seen")) &&
					readFileSync(path("seen"), "utf8")
						.split("\n")
						.filter((line) => line.startsWith(`${what} `)).length >= times,
				ms,
			),
	};
}

/** Runs a job to its end. */
export async function ran(url: string, endpoint: string, input: object): Promise<any> {
	return (await call(url, `/v2/${endpoint}/runsync?wait=60000`, { body: { input } })).json;
}

export async function submitted(url: string, endpoint: string, input: object): Promise<string> {
	return (await call(url, `/v2/${endpoint}/run`, { body: { input } })).json.id;
}

/** Resolves with the job once it has ended. */
export function over(url: string, endpoint: string, id: string): Promise<any> {
	return until(`the end of job ${id}`, async () => {
		const { json } = await call(url, `/v2/${endpoint}/status/${id}`);
		return !["IN_QUEUE", "IN_PROGRESS"].includes(json.status) && json;
	});
}
