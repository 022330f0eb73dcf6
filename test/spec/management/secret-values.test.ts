/** Secrets in variables of launched workers: replaced at the start, and never shown. */
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { call, startService, type TestService } from "../../support/service.ts";
import { operator, type Operator } from "../operator.ts";

const FIRST = "first-secret-value";
const SECOND = "second-secret-value";

let service: TestService;
let admin: Operator;
let values: string;
let seen: string[];
beforeEach(async () => {
	service = await startService({ endpoints: {} });
	admin = operator(service);
	values = join(service.folder.path, "values");
	mkdirSync(values);
	seen = [];
	service.events.onAny((name, facts) => {
		seen.push(`${name} ${JSON.stringify(facts, (_, value) => (value instanceof Error ? value.stack : value))}`);
	});
});
afterEach(() => service?.end());

/** Writes what it gets to a file of its own, says it, and runs on or fails. */
const program = (end: string) => [
	process.execPath,
	"-e",
	`require("fs").writeFileSync(${JSON.stringify(values)} + "/" + process.env.RUNPOD_POD_ID, process.env.TOKEN);` +
		`console.log("token " + process.env.TOKEN); ${end}`,
];
const RUNS_ON = "setInterval(() => {}, 1000)";

async function made(token: string, settings: object = {}, end = RUNS_ON): Promise<string> {
	const launcher = { type: "process", command: program(end) };
	const { status, json, text } = await admin.post("/endpoints", {
		launcher,
		workersMin: 1,
		stopGraceMs: 0,
		env: { TOKEN: token },
		...settings,
	});
	expect(status, text).toBe(201);
	return json.id;
}

/** A secret, whose id is returned. */
async function stored(secret: { name: string; value: string }): Promise<string> {
	const { status, text, json } = await call(service.url, "/v2/account/secrets", { body: secret });
	expect(status, text).toBe(201);
	return json.id;
}

const written = (): string[] => readdirSync(values).map((name) => readFileSync(join(values, name), "utf8"));

async function shown(endpoint: string): Promise<string> {
	const paths = [`/endpoints/${endpoint}`, `/endpoints/${endpoint}/workers`, "/audit", "/registries"];
	const answers = await Promise.all(paths.map((path) => admin.get(path)));
	return [...answers.map(({ text }) => text), ...seen].join("\n");
}

it("a worker gets the value of its start; a new value is for new workers and replaces none", async () => {
	const id = await stored({ name: "db/token", value: FIRST });
	const endpoint = await made("Bearer {{ RUNPOD_SECRET_db/token }}");
	await expect.poll(written).toEqual([`Bearer ${FIRST}`]);
	const changed = await call(service.url, `/v2/account/secrets/${id}`, { method: "PATCH", body: { value: SECOND } });
	expect(changed.status, changed.text).toBe(200);
	await admin.patch(`/endpoints/${endpoint}`, { workersMin: 2 });
	await expect.poll(() => written().toSorted()).toEqual([`Bearer ${FIRST}`, `Bearer ${SECOND}`]);
	const workers = [...service.engine.workers.of(endpoint)];
	expect(workers.map(({ draining }) => draining)).toEqual([false, false]);
	expect(await shown(endpoint)).not.toMatch(/-secret-value/);
});

it("the last output of a worker that failed has no value", async () => {
	await stored({ name: "token", value: FIRST });
	const ended = service.next("worker.exited");
	const endpoint = await made("{{ RUNPOD_SECRET_token }}", {}, "process.exit(7)");
	expect((await ended).lastOutput).toMatch(/^token (?!first)/);
	await expect
		.poll(async () => JSON.stringify((await admin.seen(`/endpoints/${endpoint}/workers?ended=true`)).ended ?? []))
		.toContain("exit code 7");
	expect(await shown(endpoint)).not.toContain(FIRST);
});

it("the last output has no value that was a part of a variable", async () => {
	await stored({ name: "pw", value: FIRST });
	const ended = service.next("worker.exited");
	await made("pg://me:{{ RUNPOD_SECRET_pw }}@db", {}, "console.log(process.env.TOKEN.slice(8, -3)); process.exit(7)");
	expect((await ended).lastOutput).toBe("token [TOKEN]\n[RUNPOD_SECRET_pw]");
});

it("an unknown secret fails the start with its name; once it exists the worker starts", async () => {
	const failed = service.next("worker.failed");
	await made("{{ RUNPOD_SECRET_later }}");
	expect((await failed).reason).toContain(
		"the secret 'later' of env.TOKEN does not exist; set it: sluice secrets set later",
	);
	expect(written()).toEqual([]);
	await stored({ name: "later", value: FIRST });
	await expect.poll(written, { timeout: 20_000 }).toEqual([FIRST]);
});
