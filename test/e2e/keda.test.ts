/**
 * `GET /v1/endpoints/{id}/demand` as KEDA's scaler metrics-api reads it, with the trigger of
 * docs/guides/kubernetes.md: a number while the store answers, an error and never 0 while it does
 * not (D27). KEDA itself does not run here.
 */
import { readFileSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { call, folder, KEY } from "../support/service.ts";
import { freePort } from "../support/free-port.ts";
import { startPostgres } from "../support/postgres-server.ts";
import { until } from "../support/until.ts";
import { start } from "./command.ts";
import { run } from "./site.ts";

const GUIDE = readFileSync(new URL("../../docs/guides/kubernetes.md", import.meta.url), "utf8");

/** The ScaledJob and its TriggerAuthentication in the guide. */
const [scaledJob, authentication]: any[] = [...GUIDE.matchAll(/```yaml\n([^]*?)```/g)]
	.map(([, text]) => parseAllDocuments(text!).map((document) => document.toJS()))
	.find((documents) => documents.some(({ kind }) => kind === "ScaledJob"))!;
const [trigger] = scaledJob.spec.triggers;

/** What the scaler does: anything but a number in an answer 200 is an error. */
async function metric(service: string): Promise<number> {
	const { url, valueLocation, authMode } = trigger.metadata;
	expect(authMode).toBe("bearer");
	const answer = await fetch(service + new URL(url).pathname, {
		headers: { authorization: `Bearer ${KEY}` },
	});
	const text = await answer.text();
	if (answer.status !== 200) throw new Error(`api returned ${answer.status}`);
	const value = JSON.parse(text)[valueLocation];
	if (typeof value !== "number") throw new Error(`valueLocation points to ${typeof value}`);
	return value;
}

/** How many Jobs the default strategy adds. */
const added = (wanted: number, jobs: number): number =>
	Math.min(Math.ceil(wanted / Number(trigger.metadata.targetValue)), scaledJob.spec.maxReplicaCount) - jobs;

it("the guide's objects belong together", () => {
	expect(trigger.type).toBe("metrics-api");
	expect(trigger.authenticationRef.name).toBe(authentication.metadata.name);
	expect(authentication.spec.secretTargetRef[0].parameter).toBe("token");
	// Others count Jobs that run a second time: `wanted` contains them.
	expect(scaledJob.spec.scalingStrategy?.strategy ?? "default").toBe("default");
});

it("D27: the scaler gets the demand, an error while PostgreSQL is down, and the demand again", {
	timeout: 60_000,
}, async (test) => {
	const server = await startPostgres();
	test.onTestFinished(() => server.remove());
	const { url: store } = await server.createDatabase();
	const place = folder();
	test.onTestFinished(() => place.remove());
	const port = await freePort();
	const url = `http://127.0.0.1:${port}`;
	const secret = randomBytes(32).toString("hex");
	start(test, ["serve", "--port", `${port}`], {
		cwd: place.path,
		env: { SLUICE_STORE: store, SLUICE_SECRET: secret, SLUICE_API_KEY: KEY },
	});
	await until("the service is ready", async () => (await fetch(`${url}/readyz`)).ok);
	const body = { id: "ocr", launcher: { type: "external" }, workersMax: 5 };
	expect((await call(url, "/v1/endpoints", { body })).status).toBe(201);
	expect(await metric(url)).toBe(0);
	for (let n = 0; n < 2; n += 1) await run({ url }, "ocr", { n });
	expect(await metric(url)).toBe(2);
	expect([added(2, 0), added(2, 1), added(2, 2), added(50, 0)]).toEqual([2, 1, 0, 10]);

	await server.stop("immediate");
	for (let n = 0; n < 3; n += 1) await expect(metric(url)).rejects.toThrow("api returned 503");
	await server.start();
	await until("the store is back", async () => (await metric(url)) === 2);
});
