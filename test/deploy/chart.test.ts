/**
 * The chart and the Kustomize overlays (docs/decisions/0006-packages-and-node.md): the values, what
 * the templates make of them, and that both ways apply the same objects.
 */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Ajv } from "ajv";
import { beforeAll, describe, expect, it } from "vitest";
import {
	CHART,
	chartRenderer,
	defaultValues,
	type KubernetesObject,
	kustomizeFiles,
	noRenderer,
	OVERLAYS,
	type Renderer,
	withoutHelm,
} from "../../scripts/chart.ts";
import { RIGHTS } from "../../src/modules/kubernetes/doctor.ts";
import { EVERYTHING, kustomized, noKubectl } from "./objects.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const KUSTOMIZE = join(ROOT, "deploy/kustomize");
const schema = JSON.parse(readFileSync(join(CHART, "values.schema.json"), "utf8"));
const accepts = new Ajv({ allErrors: true, strictTypes: false }).compile(schema);

/** The problems of the default values with these over them, one level deep. */
function problems(over: Record<string, unknown>): string[] {
	const values = defaultValues();
	for (const [name, value] of Object.entries(over))
		values[name] = typeof value === "object" && !Array.isArray(value) ? { ...values[name], ...value } : value;
	accepts(values);
	return (accepts.errors ?? [])
		.filter(({ keyword }) => keyword !== "if")
		.map(({ instancePath, message }) => `${instancePath} ${message}`);
}

describe("values.schema.json", () => {
	it("accepts the defaults, the overlays and all options together", () => {
		for (const values of [{}, ...Object.values(OVERLAYS), EVERYTHING]) expect(problems(values)).toEqual([]);
	});

	it.each<[string, Record<string, unknown>, RegExp]>([
		["two replicas on one SQLite file", { replicas: 2 }, /^\/replicas /],
		["an autoscaler on one SQLite file", { autoscaling: { enabled: true } }, /^\/autoscaling/],
		[
			"servers without a common secret",
			{ store: "postgres", secret: { existingSecret: "" } },
			/^\/secret\/existingSecret /,
		],
		["a setting that does not exist", { replica: 1 }, /additional properties/],
		["a secret as a value", { apiKey: { value: "x" } }, /^\/apiKey .*additional properties/],
		["an address with spaces", { publicUrl: "http://a b" }, /^\/publicUrl /],
		["user and password as one part", { postgres: { user: "sluice:pw" } }, /^\/postgres\/user /],
	])("refuses %s", (_, values, problem) => {
		expect(problems(values)).toEqual([expect.stringMatching(problem)]);
	});
});

