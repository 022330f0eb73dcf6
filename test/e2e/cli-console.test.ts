/** Ways into the console from a terminal (D31, D33, D36). */
import { expect, it } from "vitest";
import { KEY, call } from "../support/service.ts";
import { browser } from "../spec/console/browser.ts";
import { start } from "./command.ts";
import { managed } from "./managed.ts";
import { site } from "./site.ts";
import { until } from "../support/until.ts";

it.concurrent("D31, D33: serve on loopback prints a link that signs in; on all interfaces none", async (test) => {
	const { folder } = site(test);
	const serve = (host: string, event = "") =>
		start(test, ["serve", "--port", "0", "--host", host, "--store", `sqlite:${host}.db`], {
			cwd: folder.path,
			env: { SLUICE_API_KEY: KEY, npm_lifecycle_event: event },
		});
	const [own, open, byNpm] = [serve("127.0.0.1"), serve("0.0.0.0"), serve("localhost", "start")];
	const greeting = new RegExp(
		String.raw`^Sluice listens on (\S+)\nConsole: \1(/console/#/link/[0-9a-f]{48}) ` +
			String.raw`\(single use, valid for 10 minutes; for another: sluice console\)\n`,
	);
	const [, url = "", path = ""] = await until("the link", () => greeting.exec(own.stdout()));
	const page = browser({ url });
	expect((await page.open(path)).status).toBe(200);
	expect((await page.send("/v1/keys")).status).toBe(200);
	await until("the greeting", () => /No endpoints yet/.test(open.stdout()));
	expect(open.stdout()).not.toContain("Console");
	await until("the command of what npm runs", () => byNpm.stdout().includes("for another: npx sluice console)"));
	for (const each of [own, open, byNpm]) {
		each.end();
		expect((await each.ended).stderr).not.toContain("#/link/");
	}
});

it.concurrent("D31, D36: sluice console prints another one, for the key that it calls with", async (test) => {
	const { stdoutOf, ask, as, service } = await managed(test);
	const link = await stdoutOf("console");
	expect(link).toMatch(new RegExp(`^${service.url}/console/#/link/[0-9a-f]{48}\n$`));
	const page = browser(service);
	expect((await page.open(link.trim())).status).toBe(200);
	expect(JSON.parse((await page.send("/console/session")).text)).toEqual({
		principal: { name: "SLUICE_API_KEY", scopes: ["admin"] },
	});
	expect(JSON.parse(await stdoutOf("console", "--json"))).toEqual({
		path: expect.stringMatching(/^\/console\/#\/link\//),
		expiresAt: expect.stringMatching(/Z$/),
	});
	const { json } = await call(service.url, "/v1/keys", {
		body: { name: "reader", scopes: ["read"] },
	});
	expect(await as(json.key, "console")).toMatchObject({
		code: 1,
		stdout: "",
		stderr: expect.stringContaining("scope admin"),
	});
	expect(await ask("console", "now")).toMatchObject({
		code: 2,
		stdout: "",
		stderr: expect.stringContaining("Unexpected argument 'now'"),
	});
});
