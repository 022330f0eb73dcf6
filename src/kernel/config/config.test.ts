/** Flags, environment and file become a configuration, or the full list of what is wrong. */
import type { ProcessSettings } from "../launchers/process/settings.ts";
import { budgetLimits } from "../core/budgets.ts";
import { describe, expect, it } from "vitest";
import { config, problems } from "../../../test/support/load-config.ts";
import type { Config } from "./config.ts";
import { OWN_VARIABLES } from "./options.ts";

describe("loadConfig", () => {
	it("D34: the defaults need no file", () => {
		expect(config({})).toEqual({
			host: "127.0.0.1",
			port: 8080,
			store: { kind: "sqlite", path: "/srv/data/sluice.db" },
			dataDir: "/srv/data",
			endpoints: [],
			secretVariables: [],
			publicUrl: undefined,
			advertiseUrl: undefined,
			apiKey: undefined,
			secret: undefined,
			drainMs: 30_000,
			stopWorkers: false,
			corsOrigins: "*",
			webhooksAllowPrivateNetworks: false,
			budgets: budgetLimits(),
			gpus: 0,
			modules: {},
			launchers: { docker: { hosts: {}, lostAfterMs: 300_000 } },
			logLevel: "info",
			logFormat: "auto",
			accessLog: "off",
		});
	});

	it("D51: levels of the log by area, from flag and file; an unknown area is an error that names them", () => {
		const files = { "/srv/sluice.yaml": "log: { level: 'warn,job=debug', format: text, access: on }" };
		const log = { logLevel: "warn,job=debug", logFormat: "text", accessLog: "on" };
		expect(config({ files })).toMatchObject(log);
		expect(config({ files, flags: { "log-level": "error", "access-log": "all" } })).toMatchObject({
			...log,
			logLevel: "error",
			accessLog: "all",
		});
		for (const level of ["loud", "info,", "job=debug", "info,job=loud"])
			expect(problems({ flags: { "log-level": level } })).toEqual([
				expect.stringMatching(/^--log-level must be debug, .*\.$/),
			]);
		const other = { "/srv/sluice.yaml": "log: { level: 5 }" };
		expect(problems({ files: other })).toEqual([expect.stringMatching(/log\.level must be debug, .*\.$/)]);
		expect(problems({ flags: { "log-level": "info,jobs=debug" } })).toEqual([
			expect.stringMatching(
				/^--log-level has no area 'jobs'; areas are alert, backup, batch, certificate, .*worker\.$/,
			),
		]);
	});

	it("D52: console.traceUrl is an http or https address with {traceId} in its path or query", () => {
		const url = "https://grafana.test/explore?left=%7B%22q%22:%22{traceId}%22%7D";
		const files = { "/srv/sluice.yaml": JSON.stringify({ console: { traceUrl: url } }) };
		expect(config({ files }).consoleTraceUrl).toBe(url);
		const env = (text: string) => ({ env: { SLUICE_CONSOLE_TRACE_URL: text } });
		expect(config(env("http://jaeger:16686/trace/{traceId}")).consoleTraceUrl).toContain("jaeger");
		for (const bad of [
			...["jaeger/{traceId}", "https://jaeger.test/trace", "https://{traceId}.test/x", "javascript://x/{traceId}"],
			...["https://jaeger.test/trace/{traceid}", "https://jaeger.test/ {traceId}", "https://jaeger.test{traceId}"],
		])
			expect(problems(env(bad)), bad).toEqual([
				expect.stringMatching(/^SLUICE_CONSOLE_TRACE_URL must be an http or https address with \{traceId\} in/),
			]);
	});

	it("D35: ${NAME} as a value of env, or as the webhook secret, is that variable, which workers do not get", () => {
		const webhookSecret = `whsec_${Buffer.alloc(24, 7).toString("base64")}`;
		const files = {
			"/srv/sluice.yaml":
				"endpoints: { a: { env: { T: '${TOKEN}', U: 'x${TOKEN}', V: $TOKEN }, webhookSecret: '${HOOK}' } }",
		};
		const { endpoints, secretVariables } = config({ env: { TOKEN: "one", HOOK: webhookSecret }, files });
		expect(endpoints[0]).toMatchObject({ env: { T: "one", U: "x${TOKEN}", V: "$TOKEN" }, webhookSecret });
		expect(secretVariables).toEqual(["TOKEN", "HOOK"]);
		// CI systems pass a secret that does not exist as empty text.
		for (const env of [{ HOOK: webhookSecret }, { HOOK: webhookSecret, TOKEN: "" }])
			expect(problems({ env, files })).toEqual(["/srv/sluice.yaml: endpoints.a.env.T: the variable TOKEN is not set."]);
	});

	it("D35: $${NAME} is the text ${NAME} itself, of which each $ more is one more", () => {
		const files = {
			"/srv/sluice.yaml":
				"endpoints: { a: { env: { T: '$${TOKEN}', U: '$$${TOKEN}', V: '$$', W: 'x$${TOKEN}', X: '$${not one}' } } }",
		};
		const { endpoints, secretVariables } = config({ env: { TOKEN: "one" }, files });
		expect(endpoints[0]!.env).toEqual({
			...{ T: "${TOKEN}", U: "$${TOKEN}", V: "$$" },
			...{ W: "x$${TOKEN}", X: "$${not one}" },
		});
		expect(secretVariables).toEqual([]);
	});

	it("D35: the service's own secrets are no values of a file", () => {
		for (const name of [...OWN_VARIABLES, "SLUICE_SECRET_NEXT", "SLURM_JWT"]) {
			const files = { "/srv/sluice.yaml": `endpoints: { a: { env: { T: '\${${name}}' } } }` };
			const env = { SLUICE_API_KEY: "k".repeat(24), [name]: "k".repeat(24), SLUICE_STORE: "sqlite:./x.db" };
			expect(problems({ env: { SLUICE_SECRET: "s", ...env }, files }), name).toEqual([
				`/srv/sluice.yaml: endpoints.a.env.T: the variable ${name} is a secret of the service itself, which ` +
					`no worker gets. Use a variable of another name; the text \${${name}} itself is written $\${${name}}.`,
			]);
		}
	});

	it("D34: flags win over the environment, the environment over the file", () => {
		const files = {
			"/srv/a.yaml": "publicUrl: http://file.test",
			"/srv/b.yaml": "publicUrl: http://b.test/",
		};
		const env = {
			SLUICE_HOST: "0.0.0.0",
			SLUICE_PORT: "1",
			SLUICE_STORE: "sqlite:e.db",
			SLUICE_CONFIG: "a.yaml",
			SLUICE_DRAIN_TIMEOUT: "2",
			SLUICE_PUBLIC_URL: "https://env.test/x/",
		};
		expect(config({ env, files })).toMatchObject({
			host: "0.0.0.0",
			port: 1,
			store: { kind: "sqlite", path: "/srv/e.db" },
			dataDir: "/srv",
			drainMs: 2000,
			publicUrl: "https://env.test/x",
		});
		const flags = {
			host: "::1",
			port: "0",
			store: "sqlite:/abs/f.db",
			config: "b.yaml",
			"drain-timeout": "0",
			"public-url": "http://flag.test",
		};
		expect(config({ env, flags, files })).toMatchObject({
			host: "::1",
			port: 0,
			store: { kind: "sqlite", path: "/abs/f.db" },
			dataDir: "/abs",
			drainMs: 0,
			publicUrl: "http://flag.test",
		});
		expect(config({ flags: { config: "b.yaml" }, files }).publicUrl).toBe("http://b.test");
	});

	it("D34: an empty variable is one that is not set", () => {
		expect(config({ env: { SLUICE_PORT: "", SLUICE_HOST: "", SLUICE_API_KEY: "", SLUICE_SECRET: "" } })).toMatchObject({
			port: 8080,
			host: "127.0.0.1",
			apiKey: undefined,
			secret: undefined,
		});
	});

	it("D30, D22: key and secret come from the environment alone", () => {
		expect(config({ env: { SLUICE_API_KEY: "123456789012345678901234", SLUICE_SECRET: "s" } })).toMatchObject({
			apiKey: "123456789012345678901234",
			secret: "s",
		});
		for (const key of ["12345678901234567890123", "123456789012 345678901234", "123456789012345678901234\n"])
			expect(problems({ env: { SLUICE_API_KEY: key } }), key).toEqual([
				"SLUICE_API_KEY must have at least 24 characters and no white space; " +
					"'openssl rand -hex 24' prints such a key.",
			]);
		expect(problems({ env: { SLUICE_API_KEY: "short" } }).join()).not.toContain("short");
	});

	it("D35: endpoints come from sluice.yaml in the working directory", () => {
		const files = { "/srv/sluice.yaml": "endpoints:\n  thumbnail:\n    workersMax: 2\n  bare:\n" };
		expect(config({ files }).endpoints.map(({ id, workersMax }) => [id, workersMax])).toEqual([
			["thumbnail", 2],
			["bare", 3],
		]);
	});

	it("D35: the directory of a worker is relative to the file, and absolute afterwards", () => {
		const file =
			"endpoints:\n  a:\n    launcher: { type: process, command: [w] }\n" +
			"  b:\n    launcher: { type: process, command: [w], cwd: sub }\n" +
			"  c:\n    launcher: { type: process, command: [w], cwd: /abs }\n";
		const { endpoints } = config({
			flags: { config: "deploy/x.yaml" },
			files: { "/srv/deploy/x.yaml": file },
		});
		expect(endpoints.map(({ launcher }) => (launcher as ProcessSettings).cwd)).toEqual([
			"/srv/deploy",
			"/srv/deploy/sub",
			"/abs",
		]);
	});

	it("D34: a file that is set must exist; the default one need not", () => {
		expect(problems({ flags: { config: "none.yaml" } })).toEqual([expect.stringContaining("/srv/none.yaml")]);
		expect(problems({ env: { SLUICE_CONFIG: "none.yaml" } })).toHaveLength(1);
	});

	it.each<[string, string]>([
		["not YAML", "endpoints: [\n"],
		["a list", "- a\n"],
		["text", "hello\n"],
		["endpoints that are a list", "endpoints: [a]\n"],
		["an unknown setting", "endpoint: {}\n"],
	])("D34: a file that is %s is one problem, with its path", (_, text) => {
		expect(problems({ files: { "/srv/sluice.yaml": text } })).toEqual([expect.stringContaining("/srv/sluice.yaml")]);
	});

	it("D35: an empty file, and one with nothing under endpoints, are fine", () => {
		for (const text of ["", "# nothing\n", "endpoints:\n"])
			expect(config({ files: { "/srv/sluice.yaml": text } }).endpoints).toEqual([]);
	});

	it.each([["-1"], ["65536"], ["80a"], ["1.5"], [" 80"], ["0x50"]])(
		"D34: the port %j is refused with its bounds",
		(port) => {
			expect(problems({ flags: { port } })).toEqual([expect.stringMatching(/--port.*0 to 65535/)]);
		},
	);

	it("D34: the ends of the bounds are inside", () => {
		expect(config({ flags: { port: "65535", "drain-timeout": "86400" } })).toMatchObject({
			port: 65_535,
			drainMs: 86_400_000,
		});
		expect(problems({ flags: { "drain-timeout": "86401" } })).toEqual([expect.stringContaining("--drain-timeout")]);
	});

	it("D34: the address of one server differs from that of all", () => {
		expect(
			config({
				env: { SLUICE_ADVERTISE_URL: "http://10.0.0.5:8080/" },
				flags: { "public-url": "https://jobs.test" },
			}),
		).toMatchObject({ advertiseUrl: "http://10.0.0.5:8080", publicUrl: "https://jobs.test" });
		expect(problems({ flags: { "advertise-url": "10.0.0.5" } })).toEqual([
			expect.stringMatching(/^--advertise-url must be an http or https address/),
		]);
	});

	it.each([
		"ftp://a.test",
		"a.test:80",
		"http://a.test/?x=1",
		"http://a.test/#x",
		"http://a.test/ ",
		"http:// a",
		"no",
	])("D35: the publicUrl %j is refused", (url) => {
		expect(problems({ flags: { "public-url": url } })).toEqual([
			expect.stringMatching(/^--public-url must be an http or https address/),
		]);
		expect(problems({ env: { SLUICE_PUBLIC_URL: url } })).toEqual([
			expect.stringMatching(/^SLUICE_PUBLIC_URL must be/),
		]);
		expect(problems({ files: { "/srv/sluice.yaml": JSON.stringify({ publicUrl: url }) } })).toEqual([
			expect.stringMatching(/^\/srv\/sluice\.yaml: publicUrl must be/),
		]);
	});

	it.each<[string, unknown, Config["corsOrigins"]]>([
		["*", "*", "*"],
		["https://app.test", ["https://app.test"], ["https://app.test"]],
		[
			" https://a.test , http://b.test:3000,",
			["https://a.test", "http://b.test:3000"],
			["https://a.test", "http://b.test:3000"],
		],
		[
			"HTTPS://App.Test:443,http://[::1]:80,capacitor://localhost",
			["HTTPS://App.Test:443", "http://[::1]:80", "capacitor://localhost"],
			["https://app.test", "http://[::1]", "capacitor://localhost"],
		],
	])(
		"D38: the origins %j are those that browsers send, from the environment and from the file",
		(text, origins, expected) => {
			expect(config({ env: { SLUICE_CORS_ORIGINS: text } }).corsOrigins).toEqual(expected);
			expect(config({ files: { "/srv/sluice.yaml": JSON.stringify({ cors: { origins } }) } }).corsOrigins).toEqual(
				expected,
			);
		},
	);

	it("D38: the environment wins over the file, and an empty list allows no page", () => {
		const files = {
			"/srv/sluice.yaml": "cors: { origins: [] }\nwebhooks: { allowPrivateNetworks: true }",
		};
		expect(config({ files })).toMatchObject({
			corsOrigins: [],
			webhooksAllowPrivateNetworks: true,
		});
		expect(
			config({
				files,
				env: { SLUICE_CORS_ORIGINS: "*", SLUICE_WEBHOOKS_ALLOW_PRIVATE_NETWORKS: "false" },
			}),
		).toMatchObject({ corsOrigins: "*", webhooksAllowPrivateNetworks: false });
		expect(
			config({
				files,
				env: { SLUICE_CORS_ORIGINS: "", SLUICE_WEBHOOKS_ALLOW_PRIVATE_NETWORKS: "" },
			}),
		).toMatchObject({ corsOrigins: [], webhooksAllowPrivateNetworks: true });
		expect(config({ files: { "/srv/sluice.yaml": "cors:\nwebhooks: { allowPrivateNetworks: }\n" } })).toMatchObject({
			corsOrigins: "*",
			webhooksAllowPrivateNetworks: false,
		});
	});

	it.each([
		"https://a.test/",
		"https://a.test/x",
		"a.test",
		"https://",
		"null",
		"https://a.test?x",
		"https://a.test#x",
		"https://u@a.test",
		"https://a b",
		"https://a.test:99999",
		"//a.test",
	])("D38: %j is not an origin", (origin) => {
		expect(problems({ env: { SLUICE_CORS_ORIGINS: `http://good.test,${origin}` } })).toEqual([
			expect.stringMatching(/^SLUICE_CORS_ORIGINS\.1 must be an origin such as https:/),
		]);
		expect(problems({ files: { "/srv/sluice.yaml": JSON.stringify({ cors: { origins: [origin] } }) } })).toEqual([
			expect.stringMatching(/sluice\.yaml: cors\.origins\.0 must be an origin/),
		]);
	});

	it.each<[string, object]>([
		["cors.origins", { cors: { origins: "https://a.test" } }],
		["cors.origins", { cors: { origins: true } }],
		["cors.origins.1", { cors: { origins: ["https://a.test", "*"] } }],
		["cors.origin", { cors: { origin: "*" } }],
		["cors", { cors: "*" }],
		["webhooks.allowPrivateNetworks", { webhooks: { allowPrivateNetworks: "true" } }],
		["webhooks.allowPrivateNetwork", { webhooks: { allowPrivateNetwork: true } }],
		["webhooks", { webhooks: true }],
		["publicUrl", { publicUrl: 7 }],
	])("D35, D38, D21: a file in which %s is wrong is refused: %j", (field, file) => {
		expect(problems({ files: { "/srv/sluice.yaml": JSON.stringify(file) } })).toEqual([
			expect.stringMatching(`^/srv/sluice\\.yaml: ${field} (must be|is unknown)`),
		]);
	});

	it.each(["1", "yes", "TRUE", "on"])(
		"D21: SLUICE_WEBHOOKS_ALLOW_PRIVATE_NETWORKS is true or false, not %j",
		(text) => {
			expect(problems({ env: { SLUICE_WEBHOOKS_ALLOW_PRIVATE_NETWORKS: text } })).toEqual([
				`SLUICE_WEBHOOKS_ALLOW_PRIVATE_NETWORKS must be true or false, not '${text}'.`,
			]);
		},
	);

	it("D34: a problem names the source of the value", () => {
		expect(problems({ env: { SLUICE_PORT: "$&" } })).toEqual([
			"SLUICE_PORT must be a whole number from 0 to 65535, not '$&'.",
		]);
		expect(problems({ flags: { port: "" }, env: { SLUICE_PORT: "1" } })).toEqual([
			"--port must be a whole number from 0 to 65535, not ''.",
		]);
		expect(problems({ flags: { host: "" } })).toEqual([expect.stringMatching(/^--host must be/)]);
		expect(problems({ env: { SLUICE_STORE: "mysql://u:hidden@h/db" } }).join()).toMatch(
			/^SLUICE_STORE must be sqlite:(?!.*hidden)/,
		);
	});

	it("D34: every problem is listed at once, each with its field", () => {
		const files = {
			"/srv/c.yaml": "bogus: 1\npublicUrl: no\nendpoints:\n  'a b': {}\n  good: { workersMax: -1, leaseMs: 1 }\n",
		};
		const found = problems({
			flags: { config: "c.yaml", port: "x", store: "y" },
			env: { SLUICE_API_KEY: "short", SLUICE_DRAIN_TIMEOUT: "z" },
			files,
		});
		for (const field of [
			"/srv/c.yaml: bogus is unknown; expected one of endpoints, alerts, files, management, registries, s3, " +
				"publicUrl, gpus, hosts, hostTimeout, cors, log, console, webhooks, budgets.",
			"publicUrl must",
			"endpoints.a b",
			"endpoints.good.workersMax",
			"endpoints.good.leaseMs",
			"--port",
			"--store",
			"SLUICE_API_KEY",
			"SLUICE_DRAIN_TIMEOUT must be a whole number of seconds from 0 to 86400, or a duration such as 2m, not 'z'.",
		]) {
			expect(
				found.filter((problem) => problem.includes(field)),
				field,
			).toHaveLength(1);
		}
		expect(found).toHaveLength(9);
	});
});
