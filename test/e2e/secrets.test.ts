/** `sluice secrets` (D36, D49). */
import { expect, it } from "vitest";
import { KEY } from "../support/service.ts";
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