describe.skipIf(noRenderer !== undefined)(
	noRenderer === undefined ? "the chart" : `the chart (skipped: ${noRenderer})`,
	() => {
		let renderer: Renderer;
		beforeAll(() => {
			renderer = chartRenderer();
			return () => renderer.remove();
		}, 180_000);

		const one = async (kind: string, values: object): Promise<KubernetesObject> =>
			(await renderer.objects(values)).find((each) => each.kind === kind)!;
		const kinds = async (values: object): Promise<string[]> =>
			(await renderer.objects(values)).map(({ kind }) => kind).toSorted();
		async function variables(values: object): Promise<Record<string, unknown>> {
			const { spec } = await one("Deployment", values);
			const { env } = spec.template.spec.containers[0] as {
				env: { name: string; value?: string; valueFrom?: { secretKeyRef?: object } }[];
			};
			return Object.fromEntries(env.map(({ name, value, valueFrom }) => [name, value ?? valueFrom?.secretKeyRef]));
		}

		it("has with SQLite one replica, which ends before the next one starts, on a volume", async () => {
			const { spec } = await one("Deployment", {});
			expect(spec).toMatchObject({ replicas: 1, strategy: { type: "Recreate" } });
			expect(spec.template.spec.volumes[0]).toEqual({
				name: "data",
				persistentVolumeClaim: { claimName: "sluice" },
			});
			expect(await variables({})).toMatchObject({ SLUICE_STORE: "sqlite:/data/sluice/sluice.db" });
			expect(await kinds({})).toEqual([
				"ConfigMap",
				"Deployment",
				"NetworkPolicy",
				"PersistentVolumeClaim",
				"Role",
				"RoleBinding",
				"Service",
				"ServiceAccount",
			]);
			expect(await kinds({ persistence: { existingClaim: "old" } })).not.toContain("PersistentVolumeClaim");
		});

		it("has with PostgreSQL replicas that are replaced one by one and spread", async () => {
			const { spec } = await one("Deployment", OVERLAYS.postgres);
			expect(spec).toMatchObject({
				replicas: 2,
				strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0 } },
			});
			expect(spec.template.spec.topologySpreadConstraints).toHaveLength(2);
			expect(spec.template.spec.volumes[0]).toEqual({ name: "data", emptyDir: {} });
			const found = await kinds(OVERLAYS.postgres);
			expect(found).toContain("PodDisruptionBudget");
			expect(found).not.toContain("PersistentVolumeClaim");
			expect(found).not.toContain("HorizontalPodAutoscaler");
		});

		it("reads every secret from a Secret, the address of the database as a whole or in parts", async () => {
			expect(await variables(OVERLAYS.postgres)).toMatchObject({
				SLUICE_API_KEY: { name: "sluice", key: "api-key" },
				SLUICE_SECRET: { name: "sluice", key: "secret" },
				SLUICE_STORE: { name: "sluice", key: "database-url" },
				SLUICE_PUBLIC_URL: "http://sluice.$(POD_NAMESPACE).svc:8080",
				SLUICE_ADVERTISE_URL: "http://$(POD_IP):8080",
			});
			const parts = { host: "db.example.com", existingSecret: "db", passwordKey: "pw" };
			const found = await variables({ ...OVERLAYS.postgres, postgres: parts });
			expect(found).toMatchObject({
				PGPASSWORD: { name: "db", key: "pw" },
				SLUICE_STORE: "postgres://sluice@db.example.com:5432/sluice?sslmode=verify-full",
			});
			expect(await variables({ apiKey: { existingSecret: "" } })).not.toHaveProperty("SLUICE_API_KEY");
		});

		it.each(Object.entries({ ...OVERLAYS, everything: EVERYTHING }))(
			"fits a restricted namespace: %s",
			async (_, values) => {
				const { spec } = (await one("Deployment", values)).spec.template;
				expect(spec.securityContext).toMatchObject({
					runAsNonRoot: true,
					runAsUser: 1000,
					seccompProfile: { type: "RuntimeDefault" },
				});
				for (const { securityContext } of spec.containers)
					expect(securityContext).toEqual({
						allowPrivilegeEscalation: false,
						readOnlyRootFilesystem: true,
						capabilities: { drop: ["ALL"] },
					});
				const allowed = ["configMap", "emptyDir", "persistentVolumeClaim", "secret"];
				for (const { name: _name, ...volume } of spec.volumes) expect(allowed).toContain(Object.keys(volume)[0]);
				expect(spec).not.toHaveProperty("hostNetwork");
			},
		);

		it("replaces the Pods when the configuration changes", async () => {
			const sum = async (config: object): Promise<string> => {
				const { spec } = await one("Deployment", { config });
				return spec.template.metadata.annotations["checksum/config"];
			};
			expect(await sum({ gpus: 1 })).toMatch(/^[0-9a-f]{64}$/);
			expect(await sum({ gpus: 1 })).not.toBe(await sum({ gpus: 2 }));
			const { data } = await one("ConfigMap", { config: { gpus: 1 } });
			expect(data).toEqual({ "sluice.yaml": "endpoints: {}\ngpus: 1\n" });
			const text = "gpus: 1 # of this node\n";
			expect((await one("ConfigMap", { config: text })).data).toEqual({ "sluice.yaml": text });
		});

		it("gives the rights that the launcher needs, in each namespace of workers", async () => {
			const roles = (await renderer.objects({ kubernetesLauncher: { namespaces: ["a", "b"] } })).filter(
				({ kind }) => kind === "Role",
			);
			expect(roles.map(({ metadata }) => metadata.namespace)).toEqual(["a", "b", "sluice"]);
			for (const { rules } of roles.slice(0, 2))
				expect(rules).toEqual(RIGHTS.map(({ resource, verbs }) => ({ apiGroups: [""], resources: [resource], verbs })));
			const ofOwnPod = { apiGroups: [""], resources: ["pods"], verbs: ["get"] };
			expect(roles[2]!.rules, "for the image of adapters").toEqual([ofOwnPod]);
			const count = async (namespaces: string[]): Promise<number> =>
				(await kinds({ kubernetesLauncher: { namespaces } })).filter((kind) => kind === "Role").length;
			expect([await count([]), await count(["sluice", "a"])]).toEqual([1, 2]);
			const without = { kubernetesLauncher: { enabled: false } };
			expect(await kinds(without)).not.toContain("Role");
			expect((await one("Deployment", without)).spec.template.spec.automountServiceAccountToken).toBe(false);
		});

		it("speaks https everywhere once it has a certificate", async () => {
			const values = { ...EVERYTHING, store: "postgres", tls: { existingSecret: "cert" } };
			const { spec } = await one("Deployment", values);
			const [container] = spec.template.spec.containers;
			for (const probe of ["startupProbe", "livenessProbe", "readinessProbe"])
				expect(container[probe].httpGet.scheme).toBe("HTTPS");
			expect(await variables(values)).toMatchObject({
				SLUICE_TLS_CERT: "/etc/sluice-tls/tls.crt",
				SLUICE_ADVERTISE_URL: "https://$(POD_IP):8080",
			});
			expect((await one("ServiceMonitor", values)).spec.endpoints[0].scheme).toBe("https");
			expect((await renderer.texts(values))["NOTES.txt"]).toContain("https://sluice.sluice.svc");
		});

		it("makes every optional object when it is enabled", async () => {
			expect(await kinds(EVERYTHING)).toEqual(
				expect.arrayContaining(["HorizontalPodAutoscaler", "Ingress", "ServiceMonitor"]),
			);
			const { spec } = await one("Deployment", EVERYTHING);
			expect(spec).not.toHaveProperty("replicas");
		});

		it("has in deploy/kustomize what npm run kustomize makes of it", async () => {
			const made = await kustomizeFiles(renderer);
			const present = (readdirSync(KUSTOMIZE, { recursive: true }) as string[]).filter((path) =>
				path.endsWith(".yaml"),
			);
			expect(present.toSorted()).toEqual([...made.keys()].toSorted());
			for (const [path, text] of made) expect(readFileSync(join(KUSTOMIZE, path), "utf8"), path).toBe(text);
		});

		it.skipIf(noKubectl).for(Object.keys(OVERLAYS) as (keyof typeof OVERLAYS)[])(
			"makes the same objects as the overlay %s",
			async (name) => {
				const byName = (objects: KubernetesObject[]): Record<string, KubernetesObject> =>
					Object.fromEntries(objects.map((each) => [`${each.kind} ${each.metadata.name}`, withoutHelm(each)]));
				// Kustomize names a configuration by its hash where Helm adds one to the Pods.
				const text = JSON.stringify(await kustomized(join(KUSTOMIZE, "overlays", name)));
				const overlay = JSON.parse(text.replace(/(sluice-config)-[a-z0-9]{10}/g, "$1"));
				expect(byName(overlay)).toEqual(byName(await renderer.objects(OVERLAYS[name])));
			},
		);
	},
);
