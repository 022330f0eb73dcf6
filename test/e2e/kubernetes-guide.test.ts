/** The commands of the Kubernetes guide run on a real cluster, from nothing to a result (D36). */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { kubectl } from "../deploy/objects.ts";
import { DOCKER, ADMIN, noKubernetes, ON_NODE, titledKubernetes } from "../support/kubernetes.ts";
import { IMAGE, makeImage } from "../support/docker.ts";
import { freePort } from "../support/free-port.ts";
import { folder } from "../support/service.ts";
import { blocksOf, runBlocks, write } from "./guide-shell.ts";
import { WIRE_WORKER } from "./site.ts";

const PAGE = "docs/guides/kubernetes.md";
const ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const [rights, service] = blocksOf(PAGE).filter(({ language }) => language === "yaml");

/** What the cluster of the tests lacks: a network for Pods, GPUs, volumes, a registry. */
function onNode(port: number): string {
	const { endpoints } = parse(service!.text);
	const { gpusPerWorker: _, ...ocr } = endpoints.ocr;
	const launcher = {
		...ocr.launcher,
		image: IMAGE,
		imagePullPolicy: "Never",
		command: ["/bin/node", WIRE_WORKER[1]],
		resources: {},
		volumes: [`${ROOT}:${ROOT}:ro`],
		runAsUser: 0,
		podTemplate: ON_NODE,
	};
	return stringify({ publicUrl: `http://127.0.0.1:${port}`, endpoints: { ocr: { ...ocr, launcher } } });
}

describe.skipIf(noKubernetes !== undefined)(titledKubernetes("the Kubernetes guide"), () => {
	it("D36: its commands give the rights, check them, reach the service from a Pod and end in a result", {
		timeout: 180_000,
		retry: 0,
	}, async ({ onTestFinished }) => {
		await makeImage(DOCKER);
		const place = folder();
		onTestFinished(() => place.remove());
		onTestFinished(
			async () => void (await kubectl("--kubeconfig", ADMIN, "delete", "namespace", "jobs", "--wait=false")),
		);
		const port = await freePort();
		write(place.path, {
			"rights.yaml": rights!.text,
			"sluice.yaml": onNode(port),
			kubeconfig: readFileSync(ADMIN, "utf8"),
		});
		const blocks = blocksOf(PAGE).filter(({ notRun = "" }) => notRun.includes("kubernetes-guide.test.ts"));
		const own = `--image-pull-policy=Never --overrides='${JSON.stringify(ON_NODE)}'`;
		const fetches = `process.stdin.once("data", (url) => fetch(url).then(async (a) => console.log(await a.text())))`;
		const probe = `--image=${IMAGE} ${own} --command -- /bin/node -e '${fetches}'`;
		const said = await runBlocks(blocks, {
			cwd: place.path,
			port,
			replace: [
				[/~\/\.kube\/config/, join(place.path, "kubeconfig")],
				[/"\$REGISTRY_PASSWORD"/, "secret"],
				[/--image=curlimages\/curl --command -- xargs curl -sS -m 5/, probe],
				[/192\.168\.1\.10:8080/, `127.0.0.1:${port}`],
			],
		});
		expect(said.join("\n")).toMatch(/All rights in namespace jobs/);
		expect(said.at(-2)).toContain('{"ok":true}');
		// The output of the job, and its worker.
		expect(said.at(-1)).toMatch(/^\[\]\n[^]*\bocr-\w+ +idle +kubernetes\b/);
	});
});
