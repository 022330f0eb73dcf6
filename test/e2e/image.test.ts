/**
 * The image of the Dockerfile, built and run by a real daemon on a base that `SLUICE_TEST_IMAGE_BASE`
 * names: without root, on a read-only root file system, with its data in a volume (D34).
 */
import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, it, type TestContext } from "vitest";
import { docker } from "../support/docker.ts";
import { freePort } from "../support/free-port.ts";
import { buildServiceImage, noServiceImage, SERVICE_IMAGE } from "../support/service-image.ts";
import { call, KEY } from "../support/service.ts";
import { until } from "../support/until.ts";

describe.skipIf(noServiceImage !== undefined)(
	noServiceImage === undefined ? "the image" : `the image (skipped: ${noServiceImage})`,
	() => {
		beforeAll(buildServiceImage, 600_000);

		/** A running container of the image with this volume; returns its id and address. */
		async function running(test: TestContext, volume: string): Promise<[id: string, url: string]> {
			const port = await freePort();
			const id = await docker(
				...["run", "--detach", "--network", "host", "--read-only", "--volume", `${volume}:/data`],
				...["--env", `SLUICE_PORT=${port}`, "--env", "SLUICE_HOST=127.0.0.1"],
				...["--env", `SLUICE_API_KEY=${KEY}`, SERVICE_IMAGE],
			);
			test.onTestFinished(async () => void (await docker("rm", "--force", id)));
			const status = ["inspect", "--format", "{{.State.Health.Status}}", id];
			await until("the container is healthy", async () => (await docker(...status)) === "healthy", 60_000);
			return [id, `http://127.0.0.1:${port}`];
		}

		it("D34: runs without root on a read-only file system, and keeps its jobs in the volume", async (test) => {
			const volume = `sluice-test-data-${randomBytes(4).toString("hex")}`;
			test.onTestFinished(async () => void (await docker("volume", "rm", "--force", volume)));
			const [id, url] = await running(test, volume);
			expect(await docker("exec", id, "id", "-u")).toBe("1000");
			await expect(docker("exec", id, "touch", "/app/x")).rejects.toThrow("Read-only file system");
			const body = { id: "kept", launcher: { type: "external" } };
			expect((await call(url, "/v1/endpoints", { body })).status).toBe(201);
			const job = (await call(url, "/v2/kept/run", { body: { input: {} } })).json.id as string;
			await docker("stop", id);
			expect(await docker("inspect", "--format", "{{.State.ExitCode}}", id)).toBe("0");
			const [, again] = await running(test, volume);
			expect((await call(again, `/v2/kept/status/${job}`)).json.status).toBe("IN_QUEUE");
		}, 120_000);

		it("lists the packages of the service, and has no others", async () => {
			const bom = JSON.parse(await docker("run", "--rm", "--entrypoint", "cat", SERVICE_IMAGE, "sbom.cdx.json")) as {
				components: { name: string }[];
			};
			const listed = bom.components.map(({ name }) => name);
			expect(listed).toContain("pg");
			const folders = await docker("run", "--rm", "--entrypoint", "ls", SERVICE_IMAGE, "node_modules");
			for (const name of folders.split("\n").filter((each) => /^[a-z]/.test(each))) expect(listed).toContain(name);
		});
	},
);
