import { duration } from "../core/durations.ts";
import { type Schema, webAddress } from "../lib/schema.ts";
import type { Env } from "../lib/env.ts";

/** Level of the log, as a pattern. */
const LEVEL = "(?:debug|info|warn|error)";

/** Precedence: flag, environment, file. */
export interface Option {
	readonly flag?: string;
	/** Empty counts as unset. */
	readonly env: string;
	/** Member of `sluice.yaml`, such as `cors.origins`. */
	readonly file?: string;
	/** `writeOnly`: a secret. */
	readonly schema: Schema;
}

/** All options except endpoints (D21, D22, D30, D34, D35, D38). */
export const OPTIONS = {
	config: {
		flag: "config",
		env: "SLUICE_CONFIG",
		schema: {
			type: "string",
			minLength: 1,
			default: "sluice.yaml",
			description: "File with settings and endpoints. A file that is set must exist; the default one need not.",
		},
	},
	host: {
		flag: "host",
		env: "SLUICE_HOST",
		schema: { type: "string", minLength: 1, default: "127.0.0.1", description: "Address to listen on." },
	},
	port: {
		flag: "port",
		env: "SLUICE_PORT",
		schema: {
			type: "integer",
			minimum: 0,
			maximum: 65_535,
			default: 8080,
			description: "Port to listen on; 0 for a free one.",
		},
	},
	store: {
		flag: "store",
		env: "SLUICE_STORE",
		schema: {
			type: "string",
			pattern:
				"^(?:sqlite:.|postgres(?:ql)?://(?:[^\\s/?#%]|%[0-9a-fA-F]{2})*/" +
				"(?:[^\\s/?#%]|%[0-9a-fA-F]{2})+(?:\\?[^\\s#]*)?$)",
			default: "sqlite:./data/sluice.db",
			description:
				"Where jobs are stored: a SQLite file for one server, or a PostgreSQL database that " +
				"several servers may share (postgres://user:password@host:5432/database; set it in the " +
				"environment, since other users can see command lines).",
			"x-message":
				"must be sqlite:<path>, such as sqlite:./data/sluice.db, or " +
				"postgres://user:password@host:5432/database with special characters of user and " +
				"password as %XX.",
		},
	},
	dataDir: {
		flag: "data-dir",
		env: "SLUICE_DATA_DIR",
		schema: {
			type: "string",
			minLength: 1,
			default: "./data",
			description:
				"Folder for the local data of a server with PostgreSQL: its identity and the output of " +
				"its workers. Each server needs its own. With SQLite it is the folder of the file.",
		},
	},
	publicUrl: {
		flag: "public-url",
		env: "SLUICE_PUBLIC_URL",
		file: "publicUrl",
		schema: {
			...webAddress("http://192.168.1.10:8080"),
			description: "Address at which workers and clients reach this service. Default: the address it listens on.",
			examples: ["http://192.168.1.10:8080"],
		},
	},
	advertiseUrl: {
		flag: "advertise-url",
		env: "SLUICE_ADVERTISE_URL",
		schema: {
			...webAddress("http://10.0.0.5:8080"),
			description:
				"Address of this server for the workers that it launches, where several servers share " +
				"a PostgreSQL database; publicUrl is then the address of all. Default: the address it " +
				"listens on.",
		},
	},
	tlsCert: {
		flag: "tls-cert",
		env: "SLUICE_TLS_CERT",
		file: "tls.cert",
		schema: {
			type: "string",
			minLength: 1,
			description:
				"PEM file with the certificate and its chain: the service then speaks https only. It is " +
				"read again when it changes, within a minute.",
		},
	},
	tlsKey: {
		flag: "tls-key",
		env: "SLUICE_TLS_KEY",
		file: "tls.key",
		schema: {
			type: "string",
			minLength: 1,
			description: "PEM file with the private key of tls.cert, without a passphrase.",
		},
	},
	drainTimeout: {
		flag: "drain-timeout",
		env: "SLUICE_DRAIN_TIMEOUT",
		schema: duration("seconds", [0, 86_400], {
			example: "2m",
			default: 30,
			description: "Time for the running jobs of workers that end with the service to finish at a stop.",
		}),
	},
	stopWorkers: {
		flag: "stop-workers",
		env: "SLUICE_STOP_WORKERS",
		schema: {
			type: "boolean",
			default: false,
			description:
				"Whether SIGTERM also ends launched workers, after the drain, as Ctrl-C does. Otherwise they run " +
				"on, and the next start takes them over.",
		},
	},
	logLevel: {
		flag: "log-level",
		env: "SLUICE_LOG_LEVEL",
		file: "log.level",
		schema: {
			type: "string",
			pattern: `^${LEVEL}(?:,[a-z]+=${LEVEL})*$`,
			default: "info",
			description:
				"Lowest level of the lines on stderr: debug, info, warn or error. By area, the first part of an event's " +
				"name, after commas, such as info,webhook=debug,worker=warn.",
			examples: ["info,webhook=debug"],
			"x-message": "must be debug, info, warn or error, then levels of areas, such as info,webhook=debug.",
		},
	},
	accessLog: {
		flag: "access-log",
		env: "SLUICE_ACCESS_LOG",
		file: "log.access",
		schema: {
			enum: ["off", "on", "all"],
			default: "off",
			description:
				"Whether the log has a line for each request (event request.served); on: without polls and pings of " +
				"workers and reads of logs.",
		},
	},
	logFormat: {
		flag: "log-format",
		env: "SLUICE_LOG_FORMAT",
		file: "log.format",
		schema: {
			enum: ["auto", "text", "json"],
			default: "auto",
			description: "Form of the lines on stderr; auto: text on a terminal, JSON elsewhere.",
		},
	},
	consoleTraceUrl: {
		env: "SLUICE_CONSOLE_TRACE_URL",
		file: "console.traceUrl",
		schema: {
			type: "string",
			maxLength: 2000,
			pattern: "^https?://[^\\s/?#]+/\\S*\\{traceId\\}\\S*$",
			description: "Address of a trace in Jaeger, Tempo or Grafana: the console links a job to its trace.",
			examples: ["https://jaeger.example.com/trace/{traceId}"],
			"x-message":
				"must be an http or https address with {traceId} in its path or query, such as " +
				"https://jaeger.example.com/trace/{traceId}.",
		},
	},
	gpus: {
		env: "SLUICE_GPUS",
		file: "gpus",
		schema: {
			type: "integer",
			minimum: 0,
			maximum: 64,
			default: 0,
			description:
				"GPUs of this machine, numbered from 0, for launched workers: each worker gets " +
				"exclusive use of gpusPerWorker of them and cannot see the others.",
		},
	},
	hostTimeout: {
		env: "SLUICE_HOST_TIMEOUT",
		file: "hostTimeout",
		schema: duration("seconds", [10, 86_400], {
			example: "5m",
			default: 300,
			description:
				"How long a host of hosts may be unreachable before workers on it that do not call either " +
				"are given up and replaced on other hosts.",
		}),
	},
	corsOrigins: {
		env: "SLUICE_CORS_ORIGINS",
		file: "cors.origins",
		schema: {
			oneOf: [{ const: "*" }, { type: "array", items: { type: "string", format: "origin" } }],
			default: "*",
			description:
				"Origins of web pages that may call /v2 and /sdk/v2: * for all, or a list; comma-separated in the environment.",
			examples: [["https://app.example.com", "http://localhost:3000"]],
			"x-message": "must be * or a list of origins such as https://app.example.com.",
		},
	},
	webhooksAllowPrivateNetworks: {
		env: "SLUICE_WEBHOOKS_ALLOW_PRIVATE_NETWORKS",
		file: "webhooks.allowPrivateNetworks",
		schema: {
			type: "boolean",
			default: false,
			description:
				"Whether webhooks may go to private, loopback, link-local and metadata addresses. If " +
				"so, clients can make the service call hosts that only it can reach.",
		},
	},
	apiKey: {
		env: "SLUICE_API_KEY",
		schema: {
			type: "string",
			minLength: 24,
			pattern: "^\\S*$",
			writeOnly: true,
			description:
				"An admin key, valid while it is set, as 'openssl rand -hex 24' prints one. If there is no " +
				"key at all, the first start creates one.",
			"x-message": "must have at least 24 characters and no white space; 'openssl rand -hex 24' prints such a key.",
		},
	},
	secret: {
		env: "SLUICE_SECRET",
		schema: {
			type: "string",
			writeOnly: true,
			description:
				"Text from which the encryption key for stored secrets is derived. With SQLite, a key " +
				"file next to the database is created when it is not set; with PostgreSQL it is " +
				"required, the same on all servers.",
		},
	},
	secretPrevious: {
		env: "SLUICE_SECRET_PREVIOUS",
		schema: {
			type: "string",
			writeOnly: true,
			description:
				"A second text that decrypts stored secrets: the earlier SLUICE_SECRET, while it is replaced. " +
				"After 'sluice migrate --reencrypt' it can be removed.",
		},
	},
} as const satisfies Record<string, Option>;

