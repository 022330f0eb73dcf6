/**
 * The chart of `deploy/helm`, rendered as `helm template` does by `helm-template.go`, and the
 * Kustomize files that are made of it (decision 0006).
 */
import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse, parseAllDocuments, stringify } from "yaml";

export const CHART = fileURLToPath(new URL("../deploy/helm/sluice", import.meta.url));
const SOURCE = fileURLToPath(new URL("helm-template.go", import.meta.url));

/** Where Debian's packages have the sources of Go libraries. */
const LIBRARIES = "/usr/share/gocode";

/** Why charts cannot be rendered here; undefined where they can. */
export const noRenderer: string | undefined = ["Masterminds/sprig", "sigs.k8s.io/yaml"].every((name) =>
	["", "github.com/"].some((host) => existsSync(`${LIBRARIES}/src/${host}${name}`)),
)
	? undefined
	: "it needs Debian's golang-go, golang-github-masterminds-sprig-dev, golang-k8s-sigs-yaml-dev";

/** An object of Kubernetes. */
export interface KubernetesObject {
	apiVersion: string;
	kind: string;
	metadata: {
		name: string;
		namespace?: string;
		labels?: Record<string, string>;
		annotations?: Record<string, string>;
	};
	[member: string]: any;
}

export interface Renderer {
	/** What these values make of the templates, as text by file. */
	texts(values: object): Promise<Record<string, string>>;
	/** The objects among them. */
	objects(values: object): Promise<KubernetesObject[]>;
	remove(): void;
}

/** Builds the renderer. Release and namespace are named `sluice`. */
export function chartRenderer(): Renderer {
	const folder = mkdtempSync(join(tmpdir(), "sluice-chart-"));
	const program = join(folder, "helm-template");
	execFileSync("go", ["build", "-o", program, SOURCE], {
		env: { ...process.env, GO111MODULE: "off", GOPATH: LIBRARIES, GOFLAGS: "" },
	});
	const texts = (values: object): Promise<Record<string, string>> =>
		new Promise((resolve, reject) => {
			const child = execFile(program, [CHART, "sluice", "sluice"], (error, out, said) =>
				error ? reject(new Error(said)) : resolve(JSON.parse(out) as Record<string, string>),
			);
			child.stdin!.end(JSON.stringify(values));
		});
	return {
		texts,
		objects: async (values) =>
			Object.entries(await texts(values))
				.filter(([file]) => file.endsWith(".yaml"))
				.flatMap(([, text]) => objectsIn(text)),
		remove: () => rmSync(folder, { recursive: true }),
	};
}

/** The objects of a stream of YAML documents. Throws where one is no YAML. */
export function objectsIn(text: string): KubernetesObject[] {
	return parseAllDocuments(text).flatMap((document) => {
		if (document.errors.length > 0) throw new Error(`${document.errors[0]!.message}\n${text}`);
		return document.toJS() ?? [];
	});
}

/** The overlays and the values of the chart that they stand for. */
export const OVERLAYS = {
	sqlite: { store: "sqlite", replicas: 1 },
	postgres: { store: "postgres", replicas: 2 },
} as const;

/** Without what only Helm reads, and what Kustomize does in its own way: the hash of the configuration. */
export function withoutHelm<T>(node: T): T {
	if (Array.isArray(node)) return node.map(withoutHelm) as T;
	if (typeof node !== "object" || node === null) return node;
	const left = Object.entries(node).flatMap(([name, value]) => {
		if (/^helm\.sh\/|^checksum\/|^app\.kubernetes\.io\/managed-by$/.test(name)) return [];
		const kept = withoutHelm(value);
		const emptied = name === "annotations" && Object.keys(kept).length === 0;
		return emptied ? [] : [[name, kept] as const];
	});
	return Object.fromEntries(left) as T;
}

/** The files below `deploy/kustomize`, by path. */
export async function kustomizeFiles(renderer: Renderer): Promise<Map<string, string>> {
	const files = new Map<string, string>();
	const rendered = await Promise.all(
		Object.entries(OVERLAYS).map(async ([name, values]) => {
			const objects = await renderer.objects(values);
			return [name, new Map(objects.map((each) => [fileOf(each), textOf(each)]))] as const;
		}),
	);
	const [[, first]] = rendered as [(typeof rendered)[number]];
	const shared = [...first].filter(([file, text]) => rendered.every(([, objects]) => objects.get(file) === text));
	const config = shared.find(([file]) => file === "configmap.yaml")!;
	const base = shared.filter((each) => each !== config);
	for (const [file, text] of base) files.set(`base/${file}`, text);
	const { metadata, data } = parse(config[1]) as KubernetesObject;
	for (const [file, text] of Object.entries(data)) files.set(`base/${file}`, text as string);
	files.set(
		"base/kustomization.yaml",
		kustomization(
			base.map(([file]) => file),
			{
				configMapGenerator: [{ name: metadata.name, files: Object.keys(data) }],
				generatorOptions: { labels: withoutHelm(metadata.labels) },
			},
		),
	);
	for (const [name, objects] of rendered) {
		const own = [...objects].filter(([file]) => !shared.some(([other]) => other === file));
		for (const [file, text] of own) files.set(`overlays/${name}/${file}`, text);
		const resources = ["../../base", ...own.map(([file]) => file)];
		files.set(`overlays/${name}/kustomization.yaml`, kustomization(resources, { namespace: "sluice" }));
	}
	return files;
}

const fileOf = ({ kind }: KubernetesObject): string => `${kind.toLowerCase()}.yaml`;

const MADE = "# Made of deploy/helm by `npm run kustomize`.\n";

/** Without a namespace, which the overlay sets. */
function textOf(object: KubernetesObject): string {
	const { metadata, ...rest } = withoutHelm(object);
	const { namespace: _namespace, ...kept } = metadata;
	const { apiVersion, kind, ...members } = rest;
	const made = { apiVersion, kind, metadata: kept, ...members };
	return MADE + stringify(made, { aliasDuplicateObjects: false, lineWidth: 0 });
}

function kustomization(resources: string[], more: object): string {
	const about = { apiVersion: "kustomize.config.k8s.io/v1beta1", kind: "Kustomization" };
	return MADE + stringify({ ...about, ...more, resources });
}

/** What the chart reads of its values; for tests. */
export function defaultValues(): Record<string, any> {
	return parse(readFileSync(join(CHART, "values.yaml"), "utf8"));
}
