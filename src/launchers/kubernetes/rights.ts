/** What the launcher may do in its namespace, no more: the Role of `docs/guides/kubernetes.md`. */
export const RIGHTS: readonly { resource: string; verbs: readonly string[] }[] = [
	{ resource: "pods", verbs: ["create", "delete", "get", "list", "patch", "watch"] },
	{ resource: "pods/log", verbs: ["get"] },
	{ resource: "secrets", verbs: ["create"] },
	{ resource: "events", verbs: ["list"] },
];
