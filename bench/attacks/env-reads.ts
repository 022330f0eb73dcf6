/**
 * Values of `env` of an endpoint and of a template, asked for by keys that may not write them, on every route of `/v1`
 * and `/v2` that shows such an object; and whether each read by an admin key is in the audit. Prints JSON. `node
 * bench/attacks/env-reads.ts`.
 */
import { attacked, counts, print } from "./parts/attacked.ts";
import { judged } from "./parts/verdict.ts";

const VALUE = "planted-value-of-a-variable";
const SCOPES: Record<string, object> = {
	read: { scopes: ["read"] },
	write: { scopes: ["write"] },
	"read, write": { scopes: ["read", "write"] },
	"read, write of the endpoint": { scopes: ["read", "write"], endpoints: ["noop"] },
};

const endpoint = { env: { TOKEN: VALUE } };
const figures = await attacked({ endpoint, file: { management: { launcher: "docker" } } }, async (service) => {
	const { call } = service;
	const template = JSON.stringify({ name: "t", image: "a:1", env: { TOKEN: VALUE }, public: true });
	const { id } = (await call("/v2/templates", { body: template })).json;
	const objects = ["/v2/serverless/noop", `/v2/templates/${id}`];
	const lists = ["/v2/serverless", "/v2/templates", "/v2/templates?limit=1", "/v2/catalog/templates"];
	const others = [
		...["/v2/serverless/noop/releases", "/v2/serverless/noop/workers", "/v1/endpoints", "/v1/endpoints/noop"],
		...["/v1/endpoints/noop/releases", "/v1/endpoints/noop/workers", "/v1/audit?limit=100", "/v1/logs", "/metrics"],
	];
	const shows = async (path: string, key: string, method = "GET", body?: string): Promise<[number, boolean]> => {
		const answer = await fetch(`${service.url}${path}`, {
			method,
			headers: { authorization: `Bearer ${key}` },
			...(body !== undefined && { body }),
		});
		return [answer.status, (await answer.text()).includes(VALUE)];
	};
	const leaks: string[] = [];
	const statuses: number[] = [];
	for (const [name, key] of Object.entries(SCOPES)) {
		const made = await call("/v1/keys", { body: JSON.stringify({ name: "attacker", ...key }) });
		if (made.status !== 201) throw new Error(`the key '${name}' was answered ${made.status}`);
		const tries: [path: string, method: string, body?: string][] = [
			...[...objects, ...lists, ...others].map((path): [string, string] => [path, "GET"]),
			...objects.map((path): [string, string, string] => [path, "PATCH", "{}"]),
			["/v1/endpoints/noop", "PATCH", "{}"],
			["/v1/endpoints/noop?dryRun=true", "PUT", '{"launcher":{"type":"external"}}'],
			["/v1/endpoints/noop/releases/1/rollback", "POST"],
			["/v1/diff", "POST", '{"endpoints":{"noop":{}}}'],
		];
		for (const [path, method, body] of tries) {
			const [status, isShown] = await shows(path, made.json.key, method, body);
			statuses.push(status);
			if (isShown) leaks.push(`${name}: ${method} ${path}`);
		}
	}
	let unrecorded = 0;
	for (const path of [...objects, ...lists]) {
		// A read is recorded once for a key and an object in ten minutes, so each has a key of its own.
		const admin = (await call("/v1/keys", { body: JSON.stringify({ name: "admin", scopes: ["admin"] }) })).json;
		const [, isShown] = await shows(path, admin.key);
		const { entries } = (await call(`/v1/audit?key=${admin.id}&limit=100`)).json;
		if (isShown && entries.length === 0) unrecorded += 1;
	}
	const [, isShownToAdmin] = await shows(
		objects[0]!,
		(
			await call("/v1/keys", {
				body: JSON.stringify({ name: "admin", scopes: ["admin"] }),
			})
		).json.key,
	);
	return {
		...judged({
			answersWithValues: { found: leaks.length, atMost: 0 },
			readsOfAdminKeysNotRecorded: { found: unrecorded, atMost: 0 },
			valuesThatAnAdminKeySees: { found: Number(isShownToAdmin), atLeast: 1 },
		}),
		keys: Object.keys(SCOPES).length,
		answers: counts(statuses),
		leaks,
	};
});
print("env-reads", figures);
