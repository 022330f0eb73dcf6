/** Pulls of the docker launcher, with a real daemon and a real registry (D45). */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { systemClock as clock } from "../../src/kernel/system/clock.ts";
import type { RegistryLogin } from "../../src/kernel/core/access/image-registry.ts";
import type { WorkerReason } from "../../src/kernel/core/workers/worker-reason.ts";
import { DockerLauncher } from "../../src/modules/docker/launcher.ts";
import type { DockerSettings } from "../../src/modules/docker/settings.ts";
import type { Handle, Launcher, Notice, WorkerSpec } from "../../src/kernel/launchers/launcher.ts";
import { containersOf, docker, removeAll } from "../support/docker.ts";
import { dockerRegistry, LOGIN, noRegistry, type TestRegistry, titled } from "../support/docker-registry.ts";
import { freePort } from "../support/free-port.ts";
import { until } from "../support/until.ts";
import { exitsOf } from "./index.ts";

const logDir = mkdtempSync(join(tmpdir(), "sluice-docker-images-"));
const serviceId = `test-${randomUUID()}`;
const serviceEnv = { DOCKER_HOST: process.env["DOCKER_HOST"] ?? "" };

function specOf(image: string, change: Partial<DockerSettings> = {}): WorkerSpec<DockerSettings> {
	return {
		workerId: `worker-${randomUUID()}`,
		endpoint: "sample",
		env: { PATH: "/usr/bin:/bin" },
		serviceId,
		settings: {
			type: "docker",
			image,
			pullPolicy: "missing",
			command: ["/bin/sleep", "300"],
			// The image has no programs.
			volumes: ["/usr:/usr:ro", "/bin:/bin:ro", "/lib:/lib:ro", "/lib64:/lib64:ro"],
			network: "none",
			...change,
		},
		url: "http://sluice.example:9",
		gpus: [],
		gpuCount: 0,
		workersMax: 3,
		stopGraceMs: 5000,
	};
}

