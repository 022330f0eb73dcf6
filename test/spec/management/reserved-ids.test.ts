/** An endpoint of an earlier version whose id is now a path of the management API. */
import { MODULES } from "../../../src/modules/index.ts";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it, onTestFinished } from "vitest";
import { eventBus } from "../../../src/kernel/events.ts";
import { loadConfig } from "../../../src/kernel/config/config.ts";
import { startApp } from "../../../src/kernel/compose.ts";
import { systemClock } from "../../../src/kernel/system/clock.ts";
import { call, folder, KEY, startService } from "../../support/service.ts";
import { ON_POSTGRES } from "../../support/service-store.ts";

it.skipIf(ON_POSTGRES)("D49: still works at /sdk/v2, and is named at the start", async () => {
	const place = folder();
	onTestFinished(() => place.remove());
	const before = await startService({ endpoints: { old: {} }, in: place });
	await before.end();
	const db = new DatabaseSync(join(place.path, "sluice.db"));
	db.prepare("UPDATE endpoints SET id = 'templates' WHERE id = 'old'").run();
	db.close();
	const events = eventBus();
	const named: string[] = [];
	events.on("endpoint.reserved", ({ endpoint }) => named.push(endpoint));
	const loaded = loadConfig({
		modules: MODULES,
		flags: { port: "0", "drain-timeout": "0", store: "sqlite:sluice.db" },
		env: { SLUICE_API_KEY: KEY },
		cwd: place.path,
		readFile: () => undefined,
	});
	if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
	const app = await startApp(loaded.config, { modules: MODULES, clock: systemClock, events, env: {} });
	onTestFinished(() => app.stop());
	expect(named).toEqual(["templates"]);
	const { status, json } = await call(app.url, "/sdk/v2/templates/run", { body: { input: {} } });
	expect([status, json.status]).toEqual([200, "IN_QUEUE"]);
	expect((await call(app.url, "/v2/templates")).json).toMatchObject({ templates: [] });
	expect((await call(app.url, "/v2/templates/run", { body: { input: {} } })).status).toBe(405);
	expect((await call(app.url, "/v2/serverless/templates")).json.requestUrls.run).toBe(
		`${app.url}/sdk/v2/templates/run`,
	);
});
