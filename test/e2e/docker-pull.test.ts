/**
 * A service whose images come from a registry with a password: progress while they are pulled,
 * before a worker is needed and with one that waits; failures with their reason (D29, D45).
 */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { docker, removeAll } from "../support/docker.ts";
import { dockerRegistry, LOGIN, noRegistry, type TestRegistry, titled } from "../support/docker-registry.ts";
import { writtenIn } from "../support/service-store.ts";
import { call, KEY, type ServiceProcess } from "../support/service.ts";
import { until, within } from "../support/until.ts";
import { start } from "./command.ts";
import { ended, run, site, WORKER } from "./site.ts";

const PROGRAMS = ["/usr", "/bin", "/lib", "/lib64"].map((folder) => `${folder}:${folder}:ro`);

describe.skipIf(noRegistry !== undefined)(titled("a service that pulls images"), () => {
	let registry: TestRegistry;
	beforeAll(async () => {
		registry = await dockerRegistry({ users: true });
	}, 60_000);
	afterAll(() => registry.close());

	/** A place with one endpoint, whose image only the registry has. */
	async function placeOf(test: TestContext, launcher: object = {}) {
		const place = site(test);
		const id = `pull-${randomBytes(4).toString("hex")}`;
		const image = await registry.push(`${id}/w:1`, 4);
		test.onTestFinished(async () => {
			registry.pass();
			await removeAll(`sluice.endpoint=${id}`);
			await docker("rmi", "--force", image).catch(() => {});
		});
		const [node, script] = WORKER;
		const root = new URL("../..", import.meta.url).pathname.replace(/\/$/, "");
		const endpoints = {
			[id]: place.launched({
				launcher: {
					type: "docker",
					image,
					pullPolicy: "missing",
					command: [node, script],
					volumes: [...PROGRAMS, `${root}:${root}:ro`, `${place.folder.path}:${place.folder.path}`],
					...launcher,
				},
			}),
		};
		return { place, id, image, endpoints };
	}

	const reasonOf = async (service: ServiceProcess, id: string): Promise<any> =>
		(await call(service.url, `/v1/endpoints/${id}`)).json.reason;

	it("D45: pulls when the endpoint is saved, with the password of 'sluice registries login'", {
		timeout: 60_000,
	}, async (test) => {
		const { place, id, image, endpoints } = await placeOf(test);
		const service = await place.serve({ endpoints });
		const refused = await until("the refusal", async () => {
			const reason = await reasonOf(service, id);
			return reason?.message.includes("cannot be pulled") && reason;
		});
		expect(refused).toEqual({
			code: "image_pull",
			message: expect.stringMatching(
				new RegExp(
					`^Image ${image} cannot be pulled: .+; there is no such image, or it needs a login: ` +
						`sluice registries login ${registry.name}\\.$`,
				),
			),
		});

		const env = { SLUICE_URL: service.url, SLUICE_API_KEY: KEY };
		const around = { cwd: place.folder.path, env };
		const login = start(test, ["registries", "login", registry.name, "--username", LOGIN.username], {
			...around,
			input: `${LOGIN.password}\n`,
		});
		expect(await login.ended).toEqual({
			code: 0,
			stdout: `Stored the login of ci to ${registry.name}. It is checked at the next pull.\n`,
			stderr: "",
		});
		registry.hold();
		const job = await run(service, id, {});
		const pulling = await until("its percentage", async () => {
			registry.allow(20_000);
			const reason = await reasonOf(service, id);
			return reason?.progress > 0 && reason;
		});
		expect(pulling).toMatchObject({ code: "image_pull", message: `Pulling image ${image}.` });
		const list = await start(test, ["workers", "list", id], around).ended;
		expect(list.stdout).toContain(`Pulling image ${image}, ${pulling.progress} %.`);
		const { reason } = (await call(service.url, `/v1/endpoints/${id}/jobs/${job}`)).json;
		expect(reason).toMatchObject({
			code: "worker_starting",
			message: expect.stringContaining(`does not run yet: Pulling image ${image}, `),
		});
		registry.pass();
		expect(await ended(service, id, job)).toMatchObject({ status: "COMPLETED" });
		expect(await reasonOf(service, id)).toBeUndefined();

		const shown = await start(test, ["registries"], around).ended;
		expect(shown.stdout).toMatch(new RegExp(`^REGISTRY +USER +SET\n${registry.name} +ci +20`));
		const answers = await Promise.all(
			["/v1/registries", "/v1/audit", `/v1/endpoints/${id}`].map((path) => call(service.url, path)),
		);
		expect(await service.end()).toBe(0);
		for (const text of [service.stderr(), shown.stdout, ...answers.map((answer) => answer.text)])
			expect(text).not.toContain(LOGIN.password);
		for (const bytes of await writtenIn(place.folder.path)) expect(bytes.includes(LOGIN.password)).toBe(false);
	});

	it("D45: with the login of sluice.yaml; without prePull the first worker's image is pulled", {
		timeout: 60_000,
	}, async (test) => {
		const { place, id, image, endpoints } = await placeOf(test, { prePull: false });
		const login = { username: LOGIN.username, passwordEnv: "PULL_WORD" };
		const service = await place.serve({
			endpoints,
			env: { PULL_WORD: LOGIN.password },
			file: { registries: { [registry.name]: login } },
		});
		const job = await run(service, id, {});
		expect(await ended(service, id, job)).toMatchObject({ status: "COMPLETED" });
		expect(service.stderr()).toContain(`Pulling image ${image}.`);
	});

	it("D34, D45: a service that stops does not wait for a pull", {
		timeout: 60_000,
	}, async (test) => {
		const { place, id, endpoints } = await placeOf(test);
		const service = await place.serve({ endpoints });
		await call(service.url, `/v1/registries/${registry.name}`, { method: "PUT", body: LOGIN });
		registry.hold();
		await run(service, id, {});
		await until("its percentage", async () => {
			registry.allow(20_000);
			return (await reasonOf(service, id))?.progress > 0;
		});
		expect(await within("the stop", service.end(), 10_000)).toBe(0);
	});
});
