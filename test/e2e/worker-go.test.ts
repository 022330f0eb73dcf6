/** A worker in Go that takes its addresses as given, attached and launched (protocol B.1, D26). */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { call } from "../support/service.ts";
import { site } from "./site.ts";

const SOURCE = fileURLToPath(new URL("workers/plain.go", import.meta.url));

function hasGo(): boolean {
	try {
		execFileSync("go", ["version"], { stdio: "ignore" });
		return true;
	} catch {
		return false;
	}
}

it.skipIf(!hasGo())(
	"B.1, D26: a worker in Go that replaces only $ID of its results does each job once",
	async (test) => {
		const place = site(test);
		const program = join(place.folder.path, "plain");
		execFileSync("go", ["build", "-o", program, SOURCE]);
		const service = await place.serve({
			endpoints: {
				attached: { launcher: { type: "external" } },
				launched: { launcher: { type: "process", command: [program] }, workersMax: 1 },
			},
		});
		// The worker that it launched writes no diary by which the site could end it.
		test.onTestFinished(async () => void (await service.end()));
		const variables = `/v1/endpoints/attached/worker-env?url=${encodeURIComponent(service.url)}`;
		place.spawn([program], (await call(service.url, variables, { method: "POST" })).json.env);
		for (const endpoint of ["attached", "launched"]) {
			const jobs = Array.from({ length: 20 }, (_, n) =>
				call(service.url, `/v2/${endpoint}/runsync?wait=60000`, { body: { input: { n } } }),
			);
			const ends = (await Promise.all(jobs)).map(({ json }) => [json.status, json.output, json.retries]);
			expect(ends).toEqual(Array.from({ length: 20 }, (_, n) => ["COMPLETED", { echo: { n } }, undefined]));
		}
	},
);
