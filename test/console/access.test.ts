/**
 * What administrators see and end in the console: keys that are rotated, sessions and the
 * audit log (D30, D31, D42).
 */
import { expect, describe, it } from "vitest";
import { T } from "../../console/src/text/text.ts";
import { call } from "../support/service.ts";
import { goTo, noBrowser, press, rowOf, site, titled } from "./site.ts";

const here = site({
	endpoints: () => ({ ep: { name: "Ep" }, quiet: {} }),
});

/** What the browser itself says of a call that is refused. */
const REFUSED = /status of 401/;

describe.skipIf(noBrowser !== undefined)(titled("access in the console"), () => {
	it("D30: a key is rotated: the new one is shown once, and the other ends at once", async () => {
		const { key } = await here.key(["read"], ["ep"]);
		const page = await here.open({ at: "#/keys" });
		await rowOf(page, "read").getByRole("button", { name: T.keys.rotate }).click();
		const dialog = page.getByRole("dialog");
		await press(page, T.keys.rotate);
		await dialog.getByText(T.keys.once).waitFor();
		const fresh = (await dialog.locator("pre").textContent())!;
		expect(fresh).toMatch(/^sluice_[0-9a-f]{48}$/);
		await press(page, T.keys.kept);
		await dialog.waitFor({ state: "detached" });
		expect(await page.content()).not.toContain(fresh);
		const answers = [key, fresh].map((each) => call(here.service.url, "/v2/ep/health", { key: each }));
		expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([401, 200]);
	});

	it("D30: the key of the environment is in the list, and is not changed there", async () => {
		const page = await here.open({ at: "#/keys" });
		const row = page.getByRole("table", { name: T.pages.keys }).locator("tbody tr", { hasText: "SLUICE_API_KEY" });
		await row.getByText(T.keys.environment).waitFor();
		await row.getByText("admin", { exact: true }).waitFor();
		expect(await row.getByRole("button").count()).toBe(0);
	});

	it("D30: a key is created for a use; for workers the page leads to their tokens", async () => {
		const page = await here.open({ at: "#/keys" });
		await press(page, T.keys.create);
		const dialog = page.getByRole("dialog");
		await dialog.getByLabel(T.keys.name, { exact: true }).fill("dashboard");
		await dialog.getByRole("radio", { name: T.keys.presets.client.name }).press("ArrowDown");
		await dialog.getByRole("radio", { name: T.keys.presets.reader.name, checked: true }).waitFor();
		await dialog.getByLabel("Ep", { exact: true }).check({ force: true });
		await press(page, T.keys.create);
		await dialog.getByText(T.keys.once).waitFor();
		await press(page, T.keys.kept);
		const { keys } = (await call(here.service.url, "/v1/keys")).json;
		expect(keys.find(({ name }: { name: string }) => name === "dashboard")).toMatchObject({
			scopes: ["read"],
			endpoints: ["ep"],
		});
		await rowOf(page, "dashboard").waitFor();
		await press(page, T.keys.create);
		await dialog.getByText(T.keys.presets.worker.means).click();
		expect(await dialog.getByRole("button", { name: T.keys.create }).isDisabled()).toBe(true);
		await dialog.getByRole("link", { name: "Ep" }).click();
		await page.getByText(T.connect.workers).first().waitFor();
	});

	it("D31: a session is ended here and its browser has to sign in; one's own is not offered", async () => {
		await call(here.service.url, "/v1/sessions", { method: "DELETE" });
		const { key } = await here.key(["write"]);
		const other = await here.open({ key, at: "#/endpoints/ep/requests", forgive: REFUSED });
		const page = await here.open({ at: "#/keys" });
		const table = page.getByRole("table", { name: T.sessions.title });
		const own = table.locator("tbody tr", { hasText: T.sessions.current });
		await own.waitFor();
		expect(await own.getByRole("button").count()).toBe(0);
		const theirs = table.locator("tbody tr", { hasText: "write" });
		await theirs.getByText(/^Chrome \d+ on Linux$/).waitFor({ state: "attached" });
		await theirs.getByRole("button", { name: T.sessions.end }).click();
		await press(page, T.sessions.end);
		await theirs.waitFor({ state: "detached" });
		await goTo(other, "#/endpoints/ep/workers");
		await other.getByLabel(T.signIn.key).waitFor();
		await own.waitFor();
	});

	it("D31: all others are ended at one press", async () => {
		const others = [await here.open({ forgive: REFUSED }), await here.open({ at: "#/webhooks", forgive: REFUSED })];
		const page = await here.open({ at: "#/keys" });
		await press(page, T.sessions.endOthers);
		await press(page, T.sessions.endOthers);
		await page.getByText(T.sessions.othersEnded).waitFor();
		for (const other of others) {
			await goTo(other, "#/endpoints/ep/workers");
			await other.getByLabel(T.signIn.key).waitFor();
		}
		const table = page.getByRole("table", { name: T.sessions.title });
		await expect.poll(() => table.locator("tbody tr").count()).toBe(1);
	});

	it("D42: the audit log is read newest first, by action and key, page by page", async () => {
		const { id } = await here.key(["read"]);
		for (let n = 0; n < 60; n += 1) await call(here.service.url, "/v1/endpoints/ep/resume", { method: "POST" });
		await call(here.service.url, "/v1/endpoints/nowhere/pause", { method: "POST" });
		const page = await here.open({ at: "#/audit" });
		const rows = page.locator("tbody tr");
		await rows.nth(1).getByText("endpoint_not_found").waitFor();
		await rows.nth(1).getByText(T.audit.refused, { exact: true }).waitFor();
		await rows.first().getByText(T.audit.actions.signIn).waitFor();
		expect(await rows.count()).toBe(50);
		await press(page, T.requests.older);
		const made = rows.filter({ hasText: T.audit.actions.createKey }).first();
		await made.getByText(T.audit.keySubject("read", "read")).waitFor();
		await made.getByTitle(id).waitFor();
		await press(page, T.requests.newest);
		await rows.nth(1).getByText("endpoint_not_found").waitFor();
		await press(page, new RegExp(T.audit.allActions));
		await page.getByRole("option", { name: T.audit.actions.createKey }).click();
		await page.getByTitle(id).first().waitFor();
		expect(await rowOf(page, T.audit.actions.resumeEndpoint).count()).toBe(0);
		await goTo(page, `#/audit?key=${id}`);
		await page.getByText(T.audit.noMatch).waitFor();
		await page.getByRole("link", { name: T.requests.clear }).click();
		await rowOf(page, "endpoint_not_found").waitFor();
		// What is done elsewhere appears.
		await call(here.service.url, "/v1/endpoints/quiet/pause", { method: "POST" });
		await rows.first().getByText(T.audit.actions.pauseEndpoint).waitFor();
	});

	it("D30: a key without the scope admin reads no audit log", async () => {
		const { key } = await here.key(["write"]);
		const page = await here.open({ key, at: "#/audit", forgive: REFUSED });
		await page.getByText(T.audit.mayNot).waitFor();
	});
});