/** Secrets of the service, hidden from workers. */
export const OWN_VARIABLES: readonly string[] = [
	"SLUICE_API_KEY",
	"SLUICE_SECRET",
	"SLUICE_SECRET_PREVIOUS",
	"SLUICE_STORE",
	"PGPASSWORD",
	"OTEL_EXPORTER_OTLP_HEADERS",
	"OTEL_EXPORTER_OTLP_TRACES_HEADERS",
	// Not read here, but an operator may have them for other programs.
	"OTEL_EXPORTER_OTLP_LOGS_HEADERS",
	"OTEL_EXPORTER_OTLP_METRICS_HEADERS",
];

/** Whether a file must not hand out the variable. `SLURM_JWT`: lets in to the cluster as the service. */
export function isOwnSecret(name: string): boolean {
	return OWN_VARIABLES.includes(name) || name.startsWith("SLUICE_SECRET") || name === "SLURM_JWT";
}

/** Variables for child processes. `more`: names that hold secrets by the configuration. */
export function withoutSecrets(env: Env, more: readonly string[] = []): Record<string, string> {
	const hidden = [...OWN_VARIABLES, ...more];
	return Object.fromEntries(
		Object.entries(env).filter(
			(entry): entry is [string, string] => entry[1] !== undefined && !hidden.includes(entry[0]),
		),
	);
}
