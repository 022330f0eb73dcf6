/** Values that a worker was started with and prints after they were changed, or while no service runs (D22, D47). */
import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { call } from "../support/service.ts";
import { until } from "../support/until.ts";
import { isAlive, site } from "./site.ts";

/** Says that it is up, and prints its values when it is asked to end. */
const PRINTS_AT_END = [
	"sh",
	"-c",
	'trap \'echo "$LONG"; echo "used $TOKEN, $STORED"; exit 3\' TERM; : > "$DIR/pid-$$"; while :; do sleep 0.2; done',
];

const LONG = Array.from({ length: 600 }, (_, n) => `planted-long-${n}`).join(".");

it("D22, D47: what a worker was started with is hidden after a rotation and a restart, whenever it ended", {
	timeout: 60_000,
}, async (test) => {
	const place = site(test);
	const launcher = { type: "process", command: PRINTS_AT_END };
	const of = (TOKEN: string, long: string) => ({
		ep: {
			...{ launcher, workersMin: 2, workersMax: 2 },
			env: { DIR: place.folder.path, TOKEN, STORED: "{{ RUNPOD_SECRET_stored }}", LONG: long },
		},
	});
	const pids = (): number[] =>
		readdirSync(place.folder.path).flatMap((name) => (name.startsWith("pid-") ? [Number(name.slice(4))] : []));
	test.onTestFinished(() => {
		for (const pid of pids())
			try {
				process.kill(pid, "SIGKILL");
			} catch {
				// It has ended.
			}
	});
	const first = await place.serve({ endpoints: {} });
	const secret = await call(first.url, "/v2/account/secrets", {
		body: { name: "stored", value: "planted-stored-one" },
	});
	expect(secret.status, secret.text).toBeLessThan(300);
	await first.end();
	const second = await place.serve({ endpoints: of("planted-token-one", LONG) });
	await until("two workers are up", () => pids().length === 2);
	await until("both are recorded", () => second.stderr().match(/worker ep-\w+ started/g)?.length === 2);
	const changed = await call(second.url, `/v2/account/secrets/${secret.json.id}`, {
		method: "PATCH",
		body: { value: "planted-stored-two" },
	});
	expect(changed.status, changed.text).toBeLessThan(300);
	await second.end("SIGKILL");
	const [early, late] = pids() as [number, number];
	process.kill(early, "SIGTERM");
	await until("it has ended", () => !isAlive(early));
	const third = await place.serve({ endpoints: of("planted-token-two", "short") });
	await until("the other one is taken over", () => third.stderr().includes("taken over"));
	process.kill(late, "SIGTERM");
	const ended = await until("both have ended", async () => {
		const { json } = await call(third.url, "/v1/endpoints/ep/workers?ended=true");
		return json.ended.length >= 2 && json.ended;
	});
	const shown = "[LONG]\nused [TOKEN], [RUNPOD_SECRET_stored]";
	expect(ended.map(({ lastOutput }: { lastOutput: string }) => lastOutput)).toEqual([shown, shown]);
	expect(JSON.stringify(ended)).not.toContain("planted-");
	expect(third.stderr()).not.toContain("planted-");
});
