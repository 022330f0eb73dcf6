/** The direction of dependency: which folder of `src` may import what. */

/** What both dialects share. */
const CALLS = ["kernel/system/clock.ts", "kernel/system/file-calls.ts", "kernel/system/run-program.ts"];
const LAUNCHERS = ["kernel/launchers/", "kernel/core/", "kernel/lib/", ...CALLS, "node"];

const STORE = [
	...["contract/", "operations/", "tables/"],
	...["migrate.ts", "apply-transition.ts", "views.ts", "row.ts", "job-columns.ts", "cursor.ts"],
].map((name) => `kernel/store/${name}`);

/** What every part of the engine may import. */
const ENGINE = [
	"kernel/lib/",
	"kernel/system/clock.ts",
	"kernel/system/loop.ts",
	"kernel/system/paced.ts",
	"kernel/core/",
	"kernel/store/contract/",
	"kernel/store/operations/table.ts",
	"kernel/launchers/launcher.ts",
	"kernel/launchers/index.ts",
	"kernel/launchers/endpoint-settings.ts",
	"kernel/secrets/encryption.ts",
	"kernel/events.ts",
	"node:crypto",
];

/** The domains of the engine: each may import itself and those of the lines before. */
const DOMAINS = [
	["availability"],
	["access", "limits"],
	["cluster"],
	["endpoints"],
	["workers"],
	["jobs", "metrics"],
	["releases"],
	["scaling"],
	["lifecycle"],
];

/** What modules decide, as the kernel asks for it. */
const POLICIES = [
	"kernel/engine/releases/policy.ts",
	"kernel/engine/scaling/placement.ts",
	"kernel/engine/stored-files.ts",
	"kernel/engine/job-files.ts",
];

function engineRows(): Record<string, readonly string[]> {
	const rows: Record<string, readonly string[]> = {
		"kernel/engine/": [...ENGINE, "kernel/engine/"],
		"kernel/engine/context.ts": [...ENGINE, "kernel/engine/availability/", ...POLICIES],
		...Object.fromEntries(POLICIES.map((policy) => [policy, [...ENGINE, "kernel/engine/workers/"]])),
	};
	const before: string[] = [];
	for (const domains of DOMAINS) {
		for (const name of domains) rows[`kernel/engine/${name}/`] = [...ENGINE, ...before, `kernel/engine/${name}/`];
		before.push(...domains.map((name) => `kernel/engine/${name}/`));
		if (before.length === 1) before.push("kernel/engine/context.ts");
	}
	return rows;
}

/** What a module may use of the kernel: data, pure functions, forms of requests and answers; of the engine types. */
const MODULE = [
	"kernel/module.ts",
	"kernel/events.ts",
	"kernel/event-table.ts",
	"kernel/version.ts",
	"type kernel/config/module-settings.ts",
	"type kernel/secrets/encryption.ts",
	"kernel/lib/",
	"kernel/core/",
	"kernel/api/definition/",
	"kernel/api/keys.ts",
	"kernel/system/clock.ts",
	"kernel/system/loop.ts",
	"type kernel/engine/",
	"kernel/engine/access/credential-cache.ts",
	"kernel/engine/access/keys.ts",
	"kernel/engine/context.ts",
	"kernel/engine/availability/storage/free-space.ts",
	"kernel/store/contract/",
	"kernel/post/contract.ts",
	"kernel/post/target.ts",
	"kernel/http/exchange/",
	"kernel/http/gates/auth.ts",
	"kernel/http/memory/",
	"type kernel/http/server/route.ts",
	"modules/module.ts",
	"node:crypto",
];

/** Rows of a module: what it uses, packages in the files that load them, and its commands. `more`: of the kernel. */
function moduleRows(
	name: string,
	packages: Readonly<Record<string, readonly string[]>> = {},
	more: readonly string[] = [],
): Record<string, readonly string[]> {
	const own = [...MODULE, ...more, `modules/${name}/`];
	return {
		[`modules/${name}/`]: own,
		[`modules/${name}/commands.ts`]: commandsOf(name),
		...Object.fromEntries(
			Object.entries(packages).map(([file, names]) => [`modules/${name}/${file}`, [...own, ...names]]),
		),
	};
}

