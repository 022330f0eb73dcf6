/**
 * The files of the specification that need a module. Without it they have nothing to test, and all others must hold:
 * `SLUICE_TEST_WITHOUT=alerts vitest run --project without`. Paths or folders below `test/`.
 */
export const SPECIFICATION: Readonly<Record<string, readonly string[]>> = {
	alerts: ["spec/v1/alerts.test.ts"],
	audit: ["spec/v1/audit.test.ts"],
	console: ["spec/console", "spec/docs-site.test.ts", "spec/v1/documents.test.ts", "spec/v1/sessions.test.ts"],
	// Endpoints of the management API are containers.
	docker: [
		"clients/mcp-tools.test.ts",
		"spec/v1/hosts.test.ts",
		...["endpoint-refusals", "endpoints", "lists", "resources", "shown-values"].map(
			(name) => `spec/management/${name}.test.ts`,
		),
	],
	files: ["spec/client/batches", "spec/client/files", "spec/client/job-files", "spec/client/videos", "spec/s3"],
	// Workers of the versions that are released have GPUs.
	gpus: ["canary", "gpu-models", "gpu-parts", "release-history", "releases", "scale-gpus", "sleep"].map(
		(name) => `spec/worker/${name}.test.ts`,
	),
	"http-workers": ["spec/client/openai/http-server.test.ts", "spec/client/videos/http-server.test.ts", "spec/http"],
	logs: ["hung-logs", "logs", "service-log"].map((name) => `spec/v1/${name}.test.ts`),
	management: ["clients/mcp-tools.test.ts", "spec/client/secret-rotation.test.ts", "spec/management"],
	metrics: [
		"spec/metrics.test.ts",
		...["demand", "feed", "metrics"].map((name) => `spec/v1/${name}.test.ts`),
		// One or two cases of each read `/metrics`, or keep a feed open.
		...["access", "paced", "sessions"].map((name) => `spec/v1/${name}.test.ts`),
		...["errors", "request-ids"].map((name) => `spec/${name}.test.ts`),
		...["gpu-models", "release-history", "scale-gpus", "sleep"].map((name) => `spec/worker/${name}.test.ts`),
		...["files/metrics", "openai/openai", "quotas", "wrong-keys"].map((name) => `spec/client/${name}.test.ts`),
	],
	openai: ["background", "batches", "files", "job-files", "openai", "videos"].map((name) => `spec/client/${name}`),
	"openai-async": ["spec/client/batches"],
	"openai-videos": ["spec/client/videos"],
	quotas: ["spec/client/gpu-quota.test.ts"],
	registries: ["spec/client/secret-rotation.test.ts", "spec/v1/registries.test.ts"],
	releases: ["canary", "release-history", "releases"].map((name) => `spec/worker/${name}.test.ts`),
	s3: ["spec/client/job-files", "spec/client/videos", "spec/s3"],
	webhooks: [
		...["background/webhooks", "batches/webhooks"].map((name) => `spec/client/${name}.test.ts`),
		...["spec/client/webhooks", "spec/v1/webhooks.test.ts"],
	],
};

/** Modules that import functions of another one, and go with it. */
export const NEEDS: Readonly<Record<string, readonly string[]>> = {
	"openai-async": ["openai"],
	"openai-videos": ["files", "openai", "s3"],
	s3: ["files"],
};

/** Parts of titles, in files of others, of tests that need a module too. */
export const TITLES: Readonly<Record<string, readonly string[]>> = {
	audit: ["D42", "each change is in the audit log"],
	backup: ["D2, D3: backup_"],
	// Sign-ins, and the description of the API with its pages.
	console: [
		...["guesses are 429", "a key that has used its time", "every operation of a key that is not one of clients"],
		...["says who did what", "repeated sign-ins", "D2, D3: documents_busy", "the description of the service"],
		"real calls compile against the generated types",
	],
	// HTTP servers in containers.
	docker: [
		...["a port of the machine for several containers", "a port to choose, in a container", "a socket in a container"],
		"has each preset with its port and an input",
	],
	gpus: ["no_gpu_free", "sleeps and wakes by its mapping", "wanted where GPUs are few"],
	kubernetes: ["where nodes pull images: kubernetes"],
	logs: ["reads of logs", "of lines that are followed", "D3: worker_not_found"],
	openai: [
		...["/openai", "D32", "an unknown endpoint is 404 with a valid key", "every operation with a limit is served"],
		...["a GET that changes something is 401", "every operation of a key that is not one of clients"],
		"real calls compile against the generated types",
	],
	management: ["those of the management API too", "RunPod's list of them"],
	quotas: ["D2, D3: gpu_quota_used"],
	registries: ["D22: a new SLUICE_SECRET beside the previous one"],
	s3: ["every operation of a key that is not one of clients"],
	releases: [
		"is shown as it was given, and changed by",
		"a rollback returns to the mapping",
		"releases are read a page",
		"whose registry was deleted",
		"do not get them, on any route",
	],
	slurm: ["where nodes pull images: slurm"],
	// Without it a submission with `webhook` is 400, since no module would send it.
	webhooks: [
		...["how long webhooks are overdue", "a webhook secret or s3Config", "the webhook of a job is shown whole"],
		...["input, output, error and webhook", "webhook and policy", "a header of its webhook", "jobs and webhooks of"],
		...["the body of a webhook delivery", "a webhook of 8,192 characters", "in a filter of webhooks"],
		...["a whole submission is taken", "the handler gets the very object", "D39: returns all of a job"],
		...["D51: none that the service made", "D39: survives a restart in the middle", "/v1 and the webhook"],
	],
};

/** They hold the documents of the build and the console against a service: both have all modules. */
export const OF_ALL_MODULES = ["test/spec/{console/audit-actions,docs,openapi}.test.ts"];

/** What the kernel's specification runs without a module: tests that start the service in their own process. */
export const KERNEL_SPECIFICATION = ["test/spec/**/*.test.ts", "test/clients/mcp-*.test.ts"];
