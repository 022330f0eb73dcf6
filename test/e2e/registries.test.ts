/** `sluice registries`, and `registries` in `sluice.yaml` (D36, D45). */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { until } from "../support/until.ts";
import { KEY } from "../support/service.ts";
import { sluice } from "./command.ts";
import { site } from "./site.ts";

const NAME = "registry.example.com:5000";

it("D36, D45: a login is set from stdin, listed without its password, and removed", async (test) => {
	const place = site(test);
	const service = await place.serve({ endpoints: {} });
	const around = {
		cwd: place.folder.path,
		env: { SLUICE_URL: service.url, SLUICE_API_KEY: KEY },
	};
	const ask = (...args: string[]) => sluice(test, ["registries", ...args], around);
	expect(await ask()).toEqual({
		code: 0,
		stderr: "",
		stdout:
			"No logins to registries: images are pulled without credentials. Set one: sluice registries " +
			"login registry.example.com --username ci\n",
	});
	expect(await ask("login", NAME)).toMatchObject({
		code: 2,
		stderr: expect.stringContaining("Missing option --username"),
	});
	const login = ["registries", "login", NAME, "-u", "ci"];
	expect(await sluice(test, login, { ...around, input: "\n" })).toMatchObject({
		code: 2,
		stderr: expect.stringContaining("The password is empty. Pass it on stdin."),
	});
	expect(await sluice(test, login, { ...around, input: "p-w d\n" })).toMatchObject({ code: 0 });
	const shown = await ask("list", "--json");
	expect(JSON.parse(shown.stdout)).toEqual({
		registries: [{ registry: NAME, username: "ci", updatedAt: expect.any(String) }],
	});
	expect((await ask("logout", NAME)).stdout).toBe(`Removed the login to ${NAME}.\n`);
	expect(await ask("logout", NAME)).toMatchObject({
		code: 1,
		stderr: expect.stringContaining(`There is no login to the registry '${NAME}'.`),
	});
});

it("D45: workers do not get the variable with a password of sluice.yaml", async (test) => {
	const place = site(test);
	const file = join(place.folder.path, "env");
	const command = ["sh", "-c", `env >${file}.part; mv ${file}.part ${file}; exec sleep 300`];
	await place.serve({
		endpoints: { ep: { workersMin: 1, launcher: { type: "process", command } } },
		env: { PULL_WORD: "a-password", OTHER_WORD: "x" },
		file: { registries: { [NAME]: { username: "ci", passwordEnv: "PULL_WORD" } } },
	});
	await until("its environment", () => existsSync(file));
	expect(readFileSync(file, "utf8")).toContain("OTHER_WORD=x");
	expect(readFileSync(file, "utf8")).not.toContain("PULL_WORD");
});
