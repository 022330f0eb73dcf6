/**
 * A copy that was restored with `--new-identity` starts beside its original, while workers of that run jobs: how many
 * of these workers live after 10 s, and how many jobs of either were lost. With the launcher `process`, and with
 * Docker where a daemon answers. Prints JSON. `node bench/attacks/copies.ts`.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { docker, IMAGE, makeImage, noDocker } from "../../test/support/docker.ts";
import { type Attacked, attacked, print, sleep } from "./parts/attacked.ts";
import { sluice } from "./parts/commands.ts";
import { begunIn, launchedNode, livesIn } from "./parts/launched.ts";
import { eventually, judged } from "./parts/verdict.ts";

const [WORKERS, RUN_MS, WATCHED_MS] = [2, 18_000, 10_000];
const ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const WORKER = fileURLToPath(new URL("parts/worker.ts", import.meta.url));

interface Platform {
	launcher(folder: string): object;
	/** Workers of the service in this folder that live. */
	alive(folder: string): Promise<string[]>;
}

const PLATFORMS = {
	process: {
		launcher: () => ({ type: "process", command: launchedNode(WORKER) }),
		alive: (folder) =>
			Promise.resolve(
				begunIn(folder)
					.filter((pid) => livesIn(folder, pid))
					.map(String),
			),
	},
	docker: {
		launcher: (folder) => ({
			...{ type: "docker", image: IMAGE, command: ["node", WORKER] },
			volumes: [`${ROOT}:${ROOT}:ro`, `${folder}:${folder}`],
		}),
		alive: async (folder) =>
			(await docker("ps", "--quiet", "--filter", `volume=${folder}`)).split("\n").filter(Boolean),
	},
} satisfies Record<string, Platform>;

const fileOf = (folder: string, { launcher }: Platform) => {
	const settings = { workersMin: WORKERS, workersMax: WORKERS, stopGraceMs: 0, limits: "off" };
	return { endpoints: { ep: { launcher: launcher(folder), env: { DIR: folder }, ...settings } } };
};

/** Jobs that did not complete, and the most attempts of one. */
async function endsOf({ call }: Attacked, ids: readonly string[]): Promise<{ lost: number; attempts: number }> {
	const found = { lost: 0, attempts: 0 };
	for (const id of ids) {
		const status = async (): Promise<string> => (await call(`/v2/ep/status/${id}`)).json?.status;
		await eventually(async () => !["IN_QUEUE", "IN_PROGRESS"].includes(await status()), 30_000);
		if ((await status()) !== "COMPLETED") found.lost += 1;
		const { json } = await call(`/v1/endpoints/ep/jobs/${id}`);
		found.attempts = Math.max(found.attempts, json.attempts.length);
	}
	return found;
}

/** So that its workers end too. */
async function removed({ call }: Attacked): Promise<void> {
	await call("/v1/endpoints/ep?force=true", { method: "DELETE" });
	await eventually(async () => (await call("/v1/endpoints/ep")).status === 404);
}

async function measured(platform: Platform): Promise<ReturnType<typeof judged>> {
	const options = (folder: string) => ({ file: fileOf(folder, platform) });
	return await attacked(options, async (original) => {
		const { call, folder, url } = original;
		const ids: string[] = [];
		for (let n = 0; n < WORKERS; n += 1)
			ids.push((await call("/v2/ep/run", { body: JSON.stringify({ input: { ms: RUN_MS } }) })).json.id);
		await eventually(async () => (await call("/v2/ep/health")).json.jobs.inProgress === WORKERS, 30_000);
		const before = await platform.alive(folder);
		const [backup, store] = [join(folder, "backup.tar"), `sqlite:${join(folder, "copy.db")}`];
		await sluice(folder, url, "backup", backup);
		await sluice(folder, url, "restore", backup, "--store", store, "--new-identity");
		return await attacked(
			(own) => ({ store, file: fileOf(own, platform) }),
			async (copy) => {
				await sleep(WATCHED_MS);
				const now = await platform.alive(folder);
				const [ours, copied] = [await endsOf(original, ids), await endsOf(copy, ids)];
				await Promise.all([removed(copy), removed(original)]);
				return judged({
					workersBefore: { found: before.length, atLeast: WORKERS },
					workersAlive: { found: before.filter((each) => now.includes(each)).length, atLeast: WORKERS },
					lostJobs: { found: ours.lost, atMost: 0 },
					attemptsOfAJob: { found: ours.attempts, atMost: 1 },
					lostJobsOfCopy: { found: copied.lost, atMost: 0 },
				});
			},
		);
	});
}

const figures: Record<string, { held: boolean }> = { process: await measured(PLATFORMS.process) };
if (noDocker === undefined) {
	await makeImage();
	figures["docker"] = await measured(PLATFORMS.docker);
}
print("copies", { held: Object.values(figures).every(({ held }) => held), ...figures });
