/**
 * An endpoint with 100 versions of large settings, and 100 templates with large environments, listed in a loop on 16
 * connections: the releases with a key that reads, the templates, one on a page, with an admin key, since others get
 * none. What a client of another endpoint waits meanwhile, and the memory of the service. Prints JSON. `node
 * bench/attacks/releases.ts [seconds]`.
 */
import { forgetPeak, peakMb, residentMb } from "../memory-of.ts";
import { KEY } from "../processes.ts";
import { type Attacked, attacked, counts, print } from "./parts/attacked.ts";
import { after, judged, otherClient, type Seen } from "./parts/verdict.ts";

const [seconds = "6"] = process.argv.slice(2);
const [CONNECTIONS, VERSIONS, TEMPLATES, ENV_BYTES] = [16, 100, 100, 60_000];
const [MOST_P99_MS, MOST_MS, MOST_GROWTH_MB] = [200, 500, 256];

const largeEnv = (n: number): Record<string, string> =>
	Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`V${at}`, `${n}-${"x".repeat(ENV_BYTES / 10)}`]));

async function fill({ call }: Attacked): Promise<number> {
	const launcher = { type: "external" };
	let refused = 0;
	const done = ({ status }: { status: number }): void => void (status >= 300 && (refused += 1));
	done(await call("/v1/endpoints", { body: JSON.stringify({ id: "big", launcher, env: largeEnv(0) }) }));
	for (let n = 1; n < VERSIONS; n += 1)
		done(await call("/v1/endpoints/big", { method: "PATCH", body: JSON.stringify({ env: largeEnv(n) }) }));
	for (let n = 0; n < TEMPLATES; n += 1)
		done(await call("/v2/templates", { body: JSON.stringify({ name: `t${n}`, image: "a:1", env: largeEnv(n) }) }));
	return refused;
}

interface Listed extends Record<"run" | "healthz", Seen> {
	answers: Record<string, number>;
	rssMb: { before: number; peak: number };
}

async function listed(service: Attacked, path: string, key: string): Promise<Listed> {
	const pid = service.child.pid!;
	const before = residentMb(pid);
	forgetPeak(pid);
	const isOver = after(Number(seconds) * 1000);
	const statuses: number[] = [];
	const attacker = async (): Promise<void> => {
		while (!isOver()) statuses.push((await service.call(path, { key })).status);
	};
	const [seen] = await Promise.all([otherClient(service, isOver), ...Array.from({ length: CONNECTIONS }, attacker)]);
	return { ...seen, answers: counts(statuses), rssMb: { before, peak: peakMb(pid) } };
}

const figures = await attacked({ file: { management: { launcher: "docker" } } }, async (service) => {
	const refused = await fill(service);
	const alone = await otherClient(service, after(2000));
	const read = await service.keyOf("read");
	const lists = {
		releases: await listed(service, "/v1/endpoints/big/releases", read),
		templatesOfReadKey: await listed(service, "/v2/templates?limit=1", read),
		templates: await listed(service, "/v2/templates?limit=1", KEY),
	};
	const all = Object.values(lists);
	return {
		...judged({
			runP99Ms: { found: Math.max(...all.map(({ run }) => run.p99)), atMost: MOST_P99_MS },
			runMaxMs: { found: Math.max(...all.map(({ run }) => run.max)), atMost: MOST_MS },
			failed: { found: all.reduce((sum, { run, healthz }) => sum + run.failed + healthz.failed, 0), atMost: 0 },
			grownMb: {
				found: Math.round(Math.max(...all.map(({ rssMb }) => rssMb.peak - rssMb.before))),
				atMost: MOST_GROWTH_MB,
			},
			refusedToFill: { found: refused, atMost: 0 },
		}),
		stored: { versions: VERSIONS, templates: TEMPLATES, envBytes: ENV_BYTES },
		alone,
		...lists,
	};
});
print("releases", figures);
