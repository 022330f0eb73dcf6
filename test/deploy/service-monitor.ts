/**
 * The kind ServiceMonitor for clusters of tests without the Prometheus operator: the fields that the
 * chart uses, after the operator's API reference (monitoring.coreos.com/v1).
 */
const TEXT = { type: "string" };
const TEXTS = { type: "object", additionalProperties: TEXT };
const object = (properties: object, required: string[] = []): object => ({
	type: "object",
	properties,
	...(required.length > 0 && { required }),
});

const schema = object({
	spec: object(
		{
			selector: object({ matchLabels: TEXTS }),
			endpoints: {
				type: "array",
				items: object({
					port: TEXT,
					path: TEXT,
					scheme: { type: "string", enum: ["http", "https"] },
					interval: { type: "string", pattern: "^[0-9]+(ms|s|m|h)$" },
					authorization: object({
						type: TEXT,
						credentials: object({ name: TEXT, key: TEXT, optional: { type: "boolean" } }, ["key"]),
					}),
				}),
			},
		},
		["endpoints", "selector"],
	),
});

export const SERVICE_MONITOR = {
	apiVersion: "apiextensions.k8s.io/v1",
	kind: "CustomResourceDefinition",
	metadata: { name: "servicemonitors.monitoring.coreos.com" },
	spec: {
		group: "monitoring.coreos.com",
		scope: "Namespaced",
		names: { kind: "ServiceMonitor", plural: "servicemonitors" },
		versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
	},
};
