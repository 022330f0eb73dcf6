/**
 * Answers of the management API against RunPod's own description of it (D49), which is not part of this repository:
 * `RUNPOD_OPENAPI` names its file, `api-reference-v2/openapi.json` of runpod/docs.
 */
import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { handWorker } from "../hand-worker.ts";
import { BODY, CPU_BODY, type Managed, managedService } from "./managed-endpoints.ts";

const FILE = process.env["RUNPOD_OPENAPI"];

describe.skipIf(FILE === undefined)("answers fit RunPod's schema", () => {
	let managed: Managed;
	let document: any;
	const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
	const seen = new Set<string>();

	beforeAll(async () => {
		managed = await managedService();
		document = JSON.parse(readFileSync(FILE!, "utf8"));
		ajv.addSchema(document, "runpod");
	});
	afterAll(() => managed.service.end());

	/** Calls and validates; `template` is the path as RunPod writes it. Returns the JSON. */
	async function checked(
		status: number,
		method: string,
		template: string,
		q: { id?: string; query?: string; body?: unknown } = {},
	): Promise<any> {
		const path = template.replace(/\{\w+\}/, encodeURIComponent(q.id ?? "")) + (q.query ?? "");
		const answer = await managed.ask(method, path, q.body);
		const what = `${method} ${path}: ${answer.text}`;
		expect(answer.status, what).toBe(status);
		const responses = document.paths[`/v2${template}`][method.toLowerCase()].responses;
		const name = String(status) in responses ? String(status) : "default";
		const { content } = resolved(responses[name]);
		if (!content) {
			expect(answer.text, what).toBe("");
			return undefined;
		}
		const [media] = Object.keys(content);
		expect(answer.headers.get("content-type"), what).toBe(media);
		const validate = ajv.compile({ ...content[media!].schema, components: document.components });
		expect(validate(answer.json) ? [] : validate.errors, what).toEqual([]);
		seen.add(`${method} ${template} ${status}`);
		return answer.json;
	}

	function resolved(node: any): any {
		if (!node.$ref) return node;
		return (node.$ref as string)
			.slice(2)
			.split("/")
			.reduce((at, part) => at[part], document);
	}

	it("D49: endpoints, their workers and releases", async () => {
		const { id } = await checked(201, "POST", "/serverless", { body: BODY });
		const other = await checked(201, "POST", "/serverless", { body: CPU_BODY });
		await checked(422, "POST", "/serverless", { body: { ...BODY, scaling: undefined } });
		await checked(400, "POST", "/serverless", { body: { ...BODY, cpu: CPU_BODY.cpu } });
		await checked(404, "POST", "/serverless", { body: { ...BODY, templateId: "none" } });
		const worker = await handWorker(managed.service, "file");
		await worker.ping();
		expect((await checked(200, "GET", "/serverless/{id}/workers", { id: "file" })).summary.idle).toBe(1);
		const { endpoints } = await checked(200, "GET", "/serverless");
		expect(endpoints).toHaveLength(3);
		for (const each of [id, other.id, "file"]) {
			await checked(200, "GET", "/serverless/{id}", { id: each });
			await checked(200, "GET", "/serverless/{id}/workers", { id: each });
			await checked(200, "GET", "/serverless/{id}/releases", { id: each });
		}
		await checked(200, "PATCH", "/serverless/{id}", { id, body: { image: "exact:1", workers: { max: 0, min: 0 } } });
		const { releases } = await checked(200, "GET", "/serverless/{id}/releases", { id });
		expect(releases.length).toBeGreaterThan(1);
		await checked(422, "PATCH", "/serverless/{id}", { id, body: { type: "QUEUE" } });
		await checked(400, "PATCH", "/serverless/{id}", { id, body: { cpu: CPU_BODY.cpu } });
		await checked(204, "DELETE", "/serverless/{id}", { id });
		for (const part of ["", "/workers", "/releases"]) await checked(404, "GET", `/serverless/{id}${part}`, { id });
		await checked(404, "PATCH", "/serverless/{id}", { id, body: {} });
		await checked(404, "DELETE", "/serverless/{id}", { id });
	});

	it("D49: templates, registries and network volumes", async () => {
		const { id: registry } = await checked(201, "POST", "/registries", {
			body: { name: "r", username: "u", password: "p" },
		});
		await checked(422, "POST", "/registries", { body: { name: "r" } });
		const template = { name: "t", image: "exact:1", serverless: true, registry, env: { A: "1" }, cmd: ["x"] };
		const { id } = await checked(201, "POST", "/templates", { body: template });
		await checked(201, "POST", "/templates", {
			body: { name: "m", image: "exact:1", mounts: { persistent: { size: 20, path: "/workspace" } } },
		});
		await checked(422, "POST", "/templates", { body: { name: "t" } });
		await checked(200, "GET", "/templates/{id}", { id });
		await checked(200, "PATCH", "/templates/{id}", { id, body: { name: "u", args: "python a b" } });
		await checked(422, "PATCH", "/templates/{id}", { id, body: { none: 1 } });
		await checked(200, "GET", "/templates");
		const volume = await checked(201, "POST", "/network-volumes", {
			body: { name: "v", size: 10, dataCenter: "local" },
		});
		await checked(400, "POST", "/network-volumes", { body: { name: "v", size: 10, dataCenter: "none" } });
		await checked(422, "POST", "/network-volumes", { body: { name: "v", size: 1, dataCenter: "local" } });
		await checked(200, "PATCH", "/network-volumes/{id}", { id: volume.id, body: { size: 20 } });
		await checked(400, "PATCH", "/network-volumes/{id}", { id: volume.id, body: { size: 10 } });
		await checked(422, "PATCH", "/network-volumes/{id}", { id: volume.id, body: {} });
		await checked(200, "GET", "/network-volumes");
		await checked(200, "GET", "/network-volumes/{id}", { id: volume.id });
		await checked(200, "GET", "/registries");
		await checked(200, "GET", "/registries/{id}", { id: registry });
		const body = { ...BODY, image: undefined, templateId: id, networkVolumes: [volume.id] };
		const endpoint = await checked(201, "POST", "/serverless", { body });
		expect(endpoint).toMatchObject({ registry, networkVolumes: [volume.id], env: { A: "1", MODEL: "small" } });
		await checked(400, "DELETE", "/registries/{id}", { id: registry });
		await checked(204, "DELETE", "/serverless/{id}", { id: endpoint.id });
		for (const [path, each] of [
			["/templates/{id}", id],
			["/network-volumes/{id}", volume.id],
			["/registries/{id}", registry],
		] as const) {
			await checked(204, "DELETE", path, { id: each });
			await checked(404, "GET", path, { id: each });
			await checked(404, "DELETE", path, { id: each });
		}
	});

	it("D49: the catalog", async () => {
		const details = "?include=AVAILABILITY&product=SERVERLESS";
		for (const query of ["", details]) {
			await checked(200, "GET", "/catalog/gpus", { query });
			const { cpus } = await checked(200, "GET", "/catalog/cpus", { query });
			for (const { id } of cpus) await checked(200, "GET", "/catalog/cpus/{id}", { id, query });
		}
		const query = "?include=GPU_AVAILABILITY,CPU_AVAILABILITY";
		for (const each of ["", query]) await checked(200, "GET", "/catalog/datacenters", { query: each });
		await checked(200, "GET", "/catalog/datacenters/{id}", { id: "local", query });
		for (const part of ["gpus", "cpus", "datacenters"])
			await checked(404, "GET", `/catalog/${part}/{id}`, { id: "none such" });
		await checked(200, "GET", "/catalog/templates");
	});

	it("D49: pods and what Sluice does not have", async () => {
		await checked(200, "GET", "/pods");
		for (const path of ["/billing", "/clusters", "/account/ssh-keys"]) await checked(501, "GET", path);
	});
});
