/** `sluice secrets` (D36, D49). */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { call, KEY } from "../support/service.ts";
import { until } from "../support/until.ts";
import { sluice } from "./command.ts";
import { site } from "./site.ts";

it("D36, D49: a secret is set from stdin, listed without its value, changed and removed", async (test) => {
	const place = site(test);
	const service = await place.serve({ endpoints: {} });
	const around = { cwd: place.folder.path, env: { SLUICE_URL: service.url, SLUICE_API_KEY: KEY } };
	const ask = (args: string[], input?: string) =>
		sluice(test, ["secrets", ...args], { ...around, ...(input !== undefined && { input }) });
	expect(await ask([])).toMatchObject({ code: 0, stdout: expect.stringContaining("No secrets. Set one: ") });
	expect(await ask(["set", "hf_token"], "\n")).toMatchObject({
		code: 2,
		stderr: expect.stringContaining("The value is empty. Pass it on stdin."),
	});
	expect(await ask(["set", "RUNPOD_x"], "value\n")).toMatchObject({
		code: 1,
		stderr: expect.stringContaining("not begin with RUNPOD"),
	});
	expect(await ask(["set", "hf_token"], "first value\n")).toEqual({
		code: 0,
		stderr: "",
		stdout: "Stored hf_token. In env of an endpoint: {{ RUNPOD_SECRET_hf_token }}\n",
	});
	expect(await ask(["set", "hf_token", "--description", "of the lab"], "second value\n")).toMatchObject({
		code: 0,
		stdout: "Changed hf_token. Workers that start from now on get the new value.\n",
	});
	const listed = await ask(["list", "--json"]);
	expect(JSON.parse(listed.stdout).secrets).toMatchObject([{ name: "hf_token", description: "of the lab" }]);
	expect(listed.stdout).not.toContain(" value");
	expect(await ask(["remove", "hf_token"])).toEqual({ code: 0, stderr: "", stdout: "Removed hf_token.\n" });
	expect(await ask(["remove", "hf_token"])).toMatchObject({
		code: 1,
		stderr: expect.stringContaining("There is no secret 'hf_token'."),
	});
});

it("D22, D34, D49: the last output of a worker of an earlier run has no value of a secret", async (test) => {
	const place = site(test);
	const [up, go] = [join(place.folder.path, "up"), join(place.folder.path, "go")];
	const script = `echo "token $TOKEN"; touch ${up}; while [ ! -e ${go} ]; do sleep 0.1; done; exit 7`;
	const command = ["sh", "-c", script];
	const ep = { workersMin: 1, launcher: { type: "process", command }, env: { TOKEN: "{{ RUNPOD_SECRET_t }}" } };
	const first = await place.serve({ endpoints: { ep: { ...ep, workersMax: 0, workersMin: 0 } } });
	await call(first.url, "/v2/account/secrets", { body: { name: "t", value: "the-secret-value" } });
	await first.end("SIGKILL");
	const second = await place.serve({ endpoints: { ep } });
	await until("the worker runs", () => existsSync(up));
	// The values that are hidden are stored with it: nothing is shown of a worker that was never recorded.
	await until("it is recorded", () => /worker ep-\w+ started/.test(second.stderr()));
	await second.end("SIGKILL");
	const last = await place.serve();
	writeFileSync(go, "");
	const ended = async () => (await call(last.url, "/v1/endpoints/ep/workers?ended=true")).json.ended;
	await expect.poll(async () => (await ended()).at(-1)?.lastOutput, { timeout: 20_000 }).toMatch(/^token /);
	expect(JSON.stringify(await ended()) + last.stderr() + last.stdout()).not.toContain("the-secret-value");
});
