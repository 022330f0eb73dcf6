/** Versions of an endpoint in the console, in a real browser: what each changed, and the way back (D50). */
import { describe, expect, it } from "vitest";
import { T } from "../../console/src/text.ts";
import { call } from "../support/service.ts";
import { until } from "../support/until.ts";
import { noBrowser, rowOf, site, titled } from "./site.ts";

const here = site({ endpoints: (place) => ({ changed: place.stage() }) });

describe.skipIf(noBrowser !== undefined)(titled("versions of an endpoint in the console"), () => {
	it("D50: lists what each changed without values of variables, and rolls back", async () => {
		const { url } = here.service;
		const change = { method: "PATCH", body: { env: { TOKEN: "a secret value" } } };
		expect((await call(url, "/v1/endpoints/changed", change)).status).toBe(200);
		const page = await here.open({ at: "#/endpoints/changed/workers" });
		const section = page.getByRole("region", { name: T.releases.title });
		await section.getByText("env.TOKEN").waitFor();
		expect(await section.getByText("a secret value").count()).toBe(0);
		const first = rowOf(page, T.releases.first);
		await first.getByRole("button", { name: T.releases.back }).click();
		await page.getByRole("dialog").getByRole("button", { name: T.releases.back }).click();
		await until("version 3", async () => (await call(url, "/v1/endpoints/changed")).json.version === 3);
		await section.getByText(T.releases.current).waitFor();
	});
});
