/** `sluice doctor` checks of endpoints with Pods. */
import { systemClock } from "../../kernel/system/clock.ts";
import { type Finding, ok, problem, warning } from "../../kernel/core/finding.ts";
import type { EndpointToCheck } from "../../kernel/launchers/definition.ts";
import { kubernetesClient, type KubernetesClient, sentenceOf, statusOf } from "./api/client.ts";
import { connectionOf } from "./api/credentials.ts";
import type { KubernetesSettings } from "./settings.ts";
import type { Env } from "../../kernel/lib/env.ts";

/** The rights that the service needs: those of the Role in `docs/guides/kubernetes.md`. */
export const RIGHTS: readonly { resource: string; verbs: readonly string[] }[] = [
	{ resource: "pods", verbs: ["create", "delete", "get", "list", "patch", "watch"] },
	{ resource: "pods/log", verbs: ["get"] },
	{ resource: "secrets", verbs: ["create"] },
	{ resource: "events", verbs: ["list"] },
];

type Endpoint = EndpointToCheck<KubernetesSettings>;

interface Review {
	status?: { allowed?: boolean };
}

export async function findings(endpoints: readonly Endpoint[], env: Env): Promise<Finding[]> {
	const byPlace = Map.groupBy(endpoints, ({ launcher: { context, namespace } }) =>
		JSON.stringify([context, namespace]),
	);
	const found = [...byPlace.values()].map((group) => placeFindings(group, env));
	return (await Promise.all(found)).flat();
}

async function placeFindings(endpoints: readonly Endpoint[], env: Env): Promise<Finding[]> {
	const { context, namespace: set } = endpoints[0]!.launcher;
	const ids = endpoints.map(({ id }) => `'${id}'`).join(", ");
	let client: KubernetesClient | undefined;
	try {
		client = kubernetesClient(await connectionOf(env, { context, clock: systemClock }));
		const namespace = set ?? client.namespace;
		const missing = await missingRights(client, namespace);
		const where = `namespace ${namespace} at ${client.server}`;
		const rights =
			missing.length === 0
				? ok("kubernetes", `All rights in ${where}.`)
				: problem(
						"kubernetes",
						`These rights are missing in ${where}: ${missing.join(", ")}; ${ids} cannot run workers.`,
						"Give them with the Role of docs/guides/kubernetes.md.",
					);
		return [rights, ...(await secretFindings(client, namespace, endpoints))];
	} catch (error) {
		return [
			problem(
				"kubernetes",
				`Kubernetes cannot be used: ${sentenceOf(error, client?.server ?? "")}; ${ids} cannot start workers.`,
				"Set KUBECONFIG, or run the service in a Pod with a service account.",
			),
		];
	} finally {
		await client?.close();
	}
}

async function missingRights(client: KubernetesClient, namespace: string): Promise<string[]> {
	const asked = RIGHTS.flatMap(({ resource, verbs }) => verbs.map((verb) => ({ resource, verb })));
	const answers = await Promise.all(
		asked.map(async ({ resource, verb }) => {
			const [name, subresource] = resource.split("/");
			const resourceAttributes = { namespace, verb, resource: name, subresource };
			const { status } = await client.call<Review>("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
				body: {
					apiVersion: "authorization.k8s.io/v1",
					kind: "SelfSubjectAccessReview",
					spec: { resourceAttributes },
				},
			});
			return status?.allowed === true ? [] : [`${verb} ${resource}`];
		}),
	);
	return answers.flat();
}

/** The Role has no right to read Secrets, so a dry run of a create shows whether the name is taken. */
async function secretFindings(
	client: KubernetesClient,
	namespace: string,
	endpoints: readonly Endpoint[],
): Promise<Finding[]> {
	const names = new Set(endpoints.flatMap(({ launcher }) => launcher.imagePullSecrets ?? []));
	const found = [...names].map(async (name): Promise<Finding> => {
		const body = { apiVersion: "v1", kind: "Secret", metadata: { name } };
		const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`;
		try {
			await client.call("POST", path, { body, query: { dryRun: "All" } });
		} catch (error) {
			if (statusOf(error) === 409) return ok("kubernetes", `Secret ${name} exists.`);
			return warning(
				"kubernetes",
				`Secret ${name} could not be checked: ${sentenceOf(error, client.server)}.`,
				"Give the rights of docs/guides/kubernetes.md.",
			);
		}
		return problem(
			"kubernetes",
			`Secret ${name}, which imagePullSecrets names, does not exist in namespace ${namespace}.`,
			`kubectl create secret docker-registry ${name} --namespace ${namespace} --docker-server=...`,
		);
	});
	return await Promise.all(found);
}