describe.skipIf(noRegistry !== undefined)(titled("images of the docker launcher"), () => {
	let open: TestRegistry;
	let guarded: TestRegistry;
	const logins = new Map<string, RegistryLogin>();
	const opened: Launcher[] = [];
	const pulled: string[] = [];

	function launcher(): {
		launcher: Launcher;
		exits: ReturnType<typeof exitsOf>;
		notices: Notice[];
		logged: string[];
	} {
		const logged: string[] = [];
		const made = new DockerLauncher({
			clock,
			logDir,
			serviceEnv,
			registryLogin: async (registry, id) => logins.get(id ?? registry),
			log: (message) => void logged.push(message),
		});
		opened.push(made);
		const notices: Notice[] = [];
		made.onNotice?.((notice) => notices.push(notice));
		return { launcher: made, exits: exitsOf(made), notices, logged };
	}

	/** Pushed to a registry of its own. */
	async function image(registry = open, megabytes?: number): Promise<string> {
		const name = await registry.push(`${randomUUID()}/w:1`, megabytes);
		pulled.push(name);
		return name;
	}

	const isPresent = (name: string): Promise<boolean> =>
		docker("image", "inspect", name).then(
			() => true,
			() => false,
		);

	/** Starts a worker that cannot be, and answers why. */
	async function failureOf(name: string): Promise<string> {
		const { launcher: own, exits } = launcher();
		const spec = specOf(name);
		await own.start(spec);
		const { reason } = await exits.next(spec.workerId);
		expect(reason).toMatchObject({ code: "image_pull", crash: true });
		expect(await containersOf(`sluice.worker=${spec.workerId}`)).toEqual([]);
		return reason!.message;
	}

	beforeAll(async () => {
		[open, guarded] = await Promise.all([dockerRegistry(), dockerRegistry({ users: true })]);
	}, 60_000);
	afterEach(async () => {
		for (const each of opened.splice(0)) await each.close();
		await removeAll(`sluice.service=${serviceId}`);
		for (const name of pulled.splice(0)) await docker("rmi", "--force", name).catch(() => {});
		open.pass();
		open.fail(undefined);
		logins.clear();
	});
	afterAll(async () => {
		await Promise.all([open.close(), guarded.close()]);
		rmSync(logDir, { recursive: true, force: true });
	});

	it("D45: workers wait for one pull together, with its percentage, then run", async () => {
		const { launcher: own, notices, exits } = launcher();
		const name = await image(open, 4);
		open.hold();
		const before = open.pulls;
		const specs = [specOf(name), specOf(name)];
		const handles = await Promise.all(specs.map((spec) => own.start(spec)));
		const pulling = { state: "waiting", code: "image_pull", message: `Pulling image ${name}.` };
		expect(new Set(notices)).toEqual(new Set(specs.map(({ workerId }) => ({ workerId, ...pulling }))));
		expect(await own.list()).toEqual([]);
		let allowed = 0;
		const shown = await until("a part of it", () => {
			open.allow(20_000);
			allowed += 20_000;
			return notices.find((notice) => notice.state === "waiting" && (notice.progress ?? 0) > 4);
		});
		expect(shown).toMatchObject(pulling);
		// Of 4 MB. What is shown is a little older.
		expect((shown as WorkerReason).progress).toBeLessThanOrEqual(Math.ceil(allowed / 40_000));
		open.pass();
		for (const { workerId } of specs)
			await until("it runs", () => notices.some((each) => each.workerId === workerId && each.state === "running"));
		expect(new Set(await own.list())).toEqual(new Set(specs.map(({ workerId }) => workerId)));
		expect(open.pulls - before).toBe(1);

		const next = launcher();
		for (const [n, { workerId }] of specs.entries())
			expect(await next.launcher.adopt(workerId, handles[n]!, serviceId)).toBe(true);
		expect(new Set(await next.launcher.list())).toEqual(new Set(specs.map(({ workerId }) => workerId)));
		await Promise.all(specs.map(({ workerId }) => next.launcher.stop(workerId, 0)));
		for (const { workerId } of specs) expect(next.exits.of(workerId)).toHaveLength(1);
		for (const { workerId } of specs) await exits.next(workerId);
	});

	it("D45: a worker is stopped while it waits; no one else waits, so the pull ends", async () => {
		const { launcher: own, exits } = launcher();
		const name = await image(open, 2);
		open.hold();
		const spec = specOf(name);
		await own.start(spec);
		await own.stop(spec.workerId, 600_000);
		expect(exits.of(spec.workerId)).toEqual([{ workerId: spec.workerId, lastOutput: "" }]);
		open.pass();
		const other = specOf(await image());
		await own.start(other);
		await until("another one runs", async () => (await own.list()).length === 1);
		expect(await isPresent(name)).toBe(false);
		expect(await containersOf(`sluice.worker=${spec.workerId}`)).toEqual([]);
	});

	it("D34, D45: the service dies meanwhile: the worker is not adopted, and nothing is left", async () => {
		const { launcher: own } = launcher();
		const name = await image(open, 2);
		open.hold();
		const spec = specOf(name);
		const handle = JSON.parse(JSON.stringify(await own.start(spec))) as Handle;
		await own.close();
		open.pass();
		const next = launcher();
		expect(await next.launcher.adopt(spec.workerId, handle, spec.serviceId)).toBe(false);
		expect(await next.launcher.removeStrays({ serviceId, recorded: [spec.workerId], endpoints: [] })).toBe(0);
		await next.launcher.start(specOf(await image()));
		await until("another one runs", async () => (await next.launcher.list()).length === 1);
		expect(await containersOf(`sluice.worker=${spec.workerId}`)).toEqual([]);
		expect(await isPresent(name)).toBe(false);
	});

	it("D45: a program that cannot be run after the pull is the worker's end, with the reason", async () => {
		const { launcher: own, exits } = launcher();
		const spec = specOf(await image(), { command: ["/bin/none"] });
		await own.start(spec);
		const { reason } = await exits.next(spec.workerId);
		expect(reason).toMatchObject({ code: "start_failed", crash: true });
		expect(reason!.message).toMatch(/\/bin\/none/);
		expect(await containersOf(`sluice.worker=${spec.workerId}`)).toEqual([]);
	});

	it("D45: an image that is present is not pulled; with always, the new one under its tag is", async () => {
		const name = await image();
		await docker("pull", "--quiet", name);
		const old = await docker("image", "inspect", "--format", "{{.Id}}", name);
		await docker("tag", name, "sluice-test-kept:1");
		pulled.push("sluice-test-kept:1");
		await open.push(name.slice(open.name.length + 1));
		await docker("tag", "sluice-test-kept:1", name);
		const { launcher: own, notices } = launcher();
		await own.start(specOf(name));
		expect(notices).toEqual([]);
		expect(await docker("image", "inspect", "--format", "{{.Id}}", name)).toBe(old);
		await own.start(specOf(name, { pullPolicy: "always" }));
		await until("it runs", () => notices.some(({ state }) => state === "running"));
		expect(await docker("image", "inspect", "--format", "{{.Id}}", name)).not.toBe(old);
	});

	it("D45: without a policy nothing is pulled, and the error says how", async () => {
		const name = await image();
		const { launcher: own } = launcher();
		const { pullPolicy: _, ...settings } = specOf(name).settings;
		await expect(own.start({ ...specOf(name), settings })).rejects.toThrow(
			`No such image: ${name}; it must be on the machine: build it there, or set pullPolicy to missing`,
		);
	});

	describe("failures", () => {
		it("D45: no such image", async () => {
			const name = `${open.name}/none:1`;
			expect(await failureOf(name)).toMatch(new RegExp(`^image ${name} cannot be pulled: .*(not found|unknown)`));
		});

		it("D45: no credentials, wrong ones, right ones", async () => {
			const name = await image(guarded);
			expect(await failureOf(name)).toMatch(
				new RegExp(`; there is no such image, or it needs a login: sluice registries login ${guarded.name}$`),
			);
			logins.set(guarded.name, { username: "ci", password: "wrong-password" });
			const refused = await failureOf(name);
			expect(refused).toContain("; user ci has a wrong password");
			expect(refused).not.toContain("wrong-password");
			logins.set(guarded.name, LOGIN);
			const { launcher: own, notices } = launcher();
			await own.start(specOf(name));
			await until("it runs", () => notices.some(({ state }) => state === "running"));
		});

		it("D49: the login that the settings name is used; each login pulls on its own", async () => {
			const name = await image(guarded);
			logins.clear();
			logins.set("3f9c2a17be", LOGIN);
			logins.set("0000000000", { username: "ci", password: "wrong-password" });
			const { launcher: own, notices, exits } = launcher();
			const refused = specOf(name, { registry: "0000000000" });
			await Promise.all([own.start(refused), own.start(specOf(name, { registry: "3f9c2a17be" }))]);
			await until("it runs", () => notices.some(({ state }) => state === "running"));
			const { reason } = await exits.next(refused.workerId);
			expect(reason?.message).toContain("; the login 0000000000 of launcher.registry has a wrong password");
		});

		it("D45: a registry that is not there, or answers with errors", async () => {
			const nowhere = `127.0.0.1:${await freePort()}`;
			expect(await failureOf(`${nowhere}/w:1`)).toMatch(/ cannot be pulled: .*connection refused/);
			open.fail({ status: 503, body: "" });
			expect(await failureOf(`${open.name}/w:1`)).toMatch(/ cannot be pulled: .*503/);
			const errors = [{ code: "TOOMANYREQUESTS", message: "You have reached your pull rate limit." }];
			open.fail({ status: 429, body: JSON.stringify({ errors }) });
			expect(await failureOf(`${open.name}/w:1`)).toMatch(/; a login may pull more: sluice registries login /);
		});
	});

	describe("prepare", () => {
		function reports(): {
			byEndpoint: Map<string, WorkerReason | undefined>;
			report: (endpoint: string, reason: WorkerReason | undefined) => void;
		} {
			const byEndpoint = new Map<string, WorkerReason | undefined>();
			return { byEndpoint, report: (id, reason) => void byEndpoint.set(id, reason) };
		}

		const percentage = (reason: () => WorkerReason | undefined): Promise<number> =>
			until("its percentage", () => {
				open.allow(5000);
				return reason()?.progress;
			});

		it("D45: pulls images of endpoints with a policy, and reports how far it is", async () => {
			const { launcher: own } = launcher();
			const { byEndpoint, report } = reports();
			const [now, later] = [await image(open, 2), await image()];
			open.hold();
			const endpoints = [
				{ id: "now", settings: specOf(now).settings },
				{ id: "later", settings: specOf(later, { prePull: false }).settings },
				{ id: "never", settings: specOf(later, { pullPolicy: "never" }).settings },
			];
			own.prepare?.(endpoints, report);
			await percentage(() => byEndpoint.get("now"));
			open.pass();
			await until("the image", () => byEndpoint.has("now") && byEndpoint.get("now") === undefined);
			expect([await isPresent(now), await isPresent(later)]).toEqual([true, false]);
			expect([...byEndpoint.keys()]).toEqual(["now"]);
		});

		it("D45: another image ends the pull of the one before", async () => {
			const { launcher: own } = launcher();
			const { byEndpoint, report } = reports();
			const [wrong, right] = [await image(open, 2), await image()];
			open.hold();
			own.prepare?.([{ id: "a", settings: specOf(wrong).settings }], report);
			await percentage(() => byEndpoint.get("a"));
			own.prepare?.([{ id: "a", settings: specOf(right).settings }], report);
			open.pass();
			await until("the other one", () => isPresent(right));
			expect(await isPresent(wrong)).toBe(false);
			await until("its report", () => byEndpoint.get("a") === undefined);
		});

		it("D45: a failure is reported and logged", async () => {
			const { launcher: own, logged } = launcher();
			const { byEndpoint, report } = reports();
			const settings = specOf(`${open.name}/none:1`).settings;
			own.prepare?.([{ id: "a", settings }], report);
			const message = await until("the reason", () => {
				const { message: text = "" } = byEndpoint.get("a") ?? {};
				return text.includes(" cannot be pulled: ") && text;
			});
			expect(logged).toEqual([`endpoint a has no image yet: ${message}`]);
			own.prepare?.([], report);
			expect(byEndpoint.get("a")).toBeUndefined();
		});
	});
});
