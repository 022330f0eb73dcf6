/**
 * A foreign endpoint whose environment has a literal `${SLUICE_API_KEY}` goes through `import runpod`, and
 * from there through `apply` and `serve`: what its environment is. And whether a `sluice.yaml` may give the service's
 * own variables to workers. Prints JSON. `node bench/attacks/foreign-template.ts`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { KEY } from "../processes.ts";
import { type Attacked, attacked, print } from "./parts/attacked.ts";
import { sluice } from "./parts/commands.ts";
import { judged } from "./parts/verdict.ts";

const FOREIGN = {
	KEY: "${SLUICE_API_KEY}",
	SECRET: "$${SLUICE_SECRET}",
	INSIDE: "--key=${SLUICE_API_KEY}",
	SHELL: "$SLUICE_API_KEY",
};
/** Of the service itself. */
const RESERVED = ["SLUICE_API_KEY", "SLUICE_SECRET", "SLUICE_SECRET_PREVIOUS", "SLUICE_STORE", "PGPASSWORD"];
const TEMPLATE = {
	id: "foreign",
	name: "foreign",
	type: "QUEUE",
	image: "example.com/image:1",
	env: FOREIGN,
	workers: { min: 0, max: 1, idleTimeout: 5 },
	scaling: { type: "QUEUE_DELAY", queueDelay: 4 },
};

/** Names whose values are not the texts of the template. */
async function changed({ call }: Attacked): Promise<string[]> {
	const { json } = await call("/v2/serverless/foreign");
	const env: Record<string, string> = json?.env ?? {};
	return Object.entries(FOREIGN).flatMap(([name, text]) => (env[name] === text ? [] : [name]));
}

/** Those of the service's own variables that a `sluice.yaml` gives to workers. */
async function given({ folder, url, call }: Attacked): Promise<string[]> {
	const found = [];
	for (const name of RESERVED) {
		const file = join(folder, `${name}.yaml`);
		const own = { launcher: { type: "external" }, env: { VALUE: `\${${name}}` } };
		writeFileSync(file, JSON.stringify({ endpoints: { own } }));
		const isRefused = await sluice(folder, url, "apply", "-f", file, "--yes").then(
			() => false,
			() => true,
		);
		if (!isRefused || (await call("/v1/endpoints/own")).status !== 404) found.push(name);
	}
	return found;
}

const management = { launcher: "docker" };
const { applied, reserved, file, leaked } = await attacked({ file: { management } }, async (service) => {
	const { folder, url, call } = service;
	const [from, to] = [join(folder, "foreign.json"), join(folder, "foreign.yaml")];
	writeFileSync(from, JSON.stringify(TEMPLATE));
	await sluice(folder, url, "import", "runpod", from, "--output", to);
	await sluice(folder, url, "apply", "-f", to, "--yes");
	const shown = JSON.stringify((await call("/v2/serverless/foreign")).json);
	return {
		applied: await changed(service),
		leaked: shown.includes(KEY),
		reserved: await given(service),
		file: parse(readFileSync(to, "utf8")) as object,
	};
});
const served = await attacked({ file: { ...file, management } }, changed);
print("foreign-template", {
	...judged({
		changedByApply: { found: applied.length, atMost: 0 },
		changedByServe: { found: served.length, atMost: 0 },
		answersWithTheKey: { found: Number(leaked), atMost: 0 },
		ownVariablesGiven: { found: reserved.length, atMost: 0 },
	}),
	changed: { applied, served },
	ownVariablesGiven: reserved,
});