/** What commands of a module may import. */
function commandsOf(name: string): readonly string[] {
	return [`modules/${name}/`, "cli/framework/", "cli/client/", "kernel/lib/", "kernel/core/"];
}

/** What service and command line use of the worker kit. */
const MAPPINGS = "../packages/worker/src/http/mapping-index.ts";

/** Row of a module that is a launcher. */
function launcherRow(name: string, ...packages: readonly string[]): Record<string, readonly string[]> {
	return { [`modules/${name}/`]: [`modules/${name}/`, ...LAUNCHERS, ...packages] };
}

/**
 * Layer of a file, by the longest prefix; what it may import: layers, `node:*` or package names.
 */
export const LAYERS: Record<string, readonly string[]> = {
	"kernel/lib/": ["kernel/lib/"],
	"kernel/system/": ["kernel/system/", "kernel/lib/", "node"],
	"kernel/core/": ["kernel/core/", "kernel/lib/"],
	"kernel/secrets/": ["kernel/secrets/", "kernel/lib/", "kernel/system/durable-file.ts", "node"],
	"kernel/store/contract/": ["kernel/store/contract/", "kernel/core/", "kernel/lib/"],
	"kernel/store/": [...STORE, "kernel/core/", "kernel/lib/", "kernel/secrets/key-check.ts", "node"],
	"kernel/store/sqlite/": [
		...STORE,
		"kernel/store/sqlite/",
		"kernel/core/",
		"kernel/lib/",
		"kernel/secrets/key-check.ts",
		"kernel/system/",
		"node",
	],
	"kernel/store/postgres/": [
		...STORE,
		"kernel/store/postgres/",
		"kernel/core/",
		"kernel/lib/",
		"kernel/secrets/key-check.ts",
		"kernel/system/clock.ts",
		"node",
		"pg",
	],
	"kernel/launchers/": LAUNCHERS,
	"kernel/launchers/index.ts": ["kernel/launchers/", "kernel/core/", "kernel/lib/", "#launchers"],
	"kernel/launchers/endpoint-settings.ts": ["kernel/launchers/", "kernel/core/", "kernel/lib/", "#endpoint-members"],
	"kernel/post/": [
		"kernel/post/",
		"kernel/core/",
		"kernel/lib/",
		"kernel/system/clock.ts",
		"kernel/system/file-calls.ts",
		"node",
	],
	...engineRows(),
	// Types of TypeBox only: nothing of it is loaded.
	"kernel/api/": [
		"kernel/api/",
		"kernel/core/",
		"kernel/lib/",
		"kernel/launchers/endpoint-settings.ts",
		"typebox/schema",
	],
	"kernel/http/": [
		"kernel/http/",
		"kernel/api/",
		"kernel/engine/",
		"kernel/core/",
		"kernel/lib/",
		"kernel/store/contract/store.ts",
		"kernel/store/contract/jobs.ts",
		"kernel/store/contract/webhooks.ts",
		"kernel/launchers/endpoint-settings.ts",
		"kernel/system/",
		"kernel/events.ts",
		"kernel/version.ts",
		"@fastify/busboy",
		"cookie",
		"node",
	],
	"cli/": [
		"modules/index.ts",
		"modules/module.ts",
		"kernel/module-host.ts",
		"cli/",
		"kernel/core/",
		"kernel/lib/",
		"type kernel/api/",
		"yaml",
		"kernel/compose.ts",
		"kernel/stores.ts",
		"kernel/config/",
		"kernel/launchers/endpoint-settings.ts",
		"kernel/launchers/index.ts",
		"kernel/launchers/definition.ts",
		"kernel/events.ts",
		"kernel/log.ts",
		"kernel/system/",
		"kernel/version.ts",
		"node",
	],
	"cli/dev/kit.ts": ["sluice/worker"],
	"cli/dev/server-entry.ts": [MAPPINGS, "node", "sluice/worker/http"],
	"cli/commands/jobs/http-setting.ts": ["cli/", "kernel/lib/", MAPPINGS],
	"kernel/compose.ts": [
		"kernel/module.ts",
		"kernel/module-host.ts",
		"kernel/lib/",
		"kernel/core/",
		"kernel/config/",
		"kernel/engine/",
		"kernel/http/server/server.ts",
		"kernel/launchers/",
		"kernel/post/",
		"kernel/secrets/",
		"kernel/stores.ts",
		"kernel/system/",
		"kernel/events.ts",
		"kernel/log.ts",
		"node",
		"kernel/version.ts",
	],
	"kernel/stores.ts": [
		"kernel/engine/lifecycle/reencrypt.ts",
		"kernel/secrets/",
		"kernel/config/",
		"kernel/store/contract/",
		"kernel/store/sqlite/",
		"kernel/store/postgres/",
		"kernel/system/clock.ts",
		"node",
	],
	"kernel/config/": [
		"kernel/config/",
		"kernel/core/",
		"kernel/lib/",
		"kernel/event-table.ts",
		"type kernel/launchers/definition.ts",
		"kernel/launchers/endpoint-settings.ts",
		"kernel/launchers/index.ts",
		"node",
		"yaml",
	],
	...moduleRows("metrics", { "event-loop.ts": ["node:perf_hooks"] }, [
		"kernel/api/",
		"kernel/engine/metrics/",
		"kernel/engine/cluster/heartbeat.ts",
	]),
	...moduleRows("alerts", { "mail.ts": ["nodemailer"] }),
	...moduleRows("telemetry", {
		"error-report.ts": ["@opentelemetry/api"],
		"trace-exporter.ts": [
			"@opentelemetry/api",
			"@opentelemetry/exporter-trace-otlp-proto",
			"@opentelemetry/resources",
			"@opentelemetry/sdk-trace",
		],
	}),
	...moduleRows("audit"),
	...moduleRows("console", {
		"bundle.ts": ["node"],
		"origin.ts": ["kernel/http/server/tls.ts", "node"],
		"session-cookie.ts": ["cookie"],
	}),
	"modules/console/commands.ts": [...commandsOf("console"), "cli/commands/jobs/short-id.ts"],
	"modules/console/session-commands.ts": commandsOf("console"),
	...moduleRows("files", { "bucket/": ["node:path", "node:stream", "undici"], "contents/folder.ts": ["node"] }),
	"modules/files/commands/": commandsOf("files"),
	...moduleRows("gpus", {}, [
		"kernel/engine/workers/worker-registry.ts",
		"kernel/engine/workers/worker-transitions.ts",
		"kernel/engine/endpoints/launch-hash.ts",
		"kernel/engine/releases/worker-release.ts",
		"kernel/engine/scaling/placement.ts",
		"type kernel/launchers/launcher.ts",
		"kernel/launchers/index.ts",
	]),
	...moduleRows("http-workers", { "resolve.ts": ["../packages/worker/src/http/mapping-index.ts"] }, [
		"kernel/launchers/index.ts",
		"type kernel/launchers/launcher.ts",
	]),
	"modules/http-workers/commands/": [
		...commandsOf("http-workers"),
		...["http-setting.ts", "job-text.ts"].map((file) => `cli/commands/jobs/${file}`),
		"cli/submit/body.ts",
		"kernel/system/clock.ts",
		MAPPINGS,
		"node",
		"sluice/worker/http",
	],
	...moduleRows("logs", {
		"handlers.ts": ["kernel/http/server/other-servers.ts", "type kernel/system/recent-lines.ts"],
		"log-search.ts": [
			"type kernel/launchers/launcher.ts",
			"kernel/engine/workers/launch/worker-spec.ts",
			"kernel/engine/workers/logs/worker-logs.ts",
		],
	}),
	"modules/logs/commands.ts": [...commandsOf("logs"), "cli/commands/jobs/workers.ts", "kernel/system/clock.ts"],
	...moduleRows("management", {
		"error-form.ts": ["node:http"],
		"settings.ts": ["kernel/launchers/endpoint-settings.ts", "kernel/launchers/index.ts", "node:path"],
		"catalog/catalog-api.ts": ["node:os"],
		"endpoints/endpoints-api.ts": ["kernel/http/server/tls.ts"],
		"endpoints/workers-api.ts": ["kernel/engine/endpoints/launch-hash.ts", "kernel/engine/workers/worker-registry.ts"],
		"resources/resource-table.ts": ["kernel/engine/endpoints/sealed-settings.ts"],
	}),
	"modules/management/commands/": commandsOf("management"),
	"modules/management/commands/import-runpod.ts": [
		...commandsOf("management"),
		"cli/commands/jobs/setting-flags.ts",
		"cli/dev/target.ts",
		"kernel/config/variables.ts",
		"kernel/launchers/endpoint-settings.ts",
		"node:fs",
	],
	...moduleRows("openai", {}, ["kernel/engine/metrics/labelled.ts"]),
	...moduleRows("openai-async", {}, [
		"kernel/engine/metrics/labelled.ts",
		...["chunks", "error-form", "failures", "translation", "usage"].map((name) => `modules/openai/${name}.ts`),
	]),
	"modules/openai-async/commands/": [...commandsOf("openai-async"), "kernel/system/clock.ts"],
	...moduleRows("openai-videos", {}, ["modules/openai/", "modules/s3/"]),
	...moduleRows("quotas"),
	...moduleRows("registries", { "settings.ts": ["node:path"] }),
	...moduleRows("releases", {
		"canaries.ts": [
			"kernel/engine/endpoints/launch-hash.ts",
			"kernel/engine/releases/worker-release.ts",
			"kernel/launchers/index.ts",
		],
		"rollbacks.ts": ["kernel/engine/endpoints/endpoints.ts", "kernel/engine/releases/worker-release.ts"],
		"roll-back.ts": ["kernel/engine/endpoints/endpoints.ts"],
	}),
	...moduleRows("s3", { "requests/checksums.ts": ["node:zlib"] }, [
		...["byte-range", "errors", "room", "send"].map((name) => `modules/files/${name}.ts`),
	]),
	...moduleRows("webhooks", {}, ["kernel/engine/metrics/labelled.ts"]),
	...moduleRows("backup", { "archive-writer.ts": ["modern-tar"] }),
	"modules/backup/commands/": [
		"modules/backup/",
		"cli/framework/",
		"cli/client/",
		"kernel/lib/",
		"kernel/system/",
		"kernel/store/contract/",
		"kernel/stores.ts",
		"modern-tar",
		"node",
	],
	...moduleRows("docker"),
	"modules/docker/": [...MODULE, ...LAUNCHERS, "modules/docker/"],
	"modules/docker/images/image-tar.ts": [...LAUNCHERS, "modern-tar"],
	...launcherRow("kubernetes", "undici", "yaml"),
	...launcherRow("slurm"),
	"modules/index.ts": ["modules/"],
	"modules/launchers.ts": [
		"type kernel/launchers/definition.ts",
		"modules/docker/definition.ts",
		"modules/kubernetes/definition.ts",
		"modules/slurm/definition.ts",
	],
	"modules/endpoint-members.ts": [
		"type kernel/core/endpoints/endpoint-member.ts",
		"modules/http-workers/member.ts",
		"modules/s3/workers/member.ts",
	],
	"modules/module.ts": ["type cli/framework/command.ts", "kernel/module.ts", "type kernel/"],
	"modules/tables.ts": [
		"modules/index.ts",
		"kernel/module-host.ts",
		"kernel/core/error-table.ts",
		"kernel/http/server/routes.ts",
	],
	"kernel/module.ts": ["type kernel/"],
	"kernel/module-host.ts": ["kernel/module.ts", "kernel/core/errors.ts", "type kernel/"],
	"main.ts": ["cli/"],
	"kernel/event-table.ts": ["kernel/core/", "kernel/lib/"],
	"kernel/events.ts": ["kernel/event-table.ts"],
	"kernel/log.ts": [
		"kernel/core/workers/log-line.ts",
		"kernel/event-table.ts",
		"kernel/events.ts",
		"kernel/system/clock.ts",
		"kernel/lib/terminal-text.ts",
		"pino",
	],
	"kernel/version.ts": ["node"],
};
